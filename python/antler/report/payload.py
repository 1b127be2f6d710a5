"""The numbers of a report, thinned so that the page stays small: what page.js draws.

    {"truths": [orbit, ...], "runs": [run, ...], "varying": [setting, ...], "labels": {measure: HTML},
     "better": {measure: -1 for smaller, 1 for larger, 0}, "best": number of the run to show first}

A truth is shared by all runs that are compared with it. Values are rounded to five digits, and numbers that are
not finite are null.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .. import curves
from .. import measures as measuring
from .._measure_table import table as measure_table
from ..exceptions import AntlerError
from ..runs import Run
from ..tables import Orbit, default_warmup, free_run, has_diverged, measures, orbit, varying

VALUES = 350_000  # of all orbits together: a page of a few megabytes
VARIABLES = 12  # drawn one by one; more are in the heat map
LOG_ROWS = 500
FREE_ROWS = 200_000
#: Columns of the log that most rows do not have: all values are kept, each with its update.
RARE = ("states_agree", "gradient_agrees", "val_dstsp", "val_hellinger", "val_prediction_error")


def numbers(values: Any) -> List[Optional[float]]:
    """A list for JSON: five digits, null for what is not finite."""
    array = np.asarray(values, dtype=float).ravel()
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in array]


def _columns(x: np.ndarray) -> List[List[Optional[float]]]:
    return [numbers(column) for column in x.T]


def _named_file(run: Run) -> Optional[Path]:
    """The file of the true orbit: what metrics.json or the settings name, seen from here or from beside `Results`."""
    evaluated = str((run.metrics or {}).get("data", ""))
    trained = run.settings.get("data", "")
    trained = trained[0] if isinstance(trained, (list, tuple)) and trained else str(trained)
    for name in (evaluated, evaluated.rpartition(":")[0], trained):  # "file.npz:x_000" names a member
        for base in (Path("."), *run.path.resolve().parents[2:5]):
            if name and (base / name).is_file():
                return base / name
    return None


class Truths:
    """True orbits, each read once."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.known: Dict[Tuple[str, str, str], int] = {}
        self.orbits: List[Orbit] = []
        self.files: List[str] = []

    def of(self, run: Run) -> Optional[int]:
        """The number of the orbit that belongs to a run; None when there is none."""
        path = self.given if self.given is not None else _named_file(run)
        if path is None:
            return None
        key = (os.fspath(path), str(run.settings.get("columns", "")), str(run.settings.get("inputs", "")))
        if key not in self.known:
            read = orbit(path, columns=key[1], inputs=key[2])
            self.known[key] = len(self.orbits)
            self.orbits.append(read)
            self.files.append(os.fspath(path))
        return self.known[key]


def _warmup(run: Run, rows: int) -> int:
    """Of the `rows` rows of the true orbit, those that force the model before it runs free: as it was evaluated."""
    known = (run.metrics or {}).get("free_run", {}).get("warmup")
    return default_warmup(run.model, rows) if known is None else min(int(known), max(0, rows - 2))


def _budget(runs: Sequence[Run], variables: int) -> int:
    """Rows of one drawn orbit, such that all of them together stay within VALUES."""
    return int(np.clip(VALUES / (max(1, variables) * (len(runs) + 1) * 2), 300, 6000))


def solid(x: np.ndarray, names: Sequence[str], delay: int) -> Tuple[np.ndarray, List[str]]:
    """At least three columns to turn in space: delays of the first variable fill up what is missing."""
    if x.shape[1] >= 3:
        return x, list(names)
    columns, labels = [x[2 * delay :, 0]], [names[0]]
    if x.shape[1] == 2:
        columns.append(x[2 * delay :, 1])
        labels.append(names[1])
    for i in range(1, 4 - x.shape[1]):
        columns.append(x[(2 - i) * delay : len(x) - i * delay, 0])
        labels.append(f"{names[0]}(t − {i * delay})")
    return np.column_stack(columns), labels


