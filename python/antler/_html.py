"""How objects are shown in a notebook: one small table, which follows the colours of the page."""

from __future__ import annotations

import html
from typing import Any, Iterable, Sequence, Tuple

_CELL = "text-align:left;padding:0.1em 0.8em 0.1em 0;vertical-align:top;background:none"


def table(title: str, rows: Iterable[Tuple[str, Any]]) -> str:
    """A table of names and values; values are text, and None is left out."""
    body = "".join(
        f"<tr><th style='{_CELL};font-weight:normal;opacity:0.7'>{html.escape(str(name))}</th>"
        f"<td style='{_CELL}'>{html.escape(str(value))}</td></tr>"
        for name, value in rows
        if value is not None and value != ""
    )
    return f"<div><strong>{html.escape(title)}</strong><table style='border:none'>{body}</table></div>"


def short(names: Sequence[str], most: int = 8) -> str:
    """The first names, and how many more."""
    return ", ".join(map(str, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def number(value: Any) -> str:
    """A number as it is shown: four digits."""
    return f"{value:.4g}" if isinstance(value, float) else str(value)
