"""How alike two orbits are.

Orbits are arrays (T, N), frames, or lists of them; several trajectories count as one set. ``docs/measures.md``
has the formulas and says what a value means.
"""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict, NamedTuple, Optional

import numpy as np

from . import _lib, _measure_table
from . import _structs as s
from ._evaluation import Measuring, dstsp_dict, hellinger_dict, moments_dicts
from ._measure_table import Measure
from ._series import Series, tables
from .exceptions import ArgumentError, DataError, DivergedError, from_status

__all__ = [
    "Measure",
    "Statistics",
    "compare",
    "dstsp",
    "dstsp_embedded",
    "embed",
    "hellinger",
    "log_density",
    "mase",
    "power_spectrum",
    "prediction_error",
    "rmse",
    "smape",
    "statistics",
    "table",
    "valid_time",
]


def table() -> Dict[str, Measure]:
    """Every measure that ``evaluate`` gives, by name, in the order of ``metrics.csv``."""
    return _measure_table.table()


def compare(true: Any, generated: Any, **options: Any) -> Dict[str, Any]:
    """D_stsp, D_H and moments of a generated orbit against the true one, as ``antler measure --json`` has them.

    ``antler.Measuring`` has the options; ``embed=(m, tau)`` measures D_stsp on delay vectors. A generated orbit
    that is not finite is a ``DivergedError``.
    """
    measuring = Measuring(**options)
    opts = measuring.measure_opts()
    truth, other = Series.of(true, what="true"), Series.of(generated, what="generated")
    result = s.MeasureResult()
    interrupt = _lib.Interrupt()
    opts.progress = _lib.watched(interrupt)
    status, sentence = _lib.long_call(
        "measure", truth.handle, other.handle, c.byref(opts), c.byref(result), interrupt=interrupt
    )
    try:
        if status != 0:
            raise from_status(status, sentence)
        return {
            "dstsp": dstsp_dict(measuring, result, True),
            "hellinger": hellinger_dict(measuring, result),
            **moments_dicts(result),
        }
    finally:
        _lib.plain("measure_result_clear", c.byref(result))


def dstsp(true: Any, generated: Any, *, variant: str = "gmm", **options: Any) -> float:
    """D_stsp: the Kullback-Leibler divergence of the two distributions in state space.

    ``variant`` is the option ``dstsp`` of ``antler.Measuring``, which has the other options, too: ``samples``,
    ``seed``, ``bins``, ``variance``, ``threads``, ...
    """
    return float(compare(true, generated, dstsp=variant, **options)["dstsp"]["value"])


def dstsp_embedded(true: Any, generated: Any, m: int, tau: int, **options: Any) -> float:
    """D_stsp of delay vectors [x_t, x_{t-tau}, ..., x_{t-(m-1)tau}], for data that are only partially observed.

    Options as those of ``dstsp``.
    """
    return dstsp(true, generated, embed=(m, tau), **options)


