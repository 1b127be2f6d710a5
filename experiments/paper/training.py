"""training.py - data, trainings, evaluations and traces: what the figures have in common."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any, Dict, List, Optional

import numpy as np
from tasks import Context, Json, Task, TimeIsOver, cores

TRAIN, VALIDATION, TEST, OTHER = 1, 1001, 2001, 3001  # seeds of orbits; nothing is chosen on TEST
LENGTHS = {"lorenz63": 100_000, "lorenz96": 100_000, "neuron": 160_000}  # rows, spec 7
SHORT = {"full": 1, "quick": 10, "smoke": 80}  # orbits of smaller scales have this part of the rows
SAMPLES = {"full": 1_000_000, "quick": 2_000, "smoke": 200}  # of D_stsp
EMBEDDINGS = {"lorenz96": (3, 4096), "neuron": (7, 1024), "lorenz63": (3, 10)}  # m, tau; spec 8


def rows(c: Context, system: str) -> int:
    return LENGTHS[system] // SHORT[c.scale]


def embedding(c: Context, system: str) -> str:
    """m,tau; delays are shortened with the orbits."""
    m, tau = EMBEDDINGS[system]
    return f"{m},{tau if system == 'lorenz63' else max(1, tau // SHORT[c.scale])}"


def orbit(c: Context, system: str, seed: int, length: int, noise: float = 0.0, t0: Optional[float] = None) -> Path:
    """An orbit as a file, made once."""
    mark = f"{system}-{seed}-{length}-{noise:g}" + ("" if t0 is None else f"-t{t0:g}")
    path = c.work / "data" / f"{mark}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        options: List[object] = ["--seed", seed, "--length", length, "--out", path, "--quiet"]
        options += ["--noise", noise] if noise > 0 else []
        options += [] if t0 is None else ["--t0", t0]
        c.run("simulate", system, *options)
    return path


def training_orbit(c: Context, system: str, noise: float = 0.05, length: Optional[int] = None) -> Path:
    return orbit(c, system, TRAIN, length or rows(c, system), noise)


def folder_of(c: Context, task: Task) -> Path:
    return c.work / task.figure / f"{task.point}-{task.first}-{task.mark()}"


def read_log(run: Path) -> Dict[str, "np.ndarray[Any, Any]"]:
    """Columns of log.csv; what is empty is NaN."""
    with open(run / "log.csv", newline="") as file:
        found = list(csv.DictReader(file))
    names = [name for name in found[0] if name != "solver"]
    return {name: np.array([float(row[name] or "nan") for row in found]) for name in names}


def finished(run: Path, updates: int) -> bool:
    if (run / "diverged.txt").exists():
        return True
    return (run / "log.csv").exists() and bool(read_log(run)["update"][-1] >= updates)


def device_of(c: Context, settings: Json) -> str:
    """The GPU where there is one; it has no diagonal adjoint and no scheduled sampling."""
    return "cpu" if settings.get("adjoint") == "diagonal" or settings.get("sampling_end", 0) > 0 else c.device


def train(c: Context, task: Task, settings: Json) -> List[Path]:
    """Train the runs of a task side by side, or continue; the folders of the runs. Diverged runs count as finished."""
    folder = folder_of(c, task)
    name = folder / "Results" / task.figure / task.point
    # Groups of runs differ by their seed, which is the number of their first run; --seed moves it by thousands.
    chosen = {
        "experiment": task.figure,
        "name": task.point,
        "runs": task.runs,
        "validation": 0,
        "device": device_of(c, settings),
        "threads": max(1, cores() - 2) if c.gpu and device_of(c, settings) == "cpu" else 0,
        "seed": 1000 * (c.seed - 1) + task.first,
        "log_interval": max(1, settings["updates"] // 50),
        "checkpoint_interval": max(1, settings["updates"] // 20),
        **settings,
    }
    runs = [name / f"{number:03d}" for number in range(1, task.runs + 1)]
    if not all(finished(run, settings["updates"]) for run in runs):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "run.yaml").write_text("".join(f"{key}: {yaml(value)}\n" for key, value in chosen.items()))
        if (runs[0] / "config.yaml").exists():
            c.run("train", "--resume", name, "--quiet", cwd=folder, accept=(0, 1))
        else:
            c.run("train", "run.yaml", "--quiet", cwd=folder, accept=(0, 1))
        if not all(finished(run, settings["updates"]) for run in runs):
            raise TimeIsOver
    return runs


def yaml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) and value[:1].isdigit() else str(value)


def history(run: Path) -> Json:
    """Curves of a training: update, loss and iterations of 50 rows, and the milliseconds of an update in between."""
    log = read_log(run)
    steps, seconds = np.diff(log["update"]), np.diff(log["seconds"])
    times = 1e3 * np.maximum(seconds, 5e-4) / np.maximum(steps, 1)  # the clock of the log has milliseconds
    return {
        "update": log["update"].astype(int).tolist(),
        "loss": log["loss"].tolist(),
        "iterations": log["iterations"].tolist(),
        "ms_per_update": times[len(times) // 10 :].tolist(),
        "fallbacks": int(log["fallbacks"][-1]),
        "training_seconds": float(log["seconds"][-1]),
        "training_diverged": (run / "diverged.txt").exists(),
        "updates": int(log["update"][-1]),
    }


def evaluate(c: Context, runs: List[Path], data: Path, embed: str = "", rmse: bool = True) -> List[Json]:
    """D_stsp (with `embed` D_stsp^DE alone), D_H and RMSE(128) of each run; a diverged one has infinite values.

    What was not measured is left out."""
    options: List[object] = ["--samples", SAMPLES[c.scale], "--no-lyapunov", "--no-verdict", "--no-files"]
    options += ["--embed", embed, "--only-embedded"] if embed else []
    options += [] if rmse else ["--no-rmse"]
    options += ["--windows", 10] if c.scale != "full" else []
    there = [run for run in runs if (run / "model.npz").exists()]
    answers: Dict[str, Json] = {}
    if there:
        text = c.run("evaluate", *there, "--data", data, *options, "--json", "--quiet", accept=(0, 1))
        found = json.loads(text)
        listed = found["runs"] if "runs" in found else [found]
        answers = {str(run): answer for run, answer in zip(there, listed)}
    return [measures_of(answers.get(str(run))) for run in runs]


def measures_of(answer: Optional[Json]) -> Json:
    if answer is None:
        return {"dstsp": math.inf, "hellinger": math.inf, "rmse": math.inf, "diverged": True}
    summary = answer["summary"]
    bad = bool(answer["diverged"] or answer["free_run"]["left_range"])
    value = summary.get("dstsp_embedded", summary.get("dstsp"))
    found = {"dstsp": value, "hellinger": summary.get("hellinger"), "rmse": summary.get("rmse")}
    measured = {name: part for name, part in found.items() if part is not None}
    return {**{name: math.inf if part == "inf" else part for name, part in measured.items()}, "diverged": bad}


def envelope(values: "np.ndarray[Any, Any]", blocks: int = 250) -> Json:
    """Least and largest value of each of `blocks` parts: a long trace that fits into a small file."""
    parts = np.array_split(values, min(blocks, len(values)))
    low, high = [float(f"{part.min():.3g}") for part in parts], [float(f"{part.max():.3g}") for part in parts]
    return {"low": low, "high": high, "rows": len(values)}


def generate(c: Context, run: Path, data: Path, steps: int) -> "tuple[Any, Any]":
    """A free run (rows, N) in units of the model and its latent states (rows, M); up to where it diverged."""
    out, latent = run / "free.npy", run / "latent.npy"
    options = ["--steps", steps, "--standardised", "--out", out, "--latent", latent, "--quiet"]
    c.run("generate", run / "model.npz", "--data", data, *options, accept=(0, 1))
    found = np.load(out), np.load(latent)
    out.unlink()
    latent.unlink()
    return found


def forcing_fit(values: "np.ndarray[Any, Any]", period: float) -> "tuple[float, float]":
    """Correlation of a series with the sine of that period whose phase fits best, and the phase."""
    angle = 2 * np.pi * np.arange(len(values)) / period
    basis = np.stack([np.sin(angle), np.cos(angle), np.ones(len(values))], axis=1)
    weights = np.linalg.lstsq(basis, values, rcond=None)[0]
    spread = values.std()
    share = float((basis @ weights).std() / spread) if spread > 0 else 0.0
    return share, float(np.arctan2(weights[1], weights[0]))
