"""fig3a.py - Figs. 3A and A3: D_stsp^DE and RMSE(128) against the length of training sequences, B T fixed."""

from __future__ import annotations

import math
from typing import Any, Dict, List

import floor
import numpy as np
import search
from sections import COLOURS, Claim, Section, Table, View, mad, median, new_figure, spread
from tasks import Context, Json, Task, groups
from training import (
    SHORT,
    TEST,
    embedding,
    envelope,
    evaluate,
    forcing_fit,
    generate,
    history,
    orbit,
    rows,
    train,
    training_orbit,
)

NAME, TITLE = "3a", "Figs. 3A and A3: the length of training sequences"
SYSTEMS = ("lorenz96", "neuron")
TOTAL = {"full": 32_768, "quick": 4_096, "smoke": 512}  # B T
LENGTHS = {"full": tuple(2**k for k in range(8, 16)), "quick": (256, 4096), "smoke": (64, 512)}
RUNS = {"full": (10, 5), "quick": (2, 2), "smoke": (1, 1)}
UPDATES = {"full": 150_000, "quick": 500, "smoke": 3}
PERIOD = 15_000  # rows, of the forcing of lorenz96
PUBLISHED_RMSE = {"lorenz96": "0.27 ± 0.02", "neuron": "0.047 ± 0.003"}  # mean ± SEM over all lengths and runs
REGULARISED = {"regularised_units": 4, "MAR_lambda": 1, "readout_lambda": 1, "singular_lambda": 1e-4}
MODELS = {
    "lorenz96": {"latent_dim": 10, "gtf_alpha": 0.08, **REGULARISED},
    "neuron": {"latent_dim": 6, "gtf_alpha": 0.4, **REGULARISED},
}


def settings(c: Context, system: str, length: int) -> Json:
    return {
        **MODELS[system],
        "hidden_dim": 128,
        "kappa": 0.9995,
        "end_lr": 1e-6,
        "sequence_length": length,
        "warmup": length // 2,
        "batch_size": TOTAL[c.scale] // length,
        "updates": UPDATES[c.scale],
    }


def trace(c: Context, run: Any, data: Any, system: str, units: int) -> Json:
    """First variable of a free run three times as long as the data, and the unit that follows the forcing best."""
    x, z = generate(c, run, data, 3 * rows(c, system))
    found: Json = {"x": envelope(x[:, 0])}
    if system == "lorenz96" and units > 0 and len(z) > PERIOD // SHORT[c.scale]:
        fits = [forcing_fit(z[:, k], PERIOD) for k in range(z.shape[1] - units, z.shape[1])]
        best = int(np.argmax([share for share, _ in fits]))
        found.update(slow=envelope(z[:, z.shape[1] - units + best]), forcing=fits[best][0], phase=fits[best][1])
    return found


def work(c: Context, task: Task) -> List[Json]:
    system = task.point.split("-")[0]
    chosen = search.choice(c, f"3a-{system}")
    runs = train(c, task, {"data": training_orbit(c, system), **task.settings, **chosen["settings"]})
    test = orbit(c, system, TEST, rows(c, system))
    found = evaluate(c, runs, test, embedding(c, system))
    answers: List[Json] = [{**measures, **history(run), "chosen": chosen["name"]} for measures, run in zip(found, runs)]
    if task.settings["sequence_length"] in (LENGTHS[c.scale][0], LENGTHS[c.scale][1], LENGTHS[c.scale][-1]):
        for answer, run in zip(answers, runs):
            answer["trace"] = trace(c, run, test, system, task.settings.get("regularised_units", 0))
    return answers


def tasks(c: Context) -> List[Task]:
    total, size = RUNS[c.scale]
    ends = (LENGTHS[c.scale][-1], LENGTHS[c.scale][1])
    found = []
    for system in SYSTEMS:
        for length in reversed(LENGTHS[c.scale]):
            for k, numbers in enumerate(groups(total, size)):
                order = 1 + 2 * k if length in ends else 2 + 2 * k
                chosen = settings(c, system, length)
                ready = search.decided(f"3a-{system}")
                point = f"{system}-T{length}"
                found.append(Task("3a", point, chosen, work, len(numbers), numbers[0], order, c.seed, ready))
    return found


def measured(view: View, point: str, name: str) -> List[float]:
    return [
        math.inf if r["measures"]["diverged"] and name == "dstsp" else float(r["measures"][name])
        for r in view.found.get(point, [])
    ]


