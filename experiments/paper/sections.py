"""sections.py - what a figure puts on the page: pictures, tables, claims of the paper; and statistics over runs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

from tasks import Context, Json, Task

ENOUGH = 5  # runs of a point below which the page draws no conclusion
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")  # Okabe and Ito


@dataclass
class Table:
    caption: str
    head: List[str]
    rows: List[List[str]]


@dataclass
class Claim:
    """A sentence of the paper, whether our runs support it (None: open), and the numbers."""

    sentence: str
    holds: Optional[bool]
    numbers: str


@dataclass
class Section:
    title: str
    notes: List[str] = field(default_factory=list)
    pictures: List[Tuple[str, str]] = field(default_factory=list)  # file, caption
    tables: List[Table] = field(default_factory=list)
    claims: List[Claim] = field(default_factory=list)


class View:
    """The results of one figure, by point, and how many were planned."""

    def __init__(self, context: Context, tasks: Sequence[Task], folder: Path) -> None:
        self.context, self.folder = context, folder
        self.found: Dict[str, List[Json]] = {}
        self.wanted: Dict[str, int] = {}
        for task in tasks:
            self.wanted[task.point] = self.wanted.get(task.point, 0) + task.runs
            results = (context.store.find(task, number) for number in task.numbers())
            self.found.setdefault(task.point, []).extend(result for result in results if result is not None)

    def values(self, point: str, name: str) -> List[float]:
        return [float(result["measures"][name]) for result in self.found.get(point, [])]

    def first(self, point: str) -> Optional[Json]:
        results = self.found.get(point, [])
        return results[0]["measures"] if results else None

    def runs(self, point: str) -> str:
        """ "10", or "3 of 10" where runs are missing."""
        have, want = len(self.found.get(point, [])), self.wanted.get(point, 0)
        return f"{have}" if have == want else f"{have} of {want}"

    def diverged(self, point: str) -> int:
        return sum(bool(result["measures"].get("diverged")) for result in self.found.get(point, []))

    def verdict(self, points: Sequence[str], holds: bool) -> Optional[bool]:
        """None as long as a point has too few runs, or at a scale that is not the paper's."""
        enough = all(len(self.found.get(point, [])) >= min(ENOUGH, self.wanted.get(point, ENOUGH)) for point in points)
        return holds if enough and self.context.scale == "full" else None

    def save(self, figure: Any, name: str) -> str:
        figure.tight_layout()
        figure.savefig(self.folder / f"{name}.svg")
        import matplotlib.pyplot as plt

        plt.close(figure)
        return f"{name}.svg"


def median(values: Sequence[float]) -> float:
    """Diverged runs are infinite and count."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    middle = len(ordered) // 2
    low = ordered[middle if len(ordered) % 2 else middle - 1]
    return low if math.isinf(ordered[middle]) and math.isinf(low) else (low + ordered[middle]) / 2


def mad(values: Sequence[float]) -> float:
    centre = median(values)
    return median([abs(value - centre) for value in values]) if math.isfinite(centre) else math.nan


def spread(values: Sequence[float]) -> str:
    """Median +- MAD in three digits."""
    if not values:
        return "no run yet"
    centre = median(values)
    if not math.isfinite(centre):
        return "diverged"
    return f"{centre:.3g} ± {mad(values):.2g}"


def strip(axes: Any, place: float, values: Sequence[float], colour: str, top: float) -> None:
    """Every run as a dot, median and MAD as a bar, diverged runs as red crosses at the upper edge."""
    good = [value for value in values if math.isfinite(value)]
    shifts = [0.24 * ((k + 0.5) / len(values) - 0.5) for k in range(len(values))] if values else []
    axes.plot([place + s for s in shifts[: len(good)]], sorted(good), ".", color=colour, markersize=4, alpha=0.6)
    lost = len(values) - len(good)
    if lost:
        axes.plot([place + s for s in shifts[len(good) :]], [top] * lost, "x", color="red", markersize=5, clip_on=False)
    centre = median(values)
    if values and math.isfinite(centre):
        # On a logarithmic axis the bar stays above 0. A floor may be negative: it is an estimate by samples.
        below = min(mad(values), 0.999 * centre) if centre > 0 else mad(values)
        axes.errorbar(
            [place],
            [centre],
            [[below], [mad(values)]],
            fmt="_",
            color=colour,
            markersize=16,
            capsize=3,
        )


def top_of(values: Sequence[float]) -> float:
    good = [value for value in values if math.isfinite(value)]
    return 2 * max(good) if good else 1.0


def logarithmic(axes: Any, lengths: bool = False) -> None:
    """A logarithmic scale (`lengths`: on both axes), unless there is nothing to draw yet."""
    if not axes.has_data() or not axes.dataLim.intervaly[1] > 0:
        return
    axes.set_yscale("log")
    if lengths:
        axes.set_xscale("log", base=2)


def panels(count: int) -> Any:
    """A figure with that many axes in rows of two."""
    rows = (count + 1) // 2
    figure, grid = new_figure(2, rows, 7.0, 2.6 * rows)
    every = [axes for row in grid for axes in row]
    for axes in every[count:]:
        axes.axis("off")
    return figure, every


def new_figure(columns: int = 1, rows: int = 1, width: float = 7.0, height: float = 2.8) -> Any:
    """A figure and its axes in the style of the page."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "font.size": 8,
            "svg.fonttype": "none",
            "svg.hashsalt": "antler",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.frameon": False,
        }
    )
    return plt.subplots(rows, columns, figsize=(width, height), squeeze=False)
