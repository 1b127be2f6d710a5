"""floor.py - D_stsp^DE of truth against truth: what a perfect model scores, over orbits, lengths, bandwidths."""

from __future__ import annotations

import json
import math
from typing import List

from sections import COLOURS, Section, Table, View, median, new_figure, spread, strip
from tasks import Context, Json, Task
from training import LENGTHS, OTHER, SAMPLES, SHORT, TEST, embedding, orbit

NAME, TITLE = "floor", "The floor: truth against truth"
SYSTEMS = ("lorenz63", "lorenz96", "neuron")
PARTS = {"full": (0.25, 0.5, 1.0), "quick": (0.5, 1.0), "smoke": (1.0,)}  # of the paper's length
PAIRS = {"full": 5, "quick": 2, "smoke": 1}
KINDS = {"gmm": "f", "gmm-silverman": "f²"}


def work(c: Context, task: Task) -> List[Json]:
    """An orbit of T1 rows against another one of T2 = `longer` T1 rows, from another start and another phase."""
    s = task.settings
    found = []
    for number in task.numbers():
        true = orbit(c, s["system"], TEST + number - 1, s["rows"])
        other = orbit(c, s["system"], OTHER + number - 1, s["longer"] * s["rows"])
        options: List[object] = ["--embed", s["embed"], "--samples", s["samples"], "--dstsp", s["kind"]]
        options += ["--columns", "1"] if s["system"] == "lorenz63" else []
        answer = json.loads(c.run("measure", "--true", true, "--generated", other, *options, "--json", "--quiet"))
        value = answer.get("dstsp_embedded", answer["dstsp"])["value"]
        found.append({"dstsp": value, "hellinger": answer["hellinger"]["value"], "diverged": False})
    return found


def tasks(c: Context) -> List[Task]:
    found = []
    for system in SYSTEMS:
        for part in PARTS[c.scale]:
            length = int(LENGTHS[system] * part) // SHORT[c.scale]
            for kind in KINDS:
                for longer in (3, 10) if part == 1.0 and c.scale == "full" else (3,):
                    settings = {
                        "system": system,
                        "rows": length,
                        "longer": longer,
                        "kind": kind,
                        "embed": embedding(c, system),
                        "samples": SAMPLES[c.scale],
                    }
                    point = f"{system}-{length}-x{longer}-{kind}"
                    order = 0 if part == 1.0 and longer == 3 else 2
                    found.append(Task("floor", point, settings, work, PAIRS[c.scale], 1, order, c.seed))
    return found


def level(c: Context, system: str) -> float:
    """The floor at the length of the paper, T2 = 3 T1 and bandwidth f; NaN as long as there is none."""
    for task in tasks(c):
        s = task.settings
        if (s["system"], s["longer"], s["kind"]) == (system, 3, "gmm") and s["rows"] == LENGTHS[system] // SHORT[
            c.scale
        ]:
            results = (c.store.find(task, number) for number in task.numbers())
            return median([float(result["measures"]["dstsp"]) for result in results if result])
    return math.nan


def section(view: View) -> Section:
    lines = []
    figure, (axes,) = new_figure(len(SYSTEMS), 1)
    for column, system in enumerate(SYSTEMS):
        points = [point for point in view.found if point.startswith(system)]
        axes[column].set_title(f"{system}, m, τ = {embedding(view.context, system)}", loc="left", fontsize=7)
        labels = []
        for k, point in enumerate(points):
            _, length, longer, kind = point.split("-", 3)
            values = view.values(point, "dstsp")
            strip(axes[column], k, values, COLOURS[column], 1.0)
            labels.append(f"{int(length) // 1000}k {longer} {KINDS[kind]}")
            lines.append([system, f"{int(length):,}", longer[1:], KINDS[kind], spread(values), view.runs(point)])
        axes[column].set_xticks(range(len(points)))
        axes[column].set_xticklabels(labels, rotation=60, fontsize=6)
    axes[0].set_ylabel("D_stsp^DE")
    picture = (
        view.save(figure, "floor"),
        "Each dot is a pair of true orbits; T1 in thousands of rows, T2/T1, and the bandwidth.",
    )
    head = ["system", "T1", "T2/T1", "bandwidth", "D_stsp^DE", "pairs"]
    notes = [
        "The measure compares T1 rows of the test orbit with T2 rows of a model. Here another true "
        "orbit, with another start "
        "and another phase of the forcing, stands in for the model. So a difference between two "
        "models below the spread of "
        "this floor means nothing, and a value near it is as good as the measure can tell. f is "
        "the bandwidth as the paper "
        "prints it, f² the usual reading of Silverman's rule.",
    ]
    return Section(
        TITLE, notes, [picture], [Table("Truth against truth, median ± MAD over pairs of orbits.", head, lines)]
    )
