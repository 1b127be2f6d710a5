"""search.py - a small search on validation data for every model of Fig. 3B and for both systems of Fig. 3A.

Each candidate is trained for a tenth of the updates, twice, and judged by D_stsp^DE on the validation orbit. The best
median is written down once, as a result of its own (choice-MODEL), and only then Fig. 3B trains with it and looks at
test data. The first candidate of each model of Fig. 3B is the paper's setting.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Tuple

from sections import Claim, Section, Table, View, median, spread
from tasks import Context, Json, Task
from training import VALIDATION, embedding, evaluate, history, orbit, rows, train, training_orbit

NAME, TITLE = "search", "The search on validation data"
RUNS = {"full": 2, "quick": 1, "smoke": 1}
UPDATES = {"full": 15_000, "quick": 100, "smoke": 2}
LENGTH = {"full": (81_920, 16_384), "quick": (2_048, 512), "smoke": (256, 64)}  # T, T_w
REGULARISED = {"regularised_units": 4, "MAR_lambda": 1, "readout_lambda": 1, "singular_lambda": 1e-4}
RATES = (5e-5, 2e-4, 1e-3)
FORCED = {"latent_dim": 10, "hidden_dim": 128, "gtf_alpha": 0.08, "kappa": 0.9995, **REGULARISED}
MODELS: Dict[str, Json] = {
    "shplrnn": FORCED,
    "rank7": {**FORCED, "rank": 7},
    "rank6": {**FORCED, "rank": 6},
    "lssm": {"model": "lssm", "latent_dim": 10, "hidden_dim": 128, "regularised_units": 4},
    "mamba2_7k": {"model": "mamba2", "latent_dim": 16, "hidden_dim": 128},
    "mamba2_17k": {"model": "mamba2", "latent_dim": 32, "hidden_dim": 128},
}
SYSTEMS = {"3a-lorenz96": "lorenz96", "3a-neuron": "neuron"}  # Fig. 3A: the rate alone, at the longest T


def candidates(model: str) -> List[Tuple[str, Json]]:
    """What differs between candidates, by name; the paper's setting first."""
    found: List[Tuple[str, Json]] = []
    if model in SYSTEMS:
        return [(f"rate {rate:g}", {"start_lr": rate}) for rate in (2e-4, 5e-5, 1e-3)]
    if model == "lssm":
        for start, chosen in (("kappa 0.9995", {"kappa": 0.9995}), ("standard", {"initialisation": "standard"})):
            for rate in (*RATES, 5e-3):
                for weight in (1.0, 0.01, 0.0):
                    name = f"{start}, rate {rate:g}, λ_MAR {weight:g}"
                    found.append((name, {**chosen, "start_lr": rate, "MAR_lambda": weight}))
    elif model.startswith("mamba2"):
        found = [(f"rate {rate:g}", {"start_lr": rate}) for rate in (*RATES, 5e-3)]
    else:
        for weight in (1.0, 0.1):
            found += [(f"rate {rate:g}, λ_MAR {weight:g}", {"start_lr": rate, "MAR_lambda": weight}) for rate in RATES]
    return found


def limited(c: Context, model: str) -> List[Tuple[str, Json]]:
    """Small scales have two candidates of each model."""
    every = candidates(model)
    return every if c.scale == "full" else [every[0], every[-2]]


def work(c: Context, task: Task) -> List[Json]:
    system = "neuron" if "neuron" in task.point else "lorenz96"
    runs = train(c, task, {"data": training_orbit(c, system), **task.settings})
    found = evaluate(c, runs, orbit(c, system, VALIDATION, rows(c, system)), embedding(c, system), rmse=False)
    return [{**measures, "loss": history(run)["loss"][-1]} for measures, run in zip(found, runs)]


def common(c: Context, model: str) -> Json:
    """The settings that all candidates share."""
    if model in SYSTEMS:
        import fig3a

        return {**fig3a.settings(c, SYSTEMS[model], fig3a.LENGTHS[c.scale][-1]), "updates": UPDATES[c.scale]}
    T, warmup = LENGTH[c.scale]
    sizes = {"sequence_length": T, "warmup": warmup, "batch_size": 1, "end_lr": 1e-6, "updates": UPDATES[c.scale]}
    return {**sizes, **MODELS[model]}


