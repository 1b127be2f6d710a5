"""scheduled.py - beyond the paper: an LSSM under scheduled sampling, solved in parallel by Newton's method.

With scheduled sampling the input of a step is the model's own prediction with probability p, else the data. That makes
the recurrence nonlinear, and the paper says that it can then no longer be scanned. Each Newton iteration can:

    z_t = A z_{t-1} + U (m_t B phi(V z_{t-1} + b) + (1 - m_t) x_{t-1}) + h,    m_t = 1 with probability p
    J_t = diag(A) + m_t U B diag(phi') V

Here the forward pass of a trained LSSM is solved so, in NumPy, and compared with plain steps. Training by it is not
built into the library.
"""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np
import search
from pieces import Context, Json, Piece
from sections import COLOURS, Section, Table, View, logarithmic, new_figure, spread
from training import TEST, orbit, train, training_orbit

NAME, TITLE = "scheduled", "Beyond the paper: scheduled sampling solved in parallel"
LENGTH = {"full": 32_768, "quick": 2_048, "smoke": 64}
SHARES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)  # p
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


def work(c: Context, piece: Piece) -> List[Json]:
    s = {name: value for name, value in piece.settings.items() if name != "solve_length"}
    runs = train(c, piece, {"data": training_orbit(c, "lorenz96"), **s})
    length = piece.settings["solve_length"]
    x = np.asarray(np.load(orbit(c, "lorenz96", TEST, max(2_000, length)))["x_000"], dtype=float)[:length]
    answers = []
    for number, run in zip(piece.numbers(), runs):
        with np.load(run / "model.npz") as file:
            p = {name: np.asarray(file[name], dtype=float) for name in ("A", "U", "B", "V", "b", "h")}
        found: Json = {"p": list(SHARES), "iterations": [], "difference": []}
        for share in SHARES:
            m = np.where(np.random.default_rng(number).random(length) < share, 1.0, 0.0)
            z, iterations = newton(p, x, m)
            exact = plain(p, x, m)
            found["iterations"].append(iterations)
            found["difference"].append(float(np.abs(z - exact).max() / np.abs(exact).max()))
        answers.append(found)
    return answers


def pieces(c: Context) -> List[Piece]:
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
    return [Piece("scheduled", "lssm", chosen, work, RUNS[c.scale], 1, 3, c.seed)]


def section(view: View) -> Section:
    results = [result["measures"] for result in view.found["lssm"]]
    figure, ((axes,),) = new_figure(1, 1, 4.0, 2.6)
    lines = []
    for k, share in enumerate(SHARES):
        steps = [float(m["iterations"][k]) for m in results]
        apart = [float(m["difference"][k]) for m in results]
        axes.plot([share] * len(steps), steps, ".", color=COLOURS[0])
        lines.append([f"{share:g}", spread(steps), spread(apart), view.runs("lssm")])
    logarithmic(axes)
    axes.set_xlabel("p, share of steps that read the model's own prediction")
    axes.set_ylabel("Newton iterations")
    head = ["p", "iterations", "largest relative difference from plain steps", "models"]
    notes = [
        f"A trained LSSM on lorenz96, T = {LENGTH[view.context.scale]:,}, double, at most {CAP} "
        f"iterations. p = 0 is the "
        "paper's linear case, p = 1 a free run. Only the forward pass is solved; training by it is not built."
    ]
    return Section(
        TITLE,
        notes,
        [(view.save(figure, "scheduled"), "Iterations against the share p.")],
        [Table("Median ± MAD.", head, lines)],
    )
