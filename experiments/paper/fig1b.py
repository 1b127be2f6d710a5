"""fig1b.py - Fig. 1B: Newton iterations of the forward pass against the strength of forcing, for three starts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
from sections import COLOURS, Claim, Section, Table, View, logarithmic, median, panels, spread
from tasks import Context, Json, Task
from training import orbit, train, training_orbit

NAME, TITLE = "1b", "Fig. 1B: Newton iterations against the strength of forcing"
CAP = 500
STARTS = ("pinv", "zero", "normal")
UNITS = {"full": (2, 3, 5, 16), "quick": (3, 5), "smoke": (3, 5)}  # M; N is 3
MODELS = {"full": 5, "quick": 2, "smoke": 1}
STEPS = {"full": 20, "quick": 10, "smoke": 2}  # intervals of alpha in [0, 1]
LENGTH = {"full": 10_000, "quick": 1_000, "smoke": 60}  # T of the solve; the paper does not name it
UPDATES = {"full": 10_000, "quick": 400, "smoke": 4}


def package(command: Path) -> Any:
    """The Python package of the tree, which needs NumPy and the library: ANTLER_LIBRARY, or the one of the command."""
    root = Path(__file__).resolve().parents[2]
    near = [*command.parent.glob("libantler.so*"), *(command.parent.parent / "lib").glob("libantler.so*")]
    if near:
        os.environ.setdefault("ANTLER_LIBRARY", str(near[0]))
    if str(root / "python") not in sys.path:
        sys.path.insert(0, str(root / "python"))
    import antler

    return antler


def iterations(antler: Any, model: Any, x: Any, **settings: Any) -> int:
    """Iterations of deer; the cap where it does not converge or is not finite."""
    failures = antler.exceptions.NotConvergedError, antler.exceptions.DivergedError, antler.exceptions.NonFiniteError
    fixed = {"solver": "deer", "precision": "float", "teacher": "stop", "max_iterations": CAP, "tolerance": 1e-4}
    try:
        found = antler.solve(model, x, fallback=False, **fixed, **settings)
    except failures:
        return CAP
    return int(found.iterations) if found.converged else CAP


def work(c: Context, task: Task) -> List[Json]:
    antler = package(c.antler)
    settings = {key: value for key, value in task.settings.items() if key not in ("solve_length", "alphas")}
    runs = train(c, task, {"data": training_orbit(c, "lorenz63"), **settings})
    length = task.settings["solve_length"]
    data = orbit(c, "lorenz63", 2001, max(length + 1, 2_000))
    answers: List[Json] = []
    for run in runs:
        model = antler.Model.load(str(run / "model.npz"))
        x = np.asarray(np.load(data)["x_000"], dtype=float)[: length + 1]
        found: Dict[str, List[int]] = {}
        for start in STARTS:
            found[start] = [
                iterations(antler, model, x, gtf_alpha=alpha, start=start, device=c.device)
                for alpha in task.settings["alphas"]
            ]
        answers.append({"iterations": found})
    return answers


def tasks(c: Context) -> List[Task]:
    alphas = [round(k / STEPS[c.scale], 4) for k in range(STEPS[c.scale] + 1)]
    settings = {
        "hidden_dim": 50,
        "gtf_alpha": 0.15,
        "sequence_length": 200,
        "batch_size": 16,
        "kappa": 0.9,
        "start_lr": 1e-3,
        "end_lr": 1e-6,
        "updates": UPDATES[c.scale],
        "solve_length": LENGTH[c.scale],
        "alphas": alphas,
    }
    runs = MODELS[c.scale]
    return [Task("1b", f"M{m}", {**settings, "latent_dim": m}, work, runs, 1, 0, c.seed) for m in UNITS[c.scale]]


def table_of(view: View, point: str, start: str) -> "np.ndarray[Any, Any]":
    """(models, alphas)"""
    return np.array([result["measures"]["iterations"][start] for result in view.found[point]], dtype=float)


def section(view: View) -> Section:
    points = [point for point in view.found if view.found[point]]
    figure, axes = panels(len(view.found))
    rows, claims = [], []
    for place, point in enumerate(view.found):
        axes[place].set_title(f"M = {point[1:]}, N = 3 ({view.runs(point)} models)", loc="left")
        axes[place].set_xlabel("α")
        if point not in points:
            continue
        alphas = view.found[point][0]["settings"]["alphas"]
        for k, start in enumerate(STARTS):
            counts = table_of(view, point, start)
            axes[place].plot(alphas, np.median(counts, axis=0), "o-", markersize=2, color=COLOURS[k], label=start)
            at = [int(np.argmin([abs(alpha - want) for alpha in alphas])) for want in (0.0, 0.1, 0.5, 1.0)]
            rows.append([f"M = {point[1:]}, {start}", *[spread(list(counts[:, i])) for i in at], view.runs(point)])
        logarithmic(axes[place])
        claims += claims_of(view, point)
    axes[0].set_ylabel("Newton iterations, median")
    if points:
        axes[0].legend(frameon=True, framealpha=0.8, edgecolor="none")
    picture = (view.save(figure, "fig1b"), f"Iterations to convergence, at most {CAP}; medians over models.")
    notes = [
        f"Models of L = 50 trained on the full Lorenz-63 system with α = 0.15. T = "
        f"{LENGTH[view.context.scale]:,} for the "
        "solve, tolerance 1e-4, float; the paper names neither. A solve that is not finite counts as the cap.",
    ]
    head = ["", "α = 0", "α = 0.1", "α = 0.5", "α = 1", "models"]
    return Section(TITLE, notes, [picture], [Table("Newton iterations, median ± MAD.", head, rows)], claims)


def claims_of(view: View, point: str) -> List[Claim]:
    latent = int(point[1:])
    pinv, zero = table_of(view, point, "pinv"), table_of(view, point, "zero")
    half = pinv.shape[1] // 2
    weak, strong = median(list(pinv[:, 0])), median(list(pinv[:, -1]))
    found = [
        Claim(
            f"If α is too small, a large number of iterations is needed; increasing α leads to "
            f"convergence (M = {latent}).",
            view.verdict([point], weak > 2 * strong),
            f"{weak:.0f} at α = 0, {strong:.0f} at α = 1",
        )
    ]
    if latent <= 3:
        found.append(
            Claim(
                f"For sufficiently large α the forward pass converges in just 2 iterations for M ≤ N (M = {latent}).",
                view.verdict([point], strong <= 2),
                f"{strong:.0f} at α = 1",
            )
        )
    ours, theirs = float(np.median(pinv[:, : half + 1])), float(np.median(zero[:, : half + 1]))
    text = (
        "P-inv drastically reduces the number of iterations for M ≤ N"
        if latent <= 3
        else "The benefit of P-inv vanishes for M > N"
    )
    holds = ours < 0.8 * theirs if latent <= 3 else ours > 0.8 * theirs
    found.append(
        Claim(
            f"{text} (M = {latent}).",
            view.verdict([point], holds),
            f"median over α ≤ 0.5: {ours:.3g} from P-inv, {theirs:.3g} from zero",
        )
    )
    return found
