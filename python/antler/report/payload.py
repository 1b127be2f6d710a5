"""The numbers of a report, thinned so that the page stays small: what page.js draws.

    {"truths": [orbit, ...], "runs": [run, ...], "varying": [setting, ...], "labels": {measure: HTML},
     "better": {measure: -1 for smaller, 1 for larger, 0}, "best": number of the run to show first}

A truth is shared by all runs that are compared with it. Values are rounded to five digits, and numbers that are
not finite are null. `absent` of a run says of each figure that it does not have why that is so.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy as np

from .. import curves
from .. import measures as measuring
from .._measure_table import table as measure_table
from ..exceptions import AntlerError, MachineError, MemoryError
from ..runs import Run
from ..tables import Orbit, default_warmup, free_run, has_diverged, measures, orbit, varying
from . import comparison
from .comparison import VARIABLES, Baselines, Scales

VALUES = 350_000  # of all orbits together: a page of a few megabytes
MAP_VALUES = 120_000  # of all maps of variables over time together
MANY = 10  # from more variables on, there is a map of all of them over time
PICTURE = (96, 76)  # cells of the picture of a whole attractor
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


def _found_file(run: Run, *names: str) -> Optional[Path]:
    """The first of these files that is here, seen from here or from beside `Results`."""
    for name in names:
        for base in (Path("."), *run.path.resolve().parents[2:5]):
            if name and (base / name).is_file():
                return base / name
    return None


def _training_file(run: Run) -> Optional[Path]:
    """The first file of the training data."""
    named = run.settings.get("data", "")
    return _found_file(run, named[0] if isinstance(named, (list, tuple)) and named else str(named))


def _named_file(run: Run) -> Optional[Path]:
    """The file of the true orbit: what metrics.json or the settings name."""
    evaluated = str((run.metrics or {}).get("data", ""))  # "file.npz:x_000" names a member
    return _found_file(run, evaluated, evaluated.rpartition(":")[0]) or _training_file(run)


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
        return None if path is None else self.read(path, run)

    def read(self, path: Any, run: Run) -> int:
        """The number of the orbit in a file, with the variables of a run."""
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


@dataclass
class Look:
    """How the orbits beside one truth are drawn."""

    delay: int  #: rows, of the axes that fill up a space of three
    stride: int  #: every so many rows an attractor still looks smooth
    scales: Scales
    picture: Tuple[Tuple[float, float], Tuple[float, float]] = ((0.0, 1.0), (0.0, 1.0))  #: ranges of its two axes

    @classmethod
    def at(cls, true: Orbit) -> "Look":
        # A third of the time in which a variable forgets itself unfolds an attractor without folding it over again.
        delay = max(1, curves.forgetting_time(true.x[:, 0]) // 3)
        look = cls(delay, curves.smooth_stride(true.x), comparison.scales_of(true.x))
        space = solid(true.x[:, :VARIABLES], true.names, delay)[0]
        if len(space):
            look.picture = tuple(curves.limits(space[:, i], np.array([])) for i in (0, 2))  # type: ignore[assignment]
        return look


def _with_gaps(space: np.ndarray, pieces: List[np.ndarray]) -> np.ndarray:
    """These rows of an orbit; a row without numbers between two intervals ends the line that is drawn."""
    gap = np.full((1, space.shape[1]), np.nan)
    rows = [part for piece in pieces for part in (space[piece], gap)]
    return np.concatenate(rows[:-1])


def _orbit_parts(x: np.ndarray, names: Sequence[str], look: Look, rows: int) -> Dict[str, Any]:
    """What is drawn of an orbit: the attractor and the whole as an envelope, both to the end; the first rows."""
    shown = x[:, :VARIABLES]
    if len(x) <= 2 * look.delay + 2:
        return {"solid": [], "short": _columns(shown[:rows]), "whole": []}
    space, _ = solid(shown, names, look.delay)
    whole = [curves.envelope(column, 2 * rows // 3) for column in shown.T]
    return {
        "solid": _columns(_with_gaps(space[:, :6], curves.pieces(len(space), rows, look.stride))),
        "short": _columns(shown[:rows]),
        "whole": [{"t": [int(t) for t in rows_], "x": numbers(values)} for rows_, values in whole],
    }


def _picture(x: np.ndarray, names: Sequence[str], look: Look) -> str:
    """Every row of an orbit in the plane of the first and third axis: a digit from 0 to 9 for each cell."""
    if len(x) <= 2 * look.delay + 2:
        return ""
    space = solid(x[:, :VARIABLES], names, look.delay)[0][:, [0, 2]]
    counts = curves.occupancy(space, *look.picture, *PICTURE)
    level = np.where(counts > 0, 1 + np.floor(8 * np.log1p(counts) / np.log1p(max(counts.max(), 1))), 0)
    return "".join(str(int(value)) for value in level.ravel())


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


def _heat(x: np.ndarray, scales: Scales, rows: int) -> List[Any]:
    """Standardised values to two decimals; (at most CHANNELS, rows)."""
    return comparison.rounded(((x[:rows] - scales.mean) / scales.sd)[:, : comparison.CHANNELS].T, 2)


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


@dataclass
class Sizes:
    """How much of each orbit is drawn."""

    rows: int
    heat_rows: int
    pictures: bool  #: whole attractors side by side, for several runs


@dataclass
class Shared:
    """What the runs of a page share."""

    truths: Truths
    fitted: Truths  #: to which linear models are fitted
    sizes: Sizes
    settings: List[str]  #: in which the runs differ
    looks: Dict[int, Look] = field(default_factory=dict)
    baselines: Baselines = field(default_factory=Baselines)


#: Figures that compare a free run with the data, and those that show the data alone, too.
COMPARED = ("fig-horizon", "fig-marginals", "fig-autocorrelation", "fig-correlations", "fig-spectra")
SHOWN = ("fig-attractor", "fig-series")


def _free_part(run: Run, true: Orbit, look: Look, sizes: Sizes) -> Dict[str, Any]:
    """The free run of a model and its comparison with the true orbit."""
    warmup = _warmup(run, len(true.x))
    steps = int(np.clip(len(true.x) - warmup - 1, 1000, FREE_ROWS))
    free = free_run(run.model, true, steps, warmup)
    found: Dict[str, Any] = {"warmup": warmup, "rows": len(free.x), "absent": {}}
    if len(free.x) < comparison.FEWEST:
        few = f"the free run has only {len(free.x)} rows"
        found["absent"] = {figure: few for figure in COMPARED[1:]}
        if true.x.shape[1] > MANY:
            found["absent"]["fig-heat"] = few
    if len(free.x) == 0:
        return found
    found["orbit"] = _orbit_parts(free.x, true.names, look, sizes.rows)
    if sizes.pictures:
        found["picture"] = _picture(free.x, true.names, look)
    if len(free.x) >= comparison.FEWEST:
        found["statistics"] = comparison.statistics(free.x, look.scales)
        found["spectra"] = _spectra(true.x[warmup + 1 :], free.x, true.dt)
        if true.x.shape[1] > MANY:
            found["heat"] = _heat(free.x, look.scales, sizes.heat_rows)
    if true.x.shape[1] == 1:
        found["absent"]["fig-correlations"] = "the data have a single variable"
    if not found.get("spectra") and "fig-spectra" not in found["absent"]:
        found["absent"]["fig-spectra"] = "they need 200 rows of data and of free run, without gaps"
    return found


def _horizon_part(run: Run, number: int, shared: Shared) -> Dict[str, Any]:
    """Errors of forecasts against the horizon, and what the linear model was fitted to."""
    true, path = shared.truths.orbits[number], _training_file(run)
    fitted = None if path is None else shared.fitted.orbits[shared.fitted.read(path, run)]
    key = (number, str(path), str(run.settings.get("columns", "")))
    found = comparison.horizon(run.model, true, _warmup(run, len(true.x)), fitted, shared.baselines, key)
    if found:
        found["fitted"] = Path(shared.truths.files[number] if path is None else path).name
    return found


def _absent_always(run: Run) -> Dict[str, str]:
    """Why there are no Lyapunov exponents or no log; with or without data."""
    found: Dict[str, str] = {}
    exponents = (run.metrics or {}).get("lyapunov")
    if exponents is None:
        found["fig-lyapunov"] = (
            "the run has not been evaluated" if run.metrics is None else "it was evaluated without them"
        )
    elif exponents.get("diverged_step"):
        found["fig-lyapunov"] = f"the orbit diverged at step {exponents['diverged_step']}"
    if len(run.log["update"]) == 0:
        found["fig-training"] = "the log has no rows"
    return found


def _base(run: Run, number: Optional[int], settings: Sequence[str]) -> Dict[str, Any]:
    """What a run has without its data."""
    metrics = run.metrics or {}
    return {
        "name": "/".join(run.path.resolve().parts[-2:]),
        "status": _status(run),
        "diverged": has_diverged(run),
        "truth": number,
        "log": _log(run),
        "settings": {name: run.settings.get(name) for name in settings},
        "measures": {name: None if not np.isfinite(v) else v for name, v in measures(run).items()},
        "floors": metrics.get("floors"),
        "verdict": run.verdict,
        "solver": solver_sentence(run),
        "lyapunov": metrics.get("lyapunov"),
        "note": "",
    }


def _one(run: Run, shared: Shared) -> Dict[str, Any]:
    number = shared.truths.of(run)
    found = _base(run, number, shared.settings)
    found["absent"] = {}
    if number is None:
        found["note"] = (
            "The data that this run was made from are not here, so it is shown without orbits; name them by --data."
        )
        found["absent"] = {**dict.fromkeys((*SHOWN, *COMPARED), "the data are not here"), **_absent_always(run)}
        return found
    true = shared.truths.orbits[number]
    if number not in shared.looks:
        shared.looks[number] = Look.at(true)
    try:
        found.update(_free_part(run, true, shared.looks[number], shared.sizes))
        found["horizon"] = _horizon_part(run, number, shared)
        if not found["horizon"]:
            found["absent"]["fig-horizon"] = "the data have too few rows for windows of forecasts"
    except (MachineError, MemoryError):  # a page that lacks what could not be read would be taken for the whole
        raise
    except AntlerError as fault:
        found["note"] = f"There is no free run: {fault}"
        found["absent"].update(dict.fromkeys(COMPARED, "there is no free run"))
    found["absent"].update(_absent_always(run))
    return found


def _truth(true: Orbit, file: str, look: Look, sizes: Sizes, lead: int) -> Dict[str, Any]:
    """`lead` rows at the beginning are those of the longest warm-up, before a free run begins."""
    part = _orbit_parts(true.x, true.names, look, sizes.rows)
    part["short"] = _columns(true.x[: sizes.rows + lead, :VARIABLES])
    found = {
        "file": Path(file).name,
        "names": true.names[:VARIABLES],
        "all_names": true.names[: comparison.CHANNELS],
        "dt": true.dt,
        "unit": true.unit,
        "rows": len(true.x),
        "labels": solid(true.x[: 2 * look.delay + 3, :VARIABLES], true.names, look.delay)[1][:6],
        "variables": true.x.shape[1],
        "orbit": part,
        "statistics": comparison.statistics(true.x, look.scales),
        "axes": comparison.axes(look.scales, true.dt),
    }
    if sizes.pictures:
        found["picture"] = _picture(true.x, true.names, look)
    if true.x.shape[1] > MANY:
        found["heat"] = _heat(true.x, look.scales, sizes.heat_rows + lead)
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
    variables = runs[0].model.dim if runs[0].has_model else 3
    maps = max(1, min(variables, comparison.CHANNELS)) * (len(runs) + 1)
    heat_rows = int(np.clip(MAP_VALUES / maps, 60, 600))
    sizes = Sizes(_budget(runs, min(variables, VARIABLES)), heat_rows, pictures=len(runs) > 1)
    shared = Shared(Truths(data), Truths(None), sizes, varying(runs))
    found = [_one(run, shared) for run in runs]
    truths = shared.truths
    return {
        "runs": found,
        "varying": shared.settings,
        "labels": {name: measure.html for name, measure in measure_table().items()},
        "better": {name: measure.better for name, measure in measure_table().items()},
        "best": _best(found),
        "picture": PICTURE,
        "truths": [
            _truth(
                true,
                truths.files[i],
                shared.looks[i],
                sizes,
                lead=1 + max([run.get("warmup", 0) for run in found if run["truth"] == i]),
            )
            for i, true in enumerate(truths.orbits)
        ],
    }
