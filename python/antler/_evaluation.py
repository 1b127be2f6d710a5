"""Evaluations as dictionaries of the form of metrics.json, and the options behind them."""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass, field
from typing import Any, Dict, List, Mapping, Optional, Tuple

import numpy as np

from . import _html, _lib, _measure_table
from . import _structs as s
from ._series import Series
from .exceptions import ArgumentError, DivergedError, from_status

_CHOICES = {"dstsp": s.DSTSP_KIND, "device": s.DEVICE, "inputs_end": s.INPUTS_END}
_LOG = ("update", "loss", "lr")  # columns that the verdict reads


def _choice(name: str, value: str) -> int:
    choices = _CHOICES[name]
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}; it is one of {', '.join(choices)}")
    return choices.index(value)


@dataclass
class Measuring:
    """What is measured, and how. The defaults are those of ``antler evaluate``."""

    dstsp: str = "gmm"  #: estimator of D_stsp: "gmm", "gmm-silverman", "bins" or "gmm-fixed" (docs/measures.md)
    samples: int = 10_000  #: Monte Carlo samples of the mixtures
    seed: int = 1  #: of those samples
    bins: int = 30  #: per axis, for "bins"
    variance: float = 1.0  #: of the Gaussians, for "gmm-fixed"
    embed: Optional[Tuple[int, int]] = None  #: (m, tau): also D_stsp of delay vectors
    only_embedded: bool = False  #: leave D_stsp without embedding out
    smoothing: float = 20.0  #: of power spectra, in frequency bins
    match_noise: bool = False  #: add white noise of the level that is seen on X to free runs (docs/measures.md)
    n: int = 128  #: steps of RMSE(n)
    windows: int = 100  #: of RMSE(n)
    horizon: Mapping[str, int] = field(default_factory=dict)  #: steps of other forecast measures, by name
    exponent: float = 0.0  #: largest Lyapunov exponent of the true system per unit of time; 0: unknown
    rmse: bool = True  #: RMSE(n) and all other forecast measures
    lyapunov: bool = True
    lyapunov_steps: int = 20_000
    steps: int = 0  #: of each free run; 0: three times the rows of its trajectory
    warmup: Optional[int] = None  #: rows; None: as in training
    user_units: bool = False  #: RMSE and moments in user units
    range_factor: float = 5.0  #: a free run farther from the middle of X than so many half ranges has diverged
    verdict: bool = True  #: floors of the measures and a verdict
    training: Optional[Mapping[str, Any]] = None  #: columns update, loss and lr of a log, for the verdict
    inputs_end: str = "repeat"
    threads: int = 0
    device: str = "auto"  #: of the Gaussian mixtures: "auto", "cpu" or "cuda"

    def measure_opts(self) -> s.MeasureOpts:
        opts = s.MeasureOpts()
        _lib.plain("measure_opts_default", c.byref(opts))
        for name in (row[0] for row in opts._fields_ if hasattr(self, row[0])):  # those that bear the header's names
            value = getattr(self, name)
            setattr(opts, name, _choice(name, value) if name in _CHOICES else value)
        if self.embed is not None:
            opts.embed_dim, opts.embed_delay = self.embed
        return opts

    def evaluate_opts(self) -> s.EvaluateOpts:
        opts = s.EvaluateOpts()
        _lib.plain("evaluate_opts_default", c.byref(opts))
        opts.measure = self.measure_opts()
        opts.with_dstsp, opts.with_rmse, opts.with_lyapunov = not self.only_embedded, self.rmse, self.lyapunov
        opts.rmse.steps, opts.rmse.windows, opts.lyapunov.steps = self.n, self.windows, self.lyapunov_steps
        opts.rmse.exponent = self.exponent
        for name, steps in self.horizon.items():
            opts.horizon[_measure_table.forecast_index(name)] = steps
        opts.range_factor, opts.with_verdict = self.range_factor, self.verdict
        opts.steps = self.steps
        opts.warmup = opts.rmse.warmup = s.WARMUP_AUTO if self.warmup is None else self.warmup
        opts.user_units = opts.rmse.user_units = self.user_units
        opts.inputs_end = _choice("inputs_end", self.inputs_end)
        return opts