def _orbit_parts(x: np.ndarray, names: Sequence[str], delay: int, stride: int, rows: int) -> Dict[str, Any]:
    """What is drawn of an orbit: the attractor, the first rows as they are, the whole as an envelope."""
    shown = x[:, :VARIABLES]
    if len(x) <= 2 * delay + 2:
        return {"solid": [], "short": _columns(shown[:rows]), "whole": []}
    space, _ = solid(shown, names, delay)
    whole = [curves.envelope(column, 2 * rows // 3) for column in shown.T]
    return {
        "solid": _columns(space[: rows * stride : stride, :6]),
        "short": _columns(shown[:rows]),
        "whole": [{"t": [int(t) for t in rows_], "x": numbers(values)} for rows_, values in whole],
    }


def _spectra(true: np.ndarray, generated: np.ndarray, dt: float) -> Dict[str, Any]:
    rows = min(len(true), len(generated))
    if rows < 200:
        return {}
    frequency = np.fft.rfftfreq(rows, dt or 1.0)
    drawn = curves.logarithmic_rows(len(frequency), 400)
    p, q = (x[:rows, :VARIABLES] for x in (true, generated))
    return {
        "frequency": numbers(frequency[drawn]),
        "true": _columns(measuring.power_spectrum(p)[drawn]),
        "generated": _columns(measuring.power_spectrum(q)[drawn]),
        "distance": list(measuring.hellinger(p, q, each=True)),
    }


def _heat(x: np.ndarray, mean: np.ndarray, sd: np.ndarray, rows: int = 600) -> List[List[Optional[float]]]:
    """Standardised values to two decimals; (N, rows)."""
    return [[round(v, 2) if np.isfinite(v) else None for v in column] for column in ((x[:rows] - mean) / sd).T]


def _log(run: Run) -> Dict[str, Any]:
    rows = len(run.log.get("update", ()))
    kept = np.unique(np.linspace(0, rows - 1, min(rows, LOG_ROWS)).astype(int)) if rows else np.array([], dtype=int)
    found: Dict[str, Any] = {name: numbers(values[kept]) for name, values in run.log.items() if name != "solver"}
    checked = {name: np.isfinite(run.log[name]) for name in RARE if name in run.log}
    for name, there in checked.items():
        found[name] = {"update": numbers(run.log["update"][there]), "value": numbers(run.log[name][there])}
    found["solver"] = str(run.log["solver"][-1]) if rows and "solver" in run.log else run.settings.get("solver", "")
    return found


def solver_sentence(run: Run) -> str:
    """Convergence and agreement of the parallel solver, in words."""
    log = run.log
    if len(log["update"]) == 0:
        return "There is no log yet."
    solver = str(log["solver"][-1])
    words = [f"Solver: {solver}."]
    if np.any(log["iterations"] > 0):
        words.append(
            f"It took {np.nanmean(log['iterations']):.3g} iterations in the mean; {int(log['fallbacks'][-1])} "
            "sequences did not converge and were solved again step by step."
        )
    checked = np.isfinite(log["states_agree"])
    if checked.any():
        words.append(
            f"Compared with plain sequential loops {int(checked.sum())} times, its states differed by at most "
            f"{np.nanmax(log['states_agree']):.2g} and its gradients by at most "
            f"{np.nanmax(log['gradient_agrees']):.2g}, relatively."
        )
    else:
        words.append("It was not compared with plain loops in this run; the setting check_interval makes it do so.")
    return " ".join(words)


def _status(run: Run) -> str:
    if run.diverged is not None:
        return f"diverged in training: {run.diverged}"
    if (run.metrics or {}).get("diverged"):
        step = (run.metrics or {}).get("free_run", {}).get("diverged_step")
        return f"diverged at step {step} of its free run" if step else "diverged in its free run"
    return "done" if run.finished else "not finished"


def _free_part(run: Run, true: Orbit, rows: int, delay: int, stride: int) -> Dict[str, Any]:
    """The free run of a model and its comparison with the true orbit."""
    warmup = _warmup(run, len(true.x))
    steps = int(np.clip(len(true.x) - warmup - 1, 1000, FREE_ROWS))
    free = free_run(run.model, true, steps, warmup)
    found: Dict[str, Any] = {"warmup": warmup, "rows": len(free.x)}
    if len(free.x) == 0:
        return found
    found["orbit"] = _orbit_parts(free.x, true.names, delay, stride, rows)
    found["spectra"] = _spectra(true.x[warmup + 1 :], free.x, true.dt)
    if free.x.shape[1] > 10:
        found["heat"] = _heat(free.x, true.x.mean(0), true.x.std(0))
    return found


def _one(
    run: Run, truths: Truths, rows: int, looks: Dict[int, Tuple[int, int]], settings: Sequence[str]
) -> Dict[str, Any]:
    number = truths.of(run)
    found: Dict[str, Any] = {
        "name": "/".join(run.path.resolve().parts[-2:]),
        "status": _status(run),
        "diverged": has_diverged(run),
        "truth": number,
        "log": _log(run),
        "settings": {name: run.settings.get(name) for name in settings},
        "measures": {name: None if not np.isfinite(v) else v for name, v in measures(run).items()},
        "solver": solver_sentence(run),
        "lyapunov": (run.metrics or {}).get("lyapunov"),
        "note": "",
    }
    if number is None:
        found["note"] = (
            "The data that this run was made from are not here, so it is shown without orbits; name them by --data."
        )
        return found
    true = truths.orbits[number]
    if number not in looks:
        # A third of the time in which a variable forgets itself unfolds an attractor without folding it over again.
        looks[number] = max(1, curves.forgetting_time(true.x[:, 0]) // 3), curves.smooth_stride(true.x)
    try:
        found.update(_free_part(run, true, rows, *looks[number]))
    except AntlerError as fault:
        found["note"] = f"There is no free run: {fault}"
    return found


def _truth(true: Orbit, file: str, rows: int, delay: int, stride: int) -> Dict[str, Any]:
    lead = min(len(true.x) // 2, 4096)  # rows before the free run begins, so that every warm-up finds its place
    part = _orbit_parts(true.x, true.names, delay, stride, rows)
    part["short"] = _columns(true.x[: rows + lead, :VARIABLES])
    labels = solid(true.x[: 2 * delay + 3, :VARIABLES], true.names, delay)[1][:6]
    found = {
        "file": Path(file).name,
        "names": true.names[:VARIABLES],
        "dt": true.dt,
        "rows": len(true.x),
        "labels": labels,
        "variables": true.x.shape[1],
        "orbit": part,
    }
    if true.x.shape[1] > 10:
        found["heat"] = _heat(true.x, true.x.mean(0), true.x.std(0), 600 + lead)
    return found


def in_order(runs: Sequence[Run]) -> List[Run]:
    """Sorted by the settings in which they differ, numbers as numbers, and then by path."""
    names = [name for name in varying(runs) if name != "seed"]

    def key(run: Run) -> Tuple[Any, ...]:
        values = [run.settings.get(name) for name in names]
        return tuple((0, v, "") if isinstance(v, (int, float)) else (1, 0, str(v)) for v in values) + (
            (1, 0, str(run.path)),
        )

    return sorted(runs, key=key)


def _best(runs: Sequence[Dict[str, Any]]) -> int:
    """The run to show first: that of the smallest D_stsp (or that of delays), or else of the smallest loss."""
    for measure in ("dstsp", "dstsp_embedded"):
        known = [
            (run["measures"][measure], i) for i, run in enumerate(runs) if run["measures"].get(measure) is not None
        ]
        if known:
            return min(known)[1]
    ends = [
        (run["log"]["loss"][-1], i)
        for i, run in enumerate(runs)
        if run["log"].get("loss") and run["log"]["loss"][-1] is not None
    ]
    return min(ends)[1] if ends else 0


def build(runs: Sequence[Run], data: Any = None) -> Dict[str, Any]:
    """Everything that page.js draws."""
    truths = Truths(data)
    variables = runs[0].model.dim if (runs[0].path / "model.npz").exists() else 3
    rows = _budget(runs, min(variables, VARIABLES))
    looks: Dict[int, Tuple[int, int]] = {}
    settings = varying(runs)
    found = [_one(run, truths, rows, looks, settings) for run in runs]
    return {
        "runs": found,
        "varying": settings,
        "labels": {name: measure.html for name, measure in measure_table().items()},
        "better": {name: measure.better for name, measure in measure_table().items()},
        "best": _best(found),
        "truths": [_truth(true, truths.files[i], rows, *looks[i]) for i, true in enumerate(truths.orbits)],
    }
