"""fig1a.py - Fig. 1A: time of forward and backward over a training, against T and M; and longer, wider and in memory.

Times of deer and shooting are those of whole updates, in 20 parts of a training. Sequential does not depend on the
dynamics, so it is timed on the trained model: on one core of the CPU, which is our best sequential solver.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Dict, List, Optional

from sections import COLOURS, Claim, Section, Table, View, logarithmic, median, panels, spread
from tasks import Context, Json, Task
from training import TRAIN, history, orbit, train

NAME, TITLE = "1a", "Fig. 1A: time of forward and backward"
UNITS = {"full": (4, 16, 64, 128), "quick": (4, 16), "smoke": (4,)}
LENGTHS = {"full": tuple(2**k for k in range(7, 16)), "quick": (128, 1024, 8192), "smoke": (128, 512)}
UPDATES = {"full": 10_000, "quick": 20, "smoke": 4}
WIDE = {"full": ((131_072, 1), (1_000_000, 1), (32_768, 16)), "quick": ((65_536, 1),), "smoke": ((1024, 2),)}  # T, B
SOLVERS = ("shooting", "deer")
PUBLISHED_SPEED_UP = 870  # M = 4, T = 32,768; JAX on an RTX 6000 Blackwell
# Measured earlier with the JAX implementation on an H200, float32 exact, ms at T = 32,768: lax.scan, GTF-DEER.
EARLIER = {4: (728, 2.10), 16: (685, 3.66), 64: (795, 19.9), 128: (787, 94.8)}


def settings(c: Context, units: int, length: int, solver: str) -> Json:
    return {
        "latent_dim": units,
        "hidden_dim": 50,
        "gtf_alpha": 0.15,
        "sequence_length": length,
        "batch_size": 1,
        "kappa": 0.9,
        "start_lr": 1e-3,
        "end_lr": 1e-6,
        "solver": solver,
        "max_iterations": 500,
        "updates": UPDATES[c.scale],
        "log_interval": max(1, UPDATES[c.scale] // 20),
    }


def data(c: Context) -> object:
    longest = max(max(LENGTHS[c.scale]), max(T * B for T, B in WIDE[c.scale]))
    return orbit(c, "lorenz63", TRAIN, longest + 100, 0.05)


def bench(c: Context, run: object, solver: str, length: int, batch: int, device: str) -> Json:
    options: List[object] = [
        "--model",
        run,
        "--data",
        data(c),
        "--solver",
        solver,
        "--length",
        length,
        "--batch",
        batch,
    ]
    options += ["--alpha", 0.15, "--device", device, "--no-check", "--seconds", 1 if c.scale == "full" else 0.02]
    options += ["--threads", 1] if solver == "sequential" else []
    found: Json = json.loads(c.run("bench", "solve", *options, "--json"))["cases"][0]
    return {
        name: found[name] for name in ("seconds_median", "seconds_best", "noise", "iterations", "fallbacks", "bytes")
    }


def work(c: Context, task: Task) -> List[Json]:
    """A training by shooting or deer; with shooting also the sequential solve of its model."""
    (run,) = train(c, task, {"data": data(c), **task.settings})
    found = history(run)
    if task.settings["solver"] == "shooting":
        found["sequential"] = bench(c, run, "sequential", task.settings["sequence_length"], 1, "cpu")
    return [found]


def wide(c: Context, task: Task) -> List[Json]:
    """Lengths and batches beyond the figure, with the memory of a solve."""
    s = task.settings
    (run,) = train(c, task, {"data": data(c), **{name: s[name] for name in s if name != "wide"}})
    T, B = s["wide"]
    answers: Json = {}
    for solver in ("sequential", "shooting", "deer"):
        device = "cpu" if solver == "sequential" else c.device
        answers[solver] = bench(c, run, solver, T, B, device)
    return [answers]


def peer(c: Context, task: Task) -> List[Json]:
    """The JAX implementation, lax.scan and GTF-DEER, measured in the same call."""
    assert c.peer is not None
    names = {"MS": str(task.settings["latent_dim"]), "TS": ",".join(map(str, task.settings["lengths"]))}
    text = c.call(sys.executable, c.peer.resolve() / "bench_peer.py", env={**os.environ, **names})
    rows = re.findall(r"T= *(\d+).*newton= *(\d+) deer= *([\d.]+) ms seq= *([\d.]+) ms", text)
    return [{"rows": [[int(T), int(newton), float(deer), float(scan)] for T, newton, deer, scan in rows]}]


def tasks(c: Context) -> List[Task]:
    found: List[Task] = []
    ends = {LENGTHS[c.scale][0], LENGTHS[c.scale][-1]}
    for units in UNITS[c.scale]:
        for length in LENGTHS[c.scale]:
            for solver in SOLVERS:
                chosen = settings(c, units, length, solver)
                order = 0 if length in ends else 1
                found.append(Task("1a", f"{solver}-M{units}-T{length}", chosen, work, order=order, seed=c.seed))
        for T, B in WIDE[c.scale]:
            chosen = {**settings(c, units, LENGTHS[c.scale][0], "shooting"), "wide": [T, B]}
            found.append(Task("1a", f"wide-M{units}-T{T}-B{B}", chosen, wide, order=2, seed=c.seed))
        chosen = {"latent_dim": units, "lengths": list(LENGTHS[c.scale])}
        other = Task("1a", f"peer-M{units}", chosen, peer, order=0, seed=c.seed)
        if c.peer is not None or c.store.done(other):
            found.append(other)
    return found


def milliseconds(view: View, solver: str, units: int, length: int) -> List[float]:
    """Of an update, over a training; sequential: of a solve."""
    found = view.first(f"{'shooting' if solver == 'sequential' else solver}-M{units}-T{length}")
    if found is None:
        return []
    return [1e3 * found["sequential"]["seconds_median"]] if solver == "sequential" else found["ms_per_update"]


def by_peer(view: View, units: int) -> Dict[int, List[float]]:
    found = view.first(f"peer-M{units}") if f"peer-M{units}" in view.found else None
    return {row[0]: row[1:] for row in found["rows"]} if found else {}


def measured_before(view: View, units: int) -> Dict[int, List[float]]:
    """The earlier values, on the GPU that they were measured on."""
    there = "h200" in view.context.machine.lower() and units in EARLIER
    return {32768: [0.0, EARLIER[units][1], EARLIER[units][0]]} if there else {}


def draw(view: View) -> str:
    scale = view.context.scale
    figure, axes = panels(len(UNITS[scale]))
    for place, units in enumerate(UNITS[scale]):
        for k, solver in enumerate(("sequential", *SOLVERS)):
            times = {T: milliseconds(view, solver, units, T) for T in LENGTHS[scale]}
            lengths = [T for T in times if times[T]]
            middle = [median(times[T]) for T in lengths]
            axes[place].plot(lengths, middle, "o-", markersize=3, color=COLOURS[k], label=solver)
            axes[place].fill_between(
                lengths,
                [min(times[T]) for T in lengths],
                [max(times[T]) for T in lengths],
                color=COLOURS[k],
                alpha=0.2,
                linewidth=0,
            )
        measured = by_peer(view, units)
        earlier = measured or measured_before(view, units)
        for k, name in ((2, "JAX lax.scan"), (1, "JAX GTF-DEER")):
            note = "" if measured else ", earlier, H200"
            if earlier:
                axes[place].plot(
                    list(earlier),
                    [row[k] for row in earlier.values()],
                    "s--",
                    markersize=3,
                    color=COLOURS[3 + k],
                    label=name + note,
                )
        logarithmic(axes[place], lengths=True)
        axes[place].set_title(f"M = {units}", loc="left")
        axes[place].set_xlabel("T")
    axes[0].set_ylabel("ms, median and range")
    axes[0].legend(fontsize=6, frameon=True, framealpha=0.8, edgecolor="none")
    return view.save(figure, "fig1a")


def speed_up(view: View, units: int, length: int) -> Optional[Json]:
    """Ratios at one point: to our sequential core, and to lax.scan measured here or earlier."""
    ours, core = milliseconds(view, "shooting", units, length), milliseconds(view, "sequential", units, length)
    if not ours:
        return None
    measured = by_peer(view, units).get(length)
    known = measured or measured_before(view, units).get(length)
    scan = known[2] if known else None
    source = "JAX lax.scan, same call" if measured else "JAX lax.scan, measured earlier on an H200"
    return {"core": core[0] / median(ours), "scan": scan / median(ours) if scan else None, "source": source}


def section(view: View) -> Section:
    scale = view.context.scale
    rows = []
    for units in UNITS[scale]:
        for length in LENGTHS[scale]:
            times = [spread(milliseconds(view, solver, units, length)) for solver in ("sequential", *SOLVERS)]
            ratio = speed_up(view, units, length)
            cells = [f"{ratio['core']:.3g}", f"{ratio['scan']:.3g}" if ratio["scan"] else ""] if ratio else ["", ""]
            rows.append([f"M = {units}, T = {length:,}", *times, *cells])
    head = [
        "",
        "sequential, one core",
        "shooting",
        "deer, as published",
        "sequential / shooting",
        "lax.scan / shooting",
    ]
    tables = [
        Table(
            "Milliseconds, median ± MAD over a training. lax.scan: JAX on an H200, in the same call with --peer, "
            "else as measured earlier.",
            head,
            rows,
        ),
        wide_table(view),
    ]
    notes = [
        "B = 1, T_w = 0, L = 50, α = 0.15, κ = 0.9, learning rate 1e-3 to 1e-6; the paper names no start and no rate. "
        "Times of shooting and deer include the step of the optimiser. Runs of this figure are timed one at a time.",
    ]
    picture = (draw(view), "Forward and backward over a training, as in the paper's Fig. 1A.")
    return Section(TITLE, notes, [picture], tables, claims(view))


def wide_table(view: View) -> Table:
    rows = []
    for point in (point for point in view.found if point.startswith("wide")):
        found = view.first(point)
        if found is None:
            rows.append([point[5:], "no run yet", "", "", ""])
            continue
        each = [found[solver] for solver in ("sequential", *SOLVERS)]
        cells = [f"{1e3 * case['seconds_median']:.3g} ms, {1e-6 * case['bytes']:.3g} MB" for case in each]
        worst = max(case["fallbacks"] for case in each)
        rows.append([point[5:].replace("-", ", "), *cells, str(worst)])
    return Table(
        "Longer sequences and a batch of 16, with the memory of a solve.",
        ["", "sequential", "shooting", "deer", "fell back"],
        rows,
    )


def claims(view: View) -> List[Claim]:
    scale = view.context.scale
    longest, shortest = LENGTHS[scale][-1], LENGTHS[scale][0]
    ratio = speed_up(view, UNITS[scale][0], longest)
    if ratio is None:
        return []
    best = ratio["scan"]
    steepness = {u: [milliseconds(view, "shooting", u, T) for T in (shortest, longest)] for u in UNITS[scale]}
    grown = {u: median(b) / median(a) for u, (a, b) in steepness.items() if a and b}
    points = [f"shooting-M{u}-T{T}" for u in UNITS[scale] for T in (shortest, longest)]
    text = ", ".join(f"{value:.3g} times at M = {u}" for u, value in grown.items())
    beaten = [
        u
        for u in UNITS[scale]
        if milliseconds(view, "shooting", u, longest)
        and median(milliseconds(view, "shooting", u, longest)) < milliseconds(view, "sequential", u, longest)[0]
    ]
    return [
        Claim(
            f"A speed-up of up to {PUBLISHED_SPEED_UP} over sequential evaluation at M = 4, T = 32,768.",
            view.verdict(points, best >= PUBLISHED_SPEED_UP) if best else None,
            (f"{best:.3g} by shooting against {ratio['source']}, " if best else "by shooting ")
            + f"{ratio['core']:.3g} against our own best sequential core",
        ),
        Claim(
            "Sublinear scaling with sequence length.",
            view.verdict(points, all(g < longest / shortest for g in grown.values())),
            f"from T = {shortest} to {longest:,}, {longest // shortest} times as long: {text}",
        ),
        Claim(
            "For all settings GTF-DEER outperforms naive sequential training in raw runtime.",
            view.verdict(points, len(beaten) == len(UNITS[scale])),
            f"against one core of the CPU at T = {longest:,}: for M = {', '.join(map(str, beaten)) or 'none'}",
        ),
    ]