def draw(view: View) -> str:
    lengths = LENGTHS[view.context.scale]
    figure, axes = new_figure(2, 2, 7.0, 5.0)
    for row, (name, label) in enumerate((("dstsp", "D_stsp^DE"), ("rmse", "RMSE(128)"))):
        for column, system in enumerate(SYSTEMS):
            place = axes[row][column]
            values = {T: measured(view, f"{system}-T{T}", name) for T in lengths}
            good = [v for found in values.values() for v in found if math.isfinite(v)]
            for T, found in values.items():
                finite = [value for value in found if math.isfinite(value)]
                place.plot([T] * len(finite), finite, ".", color=COLOURS[column], markersize=3, alpha=0.5)
                if len(found) > len(finite):
                    place.plot([T], [1.2 * max(good, default=1.0)], "x", color="red")
                    place.annotate(str(len(found) - len(finite)), (T, 1.2 * max(good, default=1.0)), fontsize=6)
            there = [T for T in lengths if values[T] and math.isfinite(median(values[T]))]
            place.errorbar(
                there,
                [median(values[T]) for T in there],
                [mad(values[T]) for T in there],
                fmt="o-",
                color=COLOURS[column],
                markersize=4,
                capsize=2,
            )
            if place.has_data():
                place.set_xscale("log", base=2)
            level = floor.level(view.context, system)
            if name == "dstsp" and math.isfinite(level):
                place.axhline(level, color="grey", linestyle=":", linewidth=1, label="floor: truth against truth")
                place.legend(fontsize=6, loc="lower left")
            place.set_title(f"{system}, {label}", loc="left")
            place.set_xlabel("T")
    return view.save(figure, "fig3a")


def section(view: View) -> Section:
    lengths = LENGTHS[view.context.scale]
    lines = []
    for system in SYSTEMS:
        for T in lengths:
            point = f"{system}-T{T}"
            lines.append(
                [
                    system,
                    f"{T:,}",
                    spread(measured(view, point, "dstsp")),
                    spread(measured(view, point, "rmse")),
                    str(view.diverged(point)),
                    view.runs(point),
                ]
            )
    head = ["system", "T", "D_stsp^DE", "RMSE(128)", "diverged", "runs"]
    tables = [
        Table(
            "Median ± MAD. The paper shows D_stsp^DE as a curve without numbers; the floor is in its own section.",
            head,
            lines,
        )
    ]
    tables.append(rmse_table(view))
    chosen = {system: search.choice(view.context, f"3a-{system}") for system in SYSTEMS}
    rates = ", ".join(f"{system}: {found['name'] if found else 'search goes on'}" for system, found in chosen.items())
    notes = [
        f"L = 128, T_w = T/2, B T = {TOTAL[view.context.scale]:,}, {UPDATES[view.context.scale]:,} "
        f"updates, κ = 0.9995, "
        "M_r = 4, λ_MAR = 1, λ_1 = 1, λ_2 = 1e-4. The paper names neither updates nor learning "
        "rate. The rate is chosen "
        f"on the validation orbit at the longest T (section about the search) and is the same for every T; {rates}.",
    ]
    pictures = [(draw(view), "Dots: runs; circles: median ± MAD; red crosses: diverged runs, with their number.")]
    return Section(TITLE, notes, pictures, tables, claims(view))


def rmse_table(view: View) -> Table:
    rows_ = []
    for system in SYSTEMS:
        values = [
            v for T in LENGTHS[view.context.scale] for v in measured(view, f"{system}-T{T}", "rmse") if math.isfinite(v)
        ]
        mean = float(np.mean(values)) if values else math.nan
        sem = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else math.nan
        rows_.append([system, f"{mean:.3g} ± {sem:.2g}", PUBLISHED_RMSE[system], str(len(values))])
    return Table("RMSE(128), mean ± SEM over all lengths and runs.", ["system", "here", "published", "runs"], rows_)


def claims(view: View) -> List[Claim]:
    lengths = LENGTHS[view.context.scale]
    found = []
    for system in SYSTEMS:
        points = [f"{system}-T{T}" for T in lengths]
        middle: Dict[str, float] = {point: median(measured(view, point, "dstsp")) for point in points}
        fall = middle[points[-1]] < min(middle[points[0]], middle[points[len(points) // 2]])
        numbers = f"{middle[points[0]]:.3g} at T = {lengths[0]:,}, {middle[points[-1]]:.3g} at T = {lengths[-1]:,}"
        found.append(
            Claim(
                f"D_stsp^DE improves with increasing sequence length ({system}).", view.verdict(points, fall), numbers
            )
        )
        errors = [median(measured(view, point, "rmse")) for point in points]
        flat = errors[len(errors) // 2] < 1.5 * errors[-1]
        found.append(
            Claim(
                f"RMSE(128) already saturates for shorter sequences ({system}).",
                view.verdict(points, flat),
                f"{errors[0]:.3g}, {errors[len(errors) // 2]:.3g} and {errors[-1]:.3g} at the shortest, the middle "
                "and the longest T",
            )
        )
    return found
