"""Many runs: measures against a setting, strips of runs, runtime, iterations.

Tables are paths of metrics.csv, mappings of columns, or pandas frames. A run that diverged has the value
infinity there; it is never dropped: medians count it, and it is drawn as a cross at the upper edge, or at the
lower one for a measure of which larger is better.
"""

from __future__ import annotations

import json
import os
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from ..curves import median_and_mad
from ..tables import Columns, table
from . import style


def _groups(columns: Columns, by: Optional[str]) -> List[Tuple[str, Any]]:
    """(label, rows) of each value of the column `by`, in order; one unnamed group without it."""
    if by is None:
        return [("", slice(None))]
    numbers = np.issubdtype(columns[by].dtype, np.number)
    return [(f"{value:g}" if numbers else str(value), columns[by] == value) for value in np.unique(columns[by])]


def _group_legend(ax: Any, by: Optional[str]) -> None:
    """Beside the axes, where it hides nothing."""
    if by is not None:
        ax.legend(title=style.label(by), title_fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _plain_ticks(axis: Any, values: np.ndarray, logarithmic: bool) -> None:
    """Ticks at the values that were tried, written as plain numbers; of those that would touch, the first."""
    places = np.log(values) if logarithmic else np.asarray(values, dtype=float)
    kept = [0]
    for i, place in enumerate(places):
        if place - places[kept[-1]] > 0.11 * (places[-1] - places[0]):
            kept.append(i)
    axis.set_major_locator(FixedLocator([values[i] for i in kept]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))


def _horizontal(ax: Any, values: np.ndarray) -> None:
    """The axis of a setting: logarithmic where its values span much, with ticks where they are."""
    values = np.unique(values)
    if _wide(values):
        ax.set_xscale("log", base=2)
    _plain_ticks(ax.xaxis, values, _wide(values))


def _wide(values: np.ndarray) -> bool:
    """Do positive values span so much that a logarithmic axis is in order?"""
    values = values[np.isfinite(values)]
    return len(values) > 0 and values.min() > 0 and values.max() > 8 * values.min()


def _crosses(ax: Any, x: np.ndarray, value: np.ndarray, colour: str) -> None:
    """Diverged runs: crosses on the upper edge, or on the lower one where larger is better, whatever the limits are."""
    for edge, kept in ((1.03, np.isposinf(value)), (0.03, np.isneginf(value))):
        if not kept.any():  # an empty line would still claim room, at the origin
            continue
        ax.plot(
            x[kept],
            np.full(kept.sum(), edge),
            "x",
            color=colour,
            transform=ax.get_xaxis_transform(),
            clip_on=False,
            markersize=4.5,
            markeredgewidth=1.1,
        )


def _one_against(ax: Any, columns: Columns, x: str, measure: str, by: Optional[str]) -> None:
    for (name, rows), colour, marker in zip(_groups(columns, by), style.GROUPS, style.MARKERS):
        where, value = columns[x][rows].astype(float), columns[measure][rows].astype(float)
        places = np.unique(where)
        middle, mad = np.array([median_and_mad(value[where == place]) for place in places]).T
        kept = np.isfinite(middle)
        lower = np.where(middle - mad > 0, middle - mad, middle / 10) if _wide(value) else middle - mad
        ax.fill_between(places[kept], lower[kept], (middle + mad)[kept], color=colour, alpha=0.2, linewidth=0)
        ax.plot(places[kept], middle[kept], marker=marker, color=colour, label=name)
        good = np.isfinite(value)
        ax.plot(where[good], value[good], ".", color=colour, markersize=2.5, alpha=0.6)
        _crosses(ax, where, value, colour)


def against(
    source: Any,
    x: str = "sequence_length",
    measures: Sequence[str] = ("dstsp", "rmse"),
    by: Optional[str] = None,
    axes: Any = None,
) -> Any:
    """Measures against a setting: median over runs, MAD as a band, runs as dots, diverged ones as crosses.

    One panel per measure; `by` names a second setting that gets a line for each of its values.
    """
    columns = table(source)
    with style.context():
        if axes is None:
            width = 0.3 + 2.3 * len(measures) + (0.9 if by is not None else 0.0)
            _, axes = style.subplots(1, len(measures), (min(style.PAGE, width), 2.3))
        axes = np.ravel(axes)
        for ax, measure in zip(axes, measures):
            _one_against(ax, columns, x, measure, by)
            where, value = columns[x].astype(float), columns[measure].astype(float)
            _horizontal(ax, where)
            if _wide(value):
                ax.set_yscale("log")
            ax.set_xlabel(style.label(x))
            ax.set_ylabel(style.label(measure))
        _group_legend(axes[-1], by)
    return axes


def strip(source: Any, measure: str = "dstsp", by: Optional[str] = None, seed: int = 0, ax: Any = None) -> Any:
    """Every run as a point, in columns by the values of a setting; medians as bars, diverged runs as crosses."""
    columns = table(source)
    generator = np.random.default_rng(seed)  # sideways scatter only
    groups = _groups(columns, by)
    with style.context():
        if ax is None:
            ax = style.subplots(1, 1, (min(style.PAGE, 1.2 + 0.55 * len(groups)), 2.4))[1][0, 0]
        for i, (_, rows) in enumerate(groups):
            value = columns[measure][rows].astype(float)
            place = i + (generator.random(len(value)) - 0.5) * 0.36
            good, colour = np.isfinite(value), style.GROUPS[i % len(style.GROUPS)]
            ax.plot(place[good], value[good], "o", color=colour, alpha=0.75, markeredgewidth=0)
            _crosses(ax, place, value, colour)
            middle = median_and_mad(value)[0]
            if np.isfinite(middle):
                ax.plot([i - 0.28, i + 0.28], [middle] * 2, color=style.BLACK, linewidth=1.3, zorder=3)
            diverged = int(np.isinf(value).sum())
            ax.annotate(
                f"{diverged}/{len(value)}" if diverged else "",
                (i, 1.08),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=6.5,
                color=style.QUIET,
            )
        if _wide(columns[measure].astype(float)):
            ax.set_yscale("log")
        ax.set_xticks(range(len(groups)), [name for name, _ in groups])
        ax.set_xlim(-0.6, len(groups) - 0.4)
        if by is not None:
            ax.set_xlabel(style.label(by))
        ax.set_ylabel(style.label(measure))
    return ax


def _cases(source: Any) -> Columns:
    """Columns from the JSON of `antler bench solve --json`, or from a table."""
    if isinstance(source, (str, os.PathLike)) and os.fspath(source).endswith(".json"):
        with open(source, encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        return {name: np.array([case[name] for case in cases]) for name in cases[0]}
    return table(source)


def runtime(source: Any, ax: Any = None) -> Any:
    """Seconds of one solve, forward and backward, against T: a line for each solver and M.

    `source` is the JSON of `antler bench solve --json`, or a table with the columns solver, latent_dim, length,
    seconds_median. Colour is the solver, marker is M.
    """
    columns = _cases(source)
    solvers, sizes = list(dict.fromkeys(columns["solver"])), np.unique(columns["latent_dim"])
    with style.context():
        ax = style.subplots(1, 1, (style.COLUMN, 2.6))[1][0, 0] if ax is None else ax
        for solver, colour in zip(solvers, style.GROUPS):
            for size, marker in zip(sizes, style.MARKERS):
                rows = (columns["solver"] == solver) & (columns["latent_dim"] == size)
                order = np.argsort(columns["length"][rows])
                name = f"{solver}, M = {size:g}" if len(sizes) > 1 else str(solver)
                ax.loglog(
                    columns["length"][rows][order],
                    columns["seconds_median"][rows][order],
                    marker=marker,
                    color=colour,
                    label=name,
                )
        _horizontal(ax, columns["length"])
        ax.set_xlabel("sequence length T")
        ax.set_ylabel("seconds, forward and backward")
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncol=2 if len(ax.get_lines()) > 3 else 3, borderaxespad=0.2)
    return ax


def iterations(
    source: Any, x: str = "gtf_alpha", by: Optional[str] = None, cap: Optional[float] = None, ax: Any = None
) -> Any:
    """Newton iterations against the strength of forcing: median and MAD over runs, a line per value of `by`.

    `cap` draws the limit of iterations, where a curve that reaches it did not converge.
    """
    columns = table(source)
    with style.context():
        ax = style.subplots(1, 1, (style.COLUMN, 2.3))[1][0, 0] if ax is None else ax
        _one_against(ax, columns, x, "iterations", by)
        _horizontal(ax, columns[x].astype(float))
        reached = columns["iterations"].astype(float)
        if cap is not None:
            reached = np.append(reached, cap)
            ax.axhline(cap, color=style.QUIET, linewidth=0.7, linestyle="--")
            ax.annotate(
                "limit",
                (1, cap),
                xycoords=("axes fraction", "data"),
                xytext=(0, -2),
                va="top",
                ha="right",
                textcoords="offset points",
                color=style.QUIET,
                fontsize=7,
            )
        if _wide(reached):
            ax.set_yscale("log")
        else:
            ax.set_ylim(bottom=0)
        ax.set_xlabel(style.label(x))
        ax.set_ylabel("Newton iterations")
        _group_legend(ax, by)
    return ax
