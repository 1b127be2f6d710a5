"""scheduled.py - beyond the paper: an LSSM under scheduled sampling, solved in parallel by Newton's method.

With scheduled sampling the input of a step is the model's own prediction with probability p, else the data. That makes
the recurrence nonlinear, and the paper says that it can then no longer be scanned. Each Newton iteration can:

    z_t = A z_{t-1} + U (m_t B phi(V z_{t-1} + b) + (1 - m_t) x_{t-1}) + h,    m_t = 1 with probability p
    J_t = diag(A) + m_t U B diag(phi') V

LSSMs are trained so (`solver: deer`), with p rising from 0 to several values, and measured as in Fig. 3B. Then a long
window of each is solved at every p once more in NumPy, by Newton's method and in plain steps.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, List, Tuple

import numpy as np
import search
from sections import COLOURS, Section, Table, View, logarithmic, new_figure, spread
from tasks import Context, Json, Task
from training import TEST, embedding, evaluate, history, orbit, read_log, rows, train, training_orbit

NAME, TITLE = "scheduled", "Beyond the paper: scheduled sampling solved in parallel"
LENGTH = {"full": 32_768, "quick": 2_048, "smoke": 64}
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # p of the long windows
ENDS = (0.0, 0.25, 0.5, 0.75)  # p of the last update of a training
RUNS = {"full": 5, "quick": 1, "smoke": 1}
UPDATES = {"full": 15_000, "quick": 200, "smoke": 3}
CAP, TOLERANCE = 500, 1e-8
Array = Any


def scan(J: Array, r: Array) -> Array:
    """dz_t = J_t dz_{t-1} + r_t for all t, dz_0 = 0, in log2 T rounds of products of neighbours."""
    J, r, step = J.copy(), r.copy(), 1
    while step < len(r):
        r[step:] = r[step:] + np.einsum("tij,tj->ti", J[step:], r[:-step])
        J[step:] = J[step:] @ J[:-step]
        step *= 2
    return r


def model_step(p: Any, z: Array, x: Array, m: Array) -> Tuple[Array, Array]:
    """F and its Jacobian at states z (T, M), with data x (T, N) and draws m (T)."""
    hidden = z @ p["V"].T + p["b"]
    own = np.maximum(hidden, 0) @ p["B"].T
    F = p["A"] * z + (m[:, None] * own + (1 - m[:, None]) * x) @ p["U"].T + p["h"]
    UB = p["U"] @ p["B"]
    J = np.einsum("il,tl,lj->tij", UB, m[:, None] * (hidden > 0), p["V"], optimize=True)
    J += np.diag(p["A"])
    return F, J


def newton(p: Any, x: Array, m: Array) -> Tuple[Array, int]:
    """z_1 ... z_T from 0; the number of iterations, CAP without success."""
    z = np.zeros((len(x), len(p["h"])))
    for iteration in range(1, CAP + 1):
        before = np.vstack([np.zeros(z.shape[1]), z[:-1]])
        with np.errstate(all="ignore"):
            F, J = model_step(p, before, x, m)
            change = scan(J, F - z)
            z = z + change
        if not np.all(np.isfinite(z)):
            return z, CAP
        if np.abs(change).max() < TOLERANCE * max(1.0, np.abs(z).max()):
            return z, iteration
    return z, CAP


def plain(p: Any, x: Array, m: Array) -> Array:
    z, found = np.zeros((1, len(p["h"]))), np.empty((len(x), len(p["h"])))
    with np.errstate(all="ignore"):
        for t in range(len(x)):
            z, _ = model_step(p, z, x[t : t + 1], m[t : t + 1])
            found[t] = z[0]
    return found


def iterations_of(run: Path, x: Array, number: int) -> Json:
    """Newton iterations and the difference from plain steps on one long window, at every share."""
    with np.load(run / "model.npz") as file:
        p = {name: np.asarray(file[name], dtype=float) for name in ("A", "U", "B", "V", "b", "h")}
    found: Json = {"p": list(SHARES), "newton": [], "difference": []}
    for share in SHARES:
        m = np.where(np.random.default_rng(number).random(len(x)) < share, 1.0, 0.0)
        z, iterations = newton(p, x, m)
        exact = plain(p, x, m)
        found["newton"].append(iterations)
        with np.errstate(all="ignore"):
            found["difference"].append(float(np.abs(z - exact).max() / np.abs(exact).max()))
    return found


def agreement(run: Path) -> Json:
    """The largest differences of states and gradient from plain steps in training, where it was checked."""
    log = read_log(run)
    names = ("states_agree", "gradient_agrees")
    return {name: float(np.nanmax(log[name])) for name in names if np.isfinite(log[name]).any()}


def work(c: Context, task: Task) -> List[Json]:
    s = {name: value for name, value in task.settings.items() if name != "solve_length"}
    runs = train(c, task, {"data": training_orbit(c, "lorenz96"), **s})
    test = orbit(c, "lorenz96", TEST, rows(c, "lorenz96"))
    measured = evaluate(c, runs, test, embedding(c, "lorenz96"))
    length = task.settings["solve_length"]
    x = np.asarray(np.load(orbit(c, "lorenz96", TEST, max(2_000, length)))["x_000"], dtype=float)[:length]
    return [
        {**measures, **history(run), **agreement(run), **iterations_of(run, x, number)}
        for number, run, measures in zip(task.numbers(), runs, measured)
    ]


def point(end: float) -> str:
    return f"lssm-{100 * end:.0f}"


def tasks(c: Context) -> List[Task]:
    chosen = {
        **search.MODELS["lssm"],
        "initialisation": "standard",
        "start_lr": 1e-3,
        "end_lr": 1e-6,
        "batch_size": 16,
        "sequence_length": 200,
        "updates": UPDATES[c.scale],
        "solve_length": LENGTH[c.scale],
    }
    found = []
    for end in ENDS:
        sampled = {"sampling_end": end, "solver": "deer", "check_interval": max(1, UPDATES[c.scale] // 10)}
        settings = {**chosen, **(sampled if end > 0 else {})}
        found.append(Task("scheduled", point(end), settings, work, RUNS[c.scale], 1, 3, c.seed))
    return found


def section(view: View) -> Section:
    figure, ((axes,),) = new_figure(1, 1, 4.0, 2.6)
    lines, solved = [], []
    for j, end in enumerate(ENDS):
        results = [result["measures"] for result in view.found.get(point(end), [])]
        for k, share in enumerate(SHARES):
            steps = [float(m["newton"][k]) for m in results]
            label = f"trained with p to {end:g}" if k == 0 else None
            axes.plot([share + 0.008 * j] * len(steps), steps, ".", color=COLOURS[j], label=label)
        lines.append(
            [
                f"{end:g}",
                spread([float(m["dstsp"]) for m in results]),
                spread([float(m["rmse"]) for m in results if "rmse" in m]),
                spread([float(m["iterations"][-1]) for m in results]) if end > 0 else "scan",
                spread([float(m["gradient_agrees"]) for m in results if "gradient_agrees" in m]) if end > 0 else "",
                spread([float(np.median(m["ms_per_update"])) for m in results]),
                view.runs(point(end)),
            ]
        )
        most = [float(max(m["newton"])) for m in results]
        apart = [max([float(d) for d in m["difference"] if np.isfinite(float(d))], default=math.inf) for m in results]
        solved.append([f"{end:g}", spread(most), spread(apart), view.runs(point(end))])
    logarithmic(axes)
    axes.legend(fontsize=6)
    axes.set_xlabel("p, share of steps that read the model's own prediction")
    axes.set_ylabel("Newton iterations")
    notes = [
        f"LSSMs on lorenz96, M = 10, L = 128, T = 200, B = 16, float, {UPDATES[view.context.scale]:,} updates; p rises "
        "on a line from 0. Without sampling the LSSM is solved by one scan, with it by Newton's method on the CPU.",
        f"The second table and the figure: T = {LENGTH[view.context.scale]:,}, double, at most {CAP} iterations, in "
        "NumPy. p = 0 is the paper's linear case, p = 1 a free run.",
    ]
    head = ["p at the end", "D_stsp^DE", "RMSE(128)", "iterations", "gradient differs", "ms per update", "models"]
    more = ["p at the end", "most iterations of any p", "largest relative difference from plain steps", "models"]
    return Section(
        TITLE,
        notes,
        [(view.save(figure, "scheduled"), "Iterations against the share p on one long window.")],
        [Table("Training, median ± MAD.", head, lines), Table("A long window, median ± MAD.", more, solved)],
    )
