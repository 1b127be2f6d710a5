"""fig3c.py - Figs. 3C and A1: free runs of both systems after long and short training sequences, and the slow unit.

The traces are those that the runs of Fig. 3A have left; the tasks of the two lengths are the same ones.
"""

from __future__ import annotations

from typing import Any, List, Optional

import fig3a
import numpy as np
from sections import COLOURS, Claim, Section, Table, View, median, new_figure, spread
from tasks import Context, Json, Task
from training import LENGTHS, SHORT, TEST, envelope, orbit, rows

NAME, TITLE = "3c", "Figs. 3C and A1: free runs, and the slow unit that follows the hidden forcing"


def lengths(c: Context) -> List[int]:
    """The longest, and a standard length."""
    return [fig3a.LENGTHS[c.scale][-1], fig3a.LENGTHS[c.scale][1 if c.scale == "full" else 0]]


def truth(c: Context, task: Task) -> List[Json]:
    """The first variable of the test orbit."""
    system = task.settings["system"]
    x = np.load(orbit(c, system, TEST, task.settings["rows"]))["x_000"]
    return [{"x": envelope(np.asarray(x[:, 0], dtype=float))}]


def tasks(c: Context) -> List[Task]:
    """Those of Fig. 3A of these lengths, and the test orbits."""
    found = [task for task in fig3a.tasks(c) if task.settings["sequence_length"] in lengths(c)]
    for system in fig3a.SYSTEMS:
        found.append(Task("3c", f"truth-{system}", {"system": system, "rows": rows(c, system)}, truth, seed=c.seed))
    return found


def best(view: View, point: str) -> Optional[Json]:
    """The run with the lowest D_stsp^DE, as in the paper."""
    results = view.found.get(point, [])
    return min(results, key=lambda r: float(r["measures"]["dstsp"]))["measures"] if results else None


def band(axes: Any, shape: Json, colour: str) -> None:
    at = [k * shape["rows"] / len(shape["low"]) for k in range(len(shape["low"]))]
    axes.fill_between(at, shape["low"], shape["high"], color=colour, linewidth=0.4)


def draw(view: View) -> str:
    figure, grid = new_figure(3, 3, 7.0, 4.6)
    for column, system in enumerate(fig3a.SYSTEMS):
        true = view.first(f"truth-{system}")
        grid[0][column].set_title(f"{system}, test orbit", loc="left")
        if true:
            band(grid[0][column], true["x"], "black")
        for row, length in enumerate(lengths(view.context), 1):
            found = best(view, f"{system}-T{length}")
            grid[row][column].set_title(f"{system}, T = {length:,}", loc="left")
            if found:
                band(grid[row][column], found["trace"]["x"], COLOURS[column])
        for row in range(3):
            grid[row][column].set_ylim(-4, 4)
            grid[row][column].locator_params(axis="x", nbins=4)
            grid[row][column].set_xlim(0, 3 * LENGTHS[system] // SHORT[view.context.scale])
    grid[0][2].axis("off")
    for row, length in enumerate(lengths(view.context), 1):
        grid[row][2].set_title(f"slow unit, T = {length:,}", loc="left")
        draw_slow(grid[row][2], best(view, f"lorenz96-T{length}"))
    for place in grid[-1]:
        place.set_xlabel("row of the free run")
    return view.save(figure, "fig3c")


def draw_slow(axes: Any, found: Optional[Json]) -> None:
    """The unit as a band, and the sine that fits it best, with its amplitude."""
    if not found or "slow" not in found["trace"]:
        return
    shape = found["trace"]["slow"]
    band(axes, shape, COLOURS[2])
    at = np.arange(len(shape["low"])) * shape["rows"] / len(shape["low"])
    values = (np.array(shape["low"]) + np.array(shape["high"])) / 2
    height = np.sqrt(2) * values.std() * found["trace"]["forcing"]
    axes.plot(
        at,
        values.mean() + height * np.sin(2 * np.pi * at / fig3a.PERIOD + found["trace"]["phase"]),
        "k--",
        linewidth=0.7,
    )


def forcing(measures: Json) -> float:
    """Correlation of the slow unit; a diverged run follows nothing."""
    return 0.0 if measures["diverged"] else float(measures["trace"].get("forcing", 0.0))


def section(view: View) -> Section:
    lines, middle = [], []
    for length in lengths(view.context):
        fits = [forcing(result["measures"]) for result in view.found.get(f"lorenz96-T{length}", [])]
        middle.append(median(fits))
        lines.append(
            [f"{length:,}", spread(fits), f"{max(fits, default=float('nan')):.3g}", view.runs(f"lorenz96-T{length}")]
        )
    head = ["T", "correlation, median ± MAD", "best", "runs"]
    notes = [
        "The best run of each point by D_stsp^DE, free for three times the length of the data; "
        "least and largest value of "
        "parts. The slow unit is the regularised unit whose free run correlates most with a sine "
        "of the period of the forcing "
        "(15,000 rows) at the phase that fits best; dashed: that sine.",
    ]
    points = [f"lorenz96-T{length}" for length in lengths(view.context)]
    claim = Claim(
        "Access to long sequences enables the model to capture the latent forcing F(t) in the MAR "
        "regularized units; a model "
        "trained on short sequences fails to.",
        view.verdict(points, middle[0] > 0.7 and middle[1] < middle[0] - 0.2),
        f"correlation {middle[0]:.3g} after long sequences, {middle[1]:.3g} after short ones",
    )
    table = Table("Correlation of the slow unit with the hidden forcing, free runs of lorenz96.", head, lines)
    return Section(
        TITLE,
        notes,
        [(draw(view), "The test orbit, free runs after long training sequences, and after short ones.")],
        [table],
        [claim],
    )
