"""fig3b.py - Figs. 3B and A2: six models on the forced Lorenz-96 system, each with its choice from the search."""

from __future__ import annotations

import math
from typing import List

import floor
import search
from fig3a import measured, trace
from sections import COLOURS, Claim, Section, Table, View, logarithmic, median, new_figure, spread, strip, top_of
from tasks import Context, Json, Task, groups
from training import TEST, embedding, evaluate, history, orbit, rows, train, training_orbit

NAME, TITLE = "3b", "Figs. 3B and A2: linear and nonlinear recurrences"
RUNS = {"full": (10, 5), "quick": (1, 1), "smoke": (1, 1)}
UPDATES = {"full": 150_000, "quick": 200, "smoke": 3}
LABELS = {
    "shplrnn": "shPLRNN",
    "rank7": "r = 7",
    "rank6": "r = 6",
    "lssm": "LSSM",
    "mamba2_7k": "Mamba-2-7k",
    "mamba2_17k": "Mamba-2-17k",
}


def work(c: Context, task: Task) -> List[Json]:
    chosen = search.choice(c, task.point)
    settings = {**task.settings, **chosen["settings"]}
    runs = train(c, task, {"data": training_orbit(c, "lorenz96"), **settings})
    test = orbit(c, "lorenz96", TEST, rows(c, "lorenz96"))
    found = evaluate(c, runs, test, embedding(c, "lorenz96"))
    units = 4 if "gtf_alpha" in settings else 0
    return [
        {**measures, **history(run), "trace": trace(c, run, test, "lorenz96", units), "chosen": chosen["name"]}
        for measures, run in zip(found, runs)
    ]


def tasks(c: Context) -> List[Task]:
    total, size = RUNS[c.scale]
    T, warmup = search.LENGTH[c.scale]
    common = {"sequence_length": T, "warmup": warmup, "batch_size": 1, "end_lr": 1e-6, "updates": UPDATES[c.scale]}
    found = []
    for model, chosen in search.MODELS.items():
        for k, numbers in enumerate(groups(total, size)):
            ready = search.decided(model)
            found.append(
                Task("3b", model, {**common, **chosen}, work, len(numbers), numbers[0], 1 + 2 * k, c.seed, ready)
            )
    return found


def draw(view: View) -> List[str]:
    figure, ((axes,),) = new_figure(1, 1, 5.0, 2.8)
    top = top_of([value for model in LABELS for value in measured(view, model, "dstsp")])
    for k, model in enumerate(LABELS):
        strip(axes, k, measured(view, model, "dstsp"), COLOURS[k], top)
    level = floor.level(view.context, "lorenz96")
    if math.isfinite(level):
        axes.axhline(level, color="grey", linestyle=":", linewidth=1, label="floor: truth against truth")
        axes.legend(fontsize=6)
    axes.set_xticks(range(len(LABELS)))
    axes.set_xticklabels(list(LABELS.values()), fontsize=7)
    axes.set_ylabel("D_stsp^DE")
    logarithmic(axes)
    first = view.save(figure, "fig3b")
    figure, grid = new_figure(1, len(LABELS), 7.0, 6.0)
    for k, model in enumerate(LABELS):
        place = grid[k][0]
        place.set_title(LABELS[model], loc="left", fontsize=7)
        if view.found.get(model):
            best = min(view.found[model], key=lambda r: float(r["measures"]["dstsp"]))
            shape = best["measures"]["trace"]["x"]
            at = [j * shape["rows"] / len(shape["low"]) for j in range(len(shape["low"]))]
            place.fill_between(at, shape["low"], shape["high"], color=COLOURS[k], linewidth=0.4)
        place.set_ylim(-4, 4)
    grid[-1][0].set_xlabel("row of the free run")
    return [first, view.save(figure, "figA2")]


def section(view: View) -> Section:
    lines = []
    for model, label in LABELS.items():
        chosen = search.choice(view.context, model)
        lines.append(
            [
                label,
                spread(measured(view, model, "dstsp")),
                spread(measured(view, model, "rmse")),
                str(view.diverged(model)),
                chosen["name"] if chosen else "search goes on",
                view.runs(model),
            ]
        )
    level = floor.level(view.context, "lorenz96")
    lines.append(["floor: another true orbit", f"{level:.3g}", "", "", "", ""])
    head = ["model", "D_stsp^DE", "RMSE(128)", "diverged", "settings from the search", "runs"]
    T, warmup = search.LENGTH[view.context.scale]
    notes = [
        f"T = {T:,}, T_w = {warmup:,}, B = 1, {UPDATES[view.context.scale]:,} updates, M = 10, L = "
        f"128, α = 0.08, M_r = 4, "
        "λ_1 = 1, λ_2 = 1e-4; cosine to 1e-6. The paper shows the values as a picture without numbers.",
    ]
    names = draw(view)
    pictures = [
        (names[0], "Runs as dots, median ± MAD, diverged runs as crosses."),
        (
            names[1],
            "First variable of the best run of each model, free for three times the length of the data: least and "
            "largest value of parts.",
        ),
    ]
    tables = [Table("Median ± MAD.", head, lines)]
    return Section(TITLE, notes, pictures, tables, claims(view))


def claims(view: View) -> List[Claim]:
    middle = {model: median(measured(view, model, "dstsp")) for model in LABELS}
    others = [model for model in ("rank6", "lssm", "mamba2_7k", "mamba2_17k")]
    found = [
        Claim(
            "Increasing the rank by just 1 (r = 7) significantly improves reconstruction quality.",
            view.verdict(["rank7", "rank6"], middle["rank7"] < 0.8 * middle["rank6"]),
            f"{middle['rank7']:.3g} against {middle['rank6']:.3g} with r = 6",
        )
    ]
    for model in others[1:]:
        found.append(
            Claim(
                f"{LABELS[model]} falls behind the shPLRNN of rank 7.",
                view.verdict(["rank7", model], middle[model] > 1.25 * middle["rank7"]),
                f"{middle[model]:.3g} against {middle['rank7']:.3g}",
            )
        )
    return found