@dataclass(frozen=True)
class Verdict:
    """What an evaluation concludes; docs/evaluation.md lists the kinds."""

    #: "good", "close", "far", "undertrained", "collapsed", "left_range", "diverged", "too_short", "noise", "none"
    kind: str
    figure: str  #: what decided: the name of a measure or of another figure
    value: float  #: of that figure
    floor: float  #: of a measure: the same between parts of the data; NaN for other figures
    limit: float  #: what the figure was compared with
    text: str  #: what was found
    advice: str  #: what to do next

    def __str__(self) -> str:
        return f"{self.kind}: {self.text} {self.advice}"

    def _repr_html_(self) -> str:
        return _html.table(f"Verdict: {self.kind}", [("found", self.text), ("advice", self.advice)])


class Evaluation(Dict[str, Any]):
    """How good a model is: a dictionary of the form of ``metrics.json``, with infinities left in."""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the model; ``KeyError`` when it was evaluated with ``verdict=False``."""
        return Verdict(**self["verdict"])

    @property
    def diverged(self) -> bool:
        return bool(self["diverged"])

    def _repr_html_(self) -> str:
        verdict = self.get("verdict", {})
        rows = [("verdict", verdict.get("kind")), ("found", verdict.get("text")), ("advice", verdict.get("advice"))]
        floors = self.get("floors", {})
        for name, value in self.get("summary", {}).items():
            floor = f", floor {_html.number(floors[name])}" if name in floors else ""
            rows.append((_measure_table.table()[name].label, f"{_html.number(float(value))}{floor}"))
        return _html.table("Evaluation", [*rows, ("diverged", "the free run diverged" if self.diverged else "")])

    def summary(self) -> Dict[str, float]:
        """One number per measure, as in ``metrics.csv``: NaN when not measured, infinite when it diverged."""
        return {name: float(self["summary"].get(name, np.nan)) for name in _measure_table.table()}


def _array(pointer: Any, count: int) -> List[float]:
    return [float(pointer[i]) for i in range(count)]


def dstsp_dict(options: Measuring, result: s.MeasureResult, embedded: bool) -> Dict[str, Any]:
    m, tau = options.embed if embedded and options.embed is not None else (1, 1)
    found: Dict[str, Any] = {
        "value": result.dstsp,
        "variant": options.dstsp,
        "dim": result.dstsp_dim,
        "true_points": result.true_points,
        "generated_points": result.generated_points,
        "embed_dim": m,
        "embed_delay": tau,
        "seconds": result.seconds,
    }
    if options.dstsp == "bins":
        found.update(bins=options.bins, bins_filled=result.bins_filled)
    else:
        found.update(
            standard_error=result.dstsp_error,
            samples=options.samples,
            seed=options.seed,
            bandwidth=result.bandwidth,
            kernels=result.kernels,
            threads=result.threads,
            cpu=_lib.text(result.cpu),
        )
    return found


def hellinger_dict(options: Measuring, result: s.MeasureResult) -> Dict[str, Any]:
    return {
        "value": result.hellinger,
        "each": _array(result.hellinger_each, result.dim),
        "smoothing": options.smoothing,
        "rows": result.hellinger_rows,
    }


def moments_dicts(result: s.MeasureResult) -> Dict[str, Any]:
    return {
        "true": {"mean": _array(result.mean_true, result.dim), "sd": _array(result.sd_true, result.dim)},
        "generated": {
            "mean": _array(result.mean_generated, result.dim),
            "sd": _array(result.sd_generated, result.dim),
        },
    }


def _lyapunov_dict(result: s.LyapunovResult) -> Dict[str, Any]:
    exponents = _array(result.exponents, result.count)
    found: Dict[str, Any] = {
        "exponents": exponents,
        "standard_error": _array(result.error, result.count),
        "spread": _array(result.spread, result.count),
        "sum": result.sum,
        "kaplan_yorke": np.nan if result.diverged_step else result.kaplan_yorke,
        "kaplan_yorke_reduced": np.nan if result.diverged_step else result.kaplan_yorke_reduced,
        "unforced": _array(result.unforced, result.count),
        "steps": result.steps,
    }
    if result.diverged_step:
        found["diverged_step"] = result.diverged_step
    if result.dt > 0:
        found.update(dt=result.dt, exponents_per_time=[value / result.dt for value in exponents])
    return found


def _forecast_dict(options: Measuring, measure: _measure_table.Measure, result: s.RmseResult) -> Dict[str, Any]:
    if result.windows == 0:  # no trajectory has room for so many steps
        return {"value": np.nan, "n": result.steps, "windows": 0}
    found: Dict[str, Any] = {
        "value": result.mean,
        "median": result.median,
        "sd": result.sd,
        "n": result.steps,
        "windows": result.windows,
        "diverged_windows": result.diverged,
        "warmup": result.warmup,
        "units": "user" if options.user_units else "model",
        "persistence": result.persistence,
        "average": result.average,
    }
    if measure.unit == "rows":
        found["unit"] = "Lyapunov times" if options.exponent > 0 else "rows"
        found.update(exponent=options.exponent, censored_windows=result.censored)
    return found


def _verdict_dicts(result: s.EvaluateResult) -> Dict[str, Any]:
    verdict, floors = result.verdict, result.floors
    found: Dict[str, Any] = {
        "verdict": {
            "kind": _lib.text(_lib.plain("verdict_name", verdict.kind)),
            "figure": _lib.text(verdict.figure),
            **{name: getattr(verdict, name) for name in ("value", "floor", "limit")},
            "text": _lib.text(verdict.text),
            "advice": _lib.text(verdict.advice),
        },
        "floors": {
            **{name: getattr(floors, name) for name in ("rows", "correlation", "shift")},
            **{
                name: floors.values[i]
                for i, name in enumerate(_measure_table.table())
                if not np.isnan(floors.values[i])
            },
        },
    }
    if result.rmse.windows > 0:
        found["skill"] = {"value": result.rmse.skill, "steps": result.rmse.skill_steps}
    return found


def _as_evaluation(names: List[str], options: Measuring, result: s.EvaluateResult) -> Evaluation:
    diverged = bool(result.diverged)
    free_run: Dict[str, Any] = {"steps": result.free_steps, "warmup": result.warmup, "diverged": diverged}
    free_run.update(reach=result.reach, spread=result.spread, left_range=bool(result.left_range))
    if result.missing > 0:
        free_run["missing"] = {"values": result.missing, "of": result.true_values}
    if diverged:
        free_run.update(diverged_step=result.diverged_step, diverged_trajectory=result.diverged_trajectory + 1)
    found = Evaluation(variables=names, diverged=diverged, free_run=free_run)
    if options.verdict:
        found.update(_verdict_dicts(result))
    found["measured"] = [] if options.only_embedded else ["dstsp"]
    if options.embed is not None:
        found["measured"].append("dstsp_embedded")
    if not diverged:
        if not options.only_embedded:
            found["dstsp"] = dstsp_dict(options, result.plain, False)
        if result.has_embedded:
            found["dstsp_embedded"] = dstsp_dict(options, result.embedded, True)
        found["hellinger"] = hellinger_dict(options, result.plain)
        found.update(moments_dicts(result.plain))
    for i, measure in enumerate(_measure_table.table().values()):
        if measure.forecast and options.rmse:
            found[measure.name] = _forecast_dict(options, measure, result.forecasts[i])
    if result.lyapunov.count > 0:
        found["lyapunov"] = _lyapunov_dict(result.lyapunov)
    opts = options.evaluate_opts()
    found["summary"] = {
        name: result.values[i]
        for i, name in enumerate(_measure_table.table())
        if _lib.plain("evaluate_wants", c.byref(opts), i)
    }
    found["antler"] = _lib.text(_lib.plain("version"))
    return found


def _loss_curve(log: Mapping[str, Any]) -> Tuple[s.LossCurve, List[np.ndarray]]:
    """The curve, and the arrays that it points to."""
    missing = [name for name in _LOG if name not in log]
    if missing:
        raise ArgumentError(f"training has no column {missing[0]!r}; give a log, such as run.log")
    arrays = [np.ascontiguousarray(log[name], dtype=float) for name in _LOG]
    if len({array.shape for array in arrays}) != 1 or arrays[0].ndim != 1:
        raise ArgumentError("the columns of training have different lengths")
    return s.LossCurve(arrays[0].size, *[array.ctypes.data_as(s.DoubleP) for array in arrays]), arrays


def evaluation_of(model: int, names: List[str], truth: Series, options: Measuring) -> Evaluation:
    opts = options.evaluate_opts()
    curve, _arrays = _loss_curve(options.training if options.training is not None else {n: [] for n in _LOG})
    opts.training = c.pointer(curve)
    result = s.EvaluateResult()
    interrupt = _lib.Interrupt()
    opts.measure.progress = _lib.watched(interrupt)
    status, sentence = _lib.long_call(
        "evaluate", model, truth.handle, c.byref(opts), c.byref(result), interrupt=interrupt
    )
    try:
        if status not in (0, DivergedError.status):
            raise from_status(status, sentence)
        return _as_evaluation(names, options, result)
    finally:
        _lib.plain("evaluate_result_clear", c.byref(result))