def power_spectrum(x: Any, *, smoothing: float = 20.0) -> np.ndarray:
    """Smoothed and normalised power spectrum of each variable of one trajectory: (T // 2 + 1, N)."""
    values = np.ascontiguousarray(tables(x, "x")[0].values, dtype=float)
    rows, dim = values.shape
    spectra = np.empty((dim, rows // 2 + 1))
    for j in range(dim):
        _lib.call("power_spectrum", values.ctypes.data + 8 * j, rows, dim, smoothing, spectra[j].ctypes.data)
    return spectra.T


def hellinger(true: Any, generated: Any, *, smoothing: float = 20.0, each: bool = False) -> Any:
    """D_H: the Hellinger distance of the power spectra, mean over the variables, or one number for each.

    Trajectory i is compared with trajectory i, over as many rows as the shorter has.
    """
    pairs = list(zip(tables(true, "true"), tables(generated, "generated")))
    if pairs[0][0].values.shape[1] != pairs[0][1].values.shape[1]:
        raise DataError("the true and the generated orbit have different variables: compare the same columns")
    distances = []
    for truth, other in pairs:
        rows = min(len(truth.values), len(other.values))
        p, q = (
            np.ascontiguousarray(power_spectrum(table.values[:rows], smoothing=smoothing).T) for table in (truth, other)
        )
        distances.append([_lib.plain("hellinger", a.ctypes.data, b.ctypes.data, a.size) for a, b in zip(p, q)])
    found = np.mean(distances, axis=0)
    return found if each else float(found.mean())


def rmse(true: Any, generated: Any) -> float:
    """``sqrt(1/n sum_k |x_k - y_k|^2)`` of two arrays of the same shape; not divided by N."""
    x, y = tables(true, "true")[0].values, tables(generated, "generated")[0].values
    if x.shape != y.shape:
        raise DataError(f"the true orbit has shape {x.shape}, the generated one {y.shape}: cut both to the same rows")
    return float(np.sqrt(np.mean(np.sum((np.asarray(x, float) - np.asarray(y, float)) ** 2, axis=1))))


def _forecast(measure: str, true: Any, forecast: Any, naive: float = 0.0) -> float:
    """A forecast measure of rows that stand for the same times; infinite when the forecast is not finite."""
    x, y = (
        np.ascontiguousarray(tables(values, what)[0].values, dtype=float)
        for values, what in ((true, "true"), (forecast, "forecast"))
    )
    if x.shape != y.shape:
        raise DataError(f"the true rows have shape {x.shape}, the forecast {y.shape}: cut both to the same rows")
    value = c.c_double()
    status, sentence = _lib.outcome(
        "forecast_error", measure.encode(), x.ctypes.data, y.ctypes.data, *x.shape, naive, c.byref(value)
    )
    if status not in (0, DivergedError.status):
        raise from_status(status, sentence)
    return value.value


def smape(true: Any, forecast: Any) -> float:
    """``200 mean(|x - y| / (|x| + |y| + 1e-10))`` of two arrays of the same shape: 0 to 200."""
    return _forecast("smape", true, forecast)


def mase(true: Any, forecast: Any, *, naive: float = 0.0) -> float:
    """Mean absolute error over the mean absolute difference of neighbouring rows, ``naive``.

    0: that of the true rows given here. ``evaluate`` takes that of the whole true series. ``DataError`` where
    it is 0: a single row, or rows that do not differ.
    """
    return _forecast("mase", true, forecast, naive)


def prediction_error(true: Any, forecast: Any) -> float:
    """PE(n): mean squared error over the variables in the last of n rows."""
    return _forecast("prediction_error", true, forecast)


def valid_time(true: Any, forecast: Any) -> float:
    """The first row, counted from 1, at which the sMAPE of all rows up to it exceeds 30; else their number.

    Rows from a value on that is not finite count as 200.
    """
    return _forecast("valid_time", true, forecast)


def embed(x: Any, m: int, tau: int) -> np.ndarray:
    """Delay vectors of one trajectory: (T - (m-1) tau, m N), the newest value first."""
    values = np.ascontiguousarray(tables(x, "x")[0].values, dtype=float)
    rows, dim = values.shape
    if m < 1 or tau < 1:
        raise ArgumentError(f"m is {m} and tau {tau}; both must be at least 1")
    out = np.empty((max(rows - (m - 1) * tau, 0), m * dim))
    _lib.call("embed", values.ctypes.data, rows, dim, m, tau, out.ctypes.data)
    return out


def log_density(x: Any, samples: Any, *, variance: Optional[Any] = None, threads: int = 0) -> np.ndarray:
    """log of the Gaussian mixture on the orbit x (T, N) at the samples (n, N); ``variance`` (N), by default 1."""
    orbit = np.ascontiguousarray(tables(x, "x")[0].values, dtype=float)
    points = np.ascontiguousarray(tables(samples, "samples")[0].values, dtype=float)
    widths = np.ones(orbit.shape[1]) if variance is None else np.ascontiguousarray(variance, dtype=float)
    if points.shape[1] != orbit.shape[1] or widths.shape != (orbit.shape[1],):
        raise DataError(f"x has {orbit.shape[1]} variables; samples and variance must have as many")
    out = np.empty(len(points))
    interrupt = _lib.Interrupt()
    status, sentence = _lib.long_call(
        "log_density", orbit.ctypes.data, *orbit.shape, widths.ctypes.data, points.ctypes.data, len(points), threads,
        _lib.watched(interrupt), out.ctypes.data, interrupt=interrupt,
    )  # fmt: skip
    if status != 0:
        raise from_status(status, sentence)
    return out


class Statistics(NamedTuple):
    """Of a measure over runs. A diverged run is infinite, and is never dropped from median and MAD."""

    measured: int  #: values that are not NaN
    diverged: int  #: of them
    median: float
    mad: float  #: median absolute deviation from the median
    mean: float  #: of those that did not diverge
    sem: float  #: standard error of that mean


def statistics(values: Any) -> Statistics:
    """Median, MAD, mean and standard error over runs."""
    numbers = np.ascontiguousarray(values, dtype=float).ravel()
    found = s.Statistics()
    _lib.call("statistics_of", numbers.ctypes.data, numbers.size, c.byref(found))
    return Statistics(int(found.count), int(found.diverged), found.median, found.mad, found.mean, found.sem)
