"""long.py - beyond the paper: the setting of Fig. 3A on sequences of up to a million steps, on a longer orbit."""

from __future__ import annotations

from typing import List

import fig3a
from sections import Section, Table, View, median, spread
from tasks import Context, Json, Task
from training import TEST, embedding, evaluate, history, orbit, rows, train, training_orbit

NAME, TITLE = "long", "Beyond the paper: sequences of up to a million steps"
LENGTHS = {"full": (131_072, 262_144, 524_288, 1_000_000), "quick": (16_384,), "smoke": (1_024,)}
ROWS = {"full": 1_200_000, "quick": 20_000, "smoke": 2_500}
RUNS = {"full": 5, "quick": 1, "smoke": 1}
UPDATES = {"full": 20_000, "quick": 20, "smoke": 2}


def work(c: Context, task: Task) -> List[Json]:
    runs = train(c, task, {"data": training_orbit(c, "lorenz96", length=ROWS[c.scale]), **task.settings})
    found = evaluate(c, runs, orbit(c, "lorenz96", TEST, rows(c, "lorenz96")), embedding(c, "lorenz96"), rmse=False)
    return [{**measures, **history(run)} for measures, run in zip(found, runs)]


def tasks(c: Context) -> List[Task]:
    found = []
    for length in LENGTHS[c.scale]:
        chosen = {
            **fig3a.MODELS["lorenz96"],
            "start_lr": 2e-4,
            "hidden_dim": 128,
            "kappa": 0.9995,
            "end_lr": 1e-6,
            "batch_size": 1,
        }
        # A warm-up longer than the test orbit could not be measured on it.
        chosen.update(
            sequence_length=length, warmup=min(length // 2, rows(c, "lorenz96") // 4), updates=UPDATES[c.scale]
        )
        found.append(Task("long", f"T{length}", chosen, work, RUNS[c.scale], 1, 3, c.seed))
    return found


def section(view: View) -> Section:
    lines = []
    for point in view.found:
        times = [median(result["measures"]["ms_per_update"]) for result in view.found[point]]
        steps = [float(result["measures"]["iterations"][-1]) for result in view.found[point]]
        lines.append(
            [
                f"{int(point[1:]):,}",
                spread(view.values(point, "dstsp")),
                spread(times),
                spread(steps),
                str(view.diverged(point)),
                view.runs(point),
            ]
        )
    head = ["T", "D_stsp^DE", "ms per update of all runs together", "iterations", "diverged", "runs"]
    notes = [
        f"lorenz96, M = 10, L = 128, B = 1, {UPDATES[view.context.scale]:,} updates on an orbit of "
        f"{ROWS[view.context.scale]:,} rows; T_w = T/2, at most a quarter of the test orbit."
    ]
    return Section(TITLE, notes, [], [Table("Median ± MAD.", head, lines)])