def trials(c: Context, model: str) -> List[Tuple[str, Task]]:
    found = []
    for k, (name, chosen) in enumerate(limited(c, model)):
        settings = {**common(c, model), **chosen}
        found.append((name, Task("search", f"{model}-{k:02d}", settings, work, RUNS[c.scale], 1, 0, c.seed)))
    return found


def score(c: Context, task: Task) -> float:
    """Median on the validation orbit; a diverged run is infinite."""
    results = [c.store.find(task, number) for number in task.numbers()]
    return median([math.inf if r["measures"]["diverged"] else float(r["measures"]["dstsp"]) for r in results if r])


def decide(model: str) -> Callable[[Context, Task], List[Json]]:
    def work_of(c: Context, task: Task) -> List[Json]:
        every = limited(c, model)
        scores = [score(c, trial) for _, trial in trials(c, model)]
        best = min(range(len(scores)), key=lambda k: scores[k])
        return [{"name": every[best][0], "settings": every[best][1], "score": scores[best], "scores": scores}]

    return work_of


def all_done(model: str) -> Callable[[Context], bool]:
    return lambda c: all(c.store.done(trial) for _, trial in trials(c, model))


def choice_task(c: Context, model: str) -> Task:
    settings = {"candidates": [name for name, _ in limited(c, model)]}
    return Task("search", f"choice-{model}", settings, decide(model), 1, 1, 0, c.seed, ready=all_done(model))


def choice(c: Context, model: str) -> Any:
    """What was chosen, or None as long as the search goes on."""
    found = c.store.find(choice_task(c, model), 1)
    return found["measures"] if found else None


def decided(model: str) -> Callable[[Context], bool]:
    return lambda c: choice(c, model) is not None


def tasks(c: Context) -> List[Task]:
    found = []
    for model in (*SYSTEMS, *MODELS):
        found += [trial for _, trial in trials(c, model)]
        found.append(choice_task(c, model))
    return found


def section(view: View) -> Section:
    c = view.context
    lines = []
    for model in (*MODELS, *SYSTEMS):
        chosen = choice(c, model)
        for name, trial in trials(c, model):
            lines.append([model, *row(view, name, trial), "chosen" if chosen and chosen["name"] == name else ""])
    head = ["model", "candidate", "D_stsp^DE, validation orbit", "loss", "diverged", "runs", ""]
    notes = [
        f"Every model of Fig. 3B has its learning rate, λ_MAR and, for the LSSM, its start from this search: "
        f"{UPDATES[c.scale]:,} updates, D_stsp^DE on the validation orbit (seed {VALIDATION}), "
        f"lowest median. The first "
        "candidate of each model is the paper's setting. The choice is written down before test "
        "data are used, and is not "
        "changed afterwards. A Mamba-2 has one start and no regulariser.",
    ]
    return Section(TITLE, notes, [], [Table("Candidates, median ± MAD.", head, lines)], claims(view))


def row(view: View, name: str, trial: Task) -> List[str]:
    found = view.found.get(trial.point, [])
    values = [math.inf if r["measures"]["diverged"] else float(r["measures"]["dstsp"]) for r in found]
    losses = [float(r["measures"]["loss"]) for r in found]
    return [name, spread(values), spread(losses), str(view.diverged(trial.point)), view.runs(trial.point)]


def claims(view: View) -> List[Claim]:
    c = view.context
    same: Dict[float, float] = {}
    for name, trial in trials(c, "lssm"):
        if name.startswith("kappa") and f"rate {RATES[0]:g}," in name and c.store.done(trial):
            same[float(trial.settings["MAR_lambda"])] = score(c, trial)
    if len(same) < 2:
        return []
    finite = [value for value in same.values() if math.isfinite(value)]
    alike = len(finite) == len(same) and max(finite) < 1.5 * min(finite)
    numbers = ", ".join(f"{value:.3g} at λ_MAR {weight:g}" for weight, value in same.items())
    # Two runs of a tenth of the training: an indication, below the five runs that a conclusion needs.
    return [
        Claim(
            "For the LSSM, λ_MAR from 1e-4 to 1 produced similar results.",
            None,
            f"{numbers} ({'alike' if alike else 'not alike'})",
        )
    ]
