"""texts.py - numbers of the text: minutes for 150,000 updates at T = 32,768, in parallel and sequentially."""

from __future__ import annotations

import json
from typing import List

import fig3a
from sections import Claim, Section, Table, View
from tasks import Context, Json, Task
from training import history, train, training_orbit

NAME, TITLE = "text", "Numbers of the text"
UPDATES = {"full": 150_000, "quick": 20, "smoke": 2}
PUBLISHED_MINUTES, PUBLISHED_HOURS = 10.0, 34.0  # RTX 6000 Blackwell; sequential is the paper's estimate
GOAL = 150_000


def work(c: Context, task: Task) -> List[Json]:
    (run,) = train(c, task, {"data": training_orbit(c, "lorenz96"), **task.settings})
    found = history(run)
    T = task.settings["sequence_length"]
    options: List[object] = ["--model", run, "--data", training_orbit(c, "lorenz96"), "--length", T, "--alpha", 0.08]
    options += ["--warmup", 0.5, "--solver", "sequential", "--device", "cpu", "--threads", 1, "--no-check"]
    options += ["--seconds", 1 if c.scale == "full" else 0.02]
    found["sequential"] = json.loads(c.run("bench", "solve", *options, "--json"))["cases"][0]["seconds_median"]
    return [found]


def tasks(c: Context) -> List[Task]:
    chosen = {
        **fig3a.settings(c, "lorenz96", fig3a.LENGTHS[c.scale][-1]),
        "start_lr": 2e-4,
        "updates": UPDATES[c.scale],
    }
    return [Task("text", "minutes", chosen, work, order=0, seed=c.seed)]


def section(view: View) -> Section:
    found = view.first("minutes")
    head = ["", "here", "published"]
    if found is None:
        return Section(TITLE, [], [], [Table("Minutes for 150,000 updates.", head, [["", "no run yet", ""]])])
    updates, T = found["updates"], view.found["minutes"][0]["settings"]["sequence_length"]
    minutes = GOAL * found["training_seconds"] / max(updates, 1) / 60
    hours = GOAL * found["sequential"] / 3600
    how = "measured" if updates >= GOAL else f"extrapolated from {updates:,} updates"
    ratio = f"{60 * hours / minutes:.3g}" if minutes > 0 else "too short to be timed"
    rows = [
        [f"minutes for 150,000 updates, T = {T:,}, one run ({how})", f"{minutes:.3g}", f"{PUBLISHED_MINUTES:g}"],
        [
            "hours for the same, sequential, one core of our own (extrapolated from one solve)",
            f"{hours:.3g}",
            f"{PUBLISHED_HOURS:g}",
        ],
        ["sequential / parallel", ratio, f"{60 * PUBLISHED_HOURS / PUBLISHED_MINUTES:.3g}"],
    ]
    claim = Claim(
        "Training on sequences of length 32,768 requires about 10 minutes, sequential about 34 hours.",
        view.verdict(["minutes"], minutes <= PUBLISHED_MINUTES),
        f"{minutes:.3g} minutes, {hours:.3g} hours",
    )
    notes = ["lorenz96, M = 10, L = 128, T_w = T/2, settings of Fig. 3A. The speed-up of 870 is in Fig. 1A."]
    return Section(TITLE, notes, [], [Table("Time of a whole training.", head, rows)], [claim])
