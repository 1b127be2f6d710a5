"""The table of measures in the C library: names, labels, units and what is better."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Dict, NamedTuple

from . import _lib
from .exceptions import ArgumentError

_SCRIPT = re.compile(r"([_^])(\w+?)(?=[_^\W]|$)")


class Measure(NamedTuple):
    """One row of the table; docs/measures.md shows it."""

    name: str  #: column of metrics.csv
    label: str  #: "D_stsp", "RMSE(n)": _ lowers and ^ raises the word after it
    unit: str
    better: int  #: -1: smaller, 1: larger, 0: neither
    digits: int  #: significant digits in a line of text
    json: str  #: place in metrics.json, such as "rmse.value"
    meaning: str
    standard: bool  #: measured unless an option leaves it out
    forecast: bool  #: of windows of free steps
    steps: int  #: of such a forecast, by default; 0: as many as RMSE(n) has
    worst: float  #: stands for a model that diverged: infinite, negative where larger is better

    @property
    def _plain(self) -> str:
        return self.label.replace("(n)", "").replace("lambda", "λ").replace("-", "–")

    @property
    def html(self) -> str:
        """The label for a page, without its number of steps."""
        tags = {"_": "sub", "^": "sup"}
        return _SCRIPT.sub(lambda m: f"<{tags[m[1]]}>{m[2]}</{tags[m[1]]}>", self._plain)

    @property
    def tex(self) -> str:
        """The label for matplotlib, without its number of steps."""
        words = self._plain.split(" ")
        return " ".join("$" + _SCRIPT.sub(r"\1{\2}", word) + "$" if _SCRIPT.search(word) else word for word in words)

    def found(self, metrics: Any) -> Any:
        """The value at its place in metrics.json; None when there is none."""
        part = metrics
        for key in self.json.split("."):
            known = part[int(key)] if isinstance(part, list) and int(key) < len(part) else None
            part = part.get(key) if isinstance(part, dict) else known
        return part


@lru_cache(maxsize=None)
def table() -> Dict[str, Measure]:
    """All measures by name, in the order of metrics.csv."""
    found = {}
    for i in range(_lib.plain("measure_count")):
        row = _lib.plain("measure_at", i).contents
        values = {name: getattr(row, name) for name, *_ in row._fields_}
        values = {name: _lib.text(value) if isinstance(value, bytes) else value for name, value in values.items()}
        found[values["name"]] = Measure(**values, worst=_lib.plain("measure_worst", i))
    return found


def forecast_index(name: str) -> int:
    """The row of a forecast measure."""
    known = [measure.name for measure in table().values() if measure.forecast]
    if name not in known:
        raise ArgumentError(f"{name!r} is not a forecast measure; they are {', '.join(known)}")
    return list(table()).index(name)
