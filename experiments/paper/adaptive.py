"""adaptive.py - beyond the paper: the strength of forcing found during training (spec 10) in place of a constant."""

from __future__ import annotations

from typing import List

import fig2
import fig3a
from sections import Section, Table, View, spread
from tasks import Context, Json, Task
from training import TEST, embedding, evaluate, history, orbit, read_log, rows, train, training_orbit

NAME, TITLE = "adaptive", "Beyond the paper: adaptive strength of forcing"
METHODS = {
    "full": ("constant", "product_upper_bound", "arithmetic_mean", "batch_maximum"),
    "quick": ("constant", "arithmetic_mean"),
    "smoke": ("constant", "arithmetic_mean"),
}
RUNS = {"full": 10, "quick": 1, "smoke": 1}
UPDATES = {
    "full": {"lorenz63": 20_000, "lorenz96": 50_000},
    "quick": {"lorenz63": 100, "lorenz96": 20},
    "smoke": {"lorenz63": 3, "lorenz96": 2},
}
LENGTH = {"full": 4_096, "quick": 1_024, "smoke": 128}  # T of lorenz96


def work(c: Context, task: Task) -> List[Json]:
    system = task.point.split("-")[0]
    data = training_orbit(c, system, noise=0.0 if system == "lorenz63" else 0.05)
    runs = train(c, task, {"data": data, **task.settings})
    test = orbit(c, system, TEST, rows(c, system))
    found = evaluate(c, runs, test, "" if system == "lorenz63" else embedding(c, system), rmse=False)
    alphas = [float(read_log(run)["alpha"][-1]) for run in runs]
    return [{**measures, **history(run), "alpha": alpha} for measures, run, alpha in zip(found, runs, alphas)]


def tasks(c: Context) -> List[Task]:
    found = []
    for method in METHODS[c.scale]:
        small: Json = {**fig2.COMMON, **fig2.DATA["FO"]}
        large: Json = {
            **fig3a.settings(c, "lorenz96", fig3a.LENGTHS[c.scale][0]),
            "start_lr": 2e-4,
            "sequence_length": LENGTH[c.scale],
            "warmup": LENGTH[c.scale] // 2,
            "batch_size": fig3a.TOTAL[c.scale] // LENGTH[c.scale],
        }
        for system, chosen in (("lorenz63", small), ("lorenz96", large)):
            settings = {**chosen, "gtf_alpha_method": method, "updates": UPDATES[c.scale][system]}
            if method != "constant":
                del settings["gtf_alpha"]
            found.append(Task("adaptive", f"{system}-{method}", settings, work, RUNS[c.scale], 1, 3, c.seed))
    return found


def section(view: View) -> Section:
    lines = [
        [
            *point.split("-"),
            spread(view.values(point, "dstsp")),
            spread(view.values(point, "alpha")),
            str(view.diverged(point)),
            view.runs(point),
        ]
        for point in view.found
    ]
    head = ["system", "method", "D_stsp (lorenz96: D_stsp^DE)", "α at the end", "diverged", "runs"]
    notes = [
        "lorenz63 as in Fig. 2 (FO), lorenz96 as in Fig. 3A with T = "
        f"{LENGTH[view.context.scale]:,}; constant: 0.15 and 0.08."
    ]
    return Section(TITLE, notes, [], [Table("Median ± MAD.", head, lines)])
