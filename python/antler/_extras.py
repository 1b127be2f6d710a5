"""Libraries that are not required: imported where they are used, or a sentence that names the extra to install."""

from __future__ import annotations

import importlib
from typing import Any

from .exceptions import ExtraError

DISTRIBUTION = "antler-dsr"  # on PyPI; `antler` there is another project


def need(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an extra; without it an ``ExtraError`` that says what it is needed for."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        raise ExtraError(f"{purpose} needs {missing}: pip install '{DISTRIBUTION}[{extra}]'") from None
