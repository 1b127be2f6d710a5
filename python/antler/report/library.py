"""Where plotly.js is: it draws what moves in a report, and is packed into the page."""

from __future__ import annotations

import os
from importlib import util
from pathlib import Path
from typing import Iterator

from ..exceptions import NotFoundError

DEBIAN = Path("/usr/share/python3-plotly/plotly.js")


def candidates() -> Iterator[Path]:
    """A file that the user names, the one inside Python's plotly, the one of Debian's python3-plotly."""
    if os.environ.get("ANTLER_PLOTLY_JS"):
        yield Path(os.environ["ANTLER_PLOTLY_JS"])
        return
    found = util.find_spec("plotly")
    for folder in (found.submodule_search_locations or []) if found else []:
        yield Path(folder) / "package_data" / "plotly.min.js"
    yield DEBIAN


def read() -> str:
    """The text of plotly.js."""
    for path in candidates():
        if path.is_file():
            return path.read_text(encoding="utf-8")
    raise NotFoundError(
        "plotly.js, which draws the report, is not here; get it by 'sudo apt-get install python3-plotly' or "
        "'pip install plotly', or name the file in ANTLER_PLOTLY_JS"
    )
