"""Data and free run side by side: marginals, autocorrelation, correlations, and the error against the horizon.

What all runs that are compared with the same data share is in `Scales`; the errors come from the library.
"""

from __future__ import annotations

import ctypes as c
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from .. import _lib, curves
from .. import _structs as s
from .._linear import linear_model
from .._series import Series
from ..exceptions import AntlerError, DivergedError, MachineError, MemoryError, from_status
from ..tables import Orbit

VARIABLES = 12  # drawn one by one; more are in maps
CHANNELS = 128  # of a map, at most
BINS = 40  # of a marginal
REACH = 4.0  # standard deviations from the mean, of the map of marginals
LAGS = 240  # points of an autocorrelation, at most
MAP_LAGS = 120
FEWEST = 50  # rows of a free run, for statistics of it
WINDOWS = 100
HORIZONS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512)


@dataclass
class Scales:
    """What the data of a page fix for every run: bins, lags, mean and standard deviation of each variable."""

    edges: np.ndarray  #: (BINS + 1, n): of the marginals of the first n variables, in user units
    lags: int  #: the largest one
    mean: np.ndarray  #: (N)
    sd: np.ndarray  #: (N), 1 where a variable does not change


def rounded(values: Any, digits: int) -> List[Any]:
    """Nested lists for JSON with so many decimals; null for what is not finite."""
    array = np.asarray(values, dtype=float)
    if array.ndim > 1:
        return [rounded(row, digits) for row in array]
    return [round(float(value), digits) if np.isfinite(value) else None for value in array]


def scales_of(x: np.ndarray) -> Scales:
    mean, sd = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    shown = x[:, :VARIABLES]
    low, high = (f(shown, axis=0) for f in (np.nanmin, np.nanmax))
    margin = 0.1 * sd[:VARIABLES]  # the range of D_stsp by bins (spec 8)
    edges = np.linspace(low - margin, high + margin, BINS + 1)
    forgotten = max(curves.forgetting_time(column) for column in shown.T)
    return Scales(edges, int(np.clip(50 * forgotten, 100, min(5000, max(len(x) // 4, 1)))), mean, sd)


def _shares(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """The share of the known values in each bin, in percent; what is outside counts in the whole."""
    known = values[np.isfinite(values)]
    return 100.0 * np.histogram(known, edges)[0] / max(len(known), 1)


def _lag_rows(lags: int, points: int) -> np.ndarray:
    return np.unique(np.linspace(0, lags, min(points, lags) + 1).astype(int))


def _autocorrelation(x: np.ndarray, scales: Scales) -> np.ndarray:
    """At lags 0 … scales.lags; NaN where x has less than twice as many rows."""
    reach = min(scales.lags, len(x) // 2)
    found = np.full((scales.lags + 1, x.shape[1]), np.nan)
    found[: reach + 1] = curves.autocorrelation(x, reach)
    return found


def _correlation(x: np.ndarray) -> np.ndarray:
    """(N, N), over the rows in which both variables are known; NaN for a variable that does not change."""
    known = np.isfinite(x)
    deviation = np.where(known, x - np.nanmean(np.where(known, x, np.nan), axis=0), 0.0)
    pairs = known.T.astype(float) @ known
    covariance = deviation.T @ deviation / np.maximum(pairs, 1.0)
    largest = np.maximum(1.0, np.abs(np.where(known, x, 0.0)).max(axis=0))
    sd = np.sqrt(np.where(np.diag(covariance) > (1e-12 * largest) ** 2, np.diag(covariance), np.nan))
    return np.where(pairs > 0, covariance / np.outer(sd, sd), np.nan)


def statistics(x: np.ndarray, scales: Scales) -> Dict[str, Any]:
    """Marginals, autocorrelation and correlations of an orbit x (T, N), over all of its rows."""
    correlated = _autocorrelation(x[:, :CHANNELS], scales)
    found = {
        "marginals": [rounded(_shares(x[:, i], scales.edges[:, i]), 3) for i in range(scales.edges.shape[1])],
        "autocorrelation": rounded(correlated[_lag_rows(scales.lags, LAGS), :VARIABLES].T, 3),
    }
    if x.shape[1] > 1:
        found["correlations"] = rounded(_correlation(x[:, :CHANNELS]), 3)
    if x.shape[1] > VARIABLES:
        edges = np.linspace(-REACH, REACH, BINS + 1)
        standard = ((x - scales.mean) / scales.sd)[:, :CHANNELS]
        found["marginal_map"] = [rounded(_shares(column, edges), 2) for column in standard.T]
        found["autocorrelation_map"] = rounded(correlated[_lag_rows(scales.lags, MAP_LAGS)].T, 2)
    return found


def axes(scales: Scales, dt: float) -> Dict[str, Any]:
    """Where the numbers of `statistics` belong: the middles of bins, and lags in time or rows."""
    step = dt or 1.0
    return {
        "bins": [[float(f"{v:.5g}") for v in 0.5 * (edges[1:] + edges[:-1])] for edges in scales.edges.T],
        "lags": [float(f"{v:.5g}") for v in step * _lag_rows(scales.lags, LAGS)],
        "map_bins": rounded(np.linspace(-REACH, REACH, 2 * BINS + 1)[1::2], 3),
        "map_lags": [float(f"{v:.5g}") for v in step * _lag_rows(scales.lags, MAP_LAGS)],
    }


# ---- error against the horizon ----------------------------------------------------------------------


def horizons(rows: int, warmup: int) -> List[int]:
    """Steps ahead for which data of so many rows have at least 20 windows."""
    return [steps for steps in HORIZONS if rows - warmup - steps >= 20]


def _errors(model: Any, series: Series, steps: List[int], warmup: int) -> List[s.RmseResult]:
    """PE(n) for each n (spec 13), in the model's units."""
    found = []
    for n in steps:
        opts, result = s.RmseOpts(), s.RmseResult()
        _lib.plain("rmse_opts_default", c.byref(opts))
        opts.steps, opts.windows, opts.warmup = n, WINDOWS, warmup
        status, sentence = _lib.outcome(
            "forecast", model._handle, series.handle, b"prediction_error", c.byref(opts), c.byref(result)
        )
        if status not in (0, DivergedError.status):
            raise from_status(status, sentence)
        found.append(result)
    return found


class Baselines:
    """Linear models, each fitted and measured once."""

    def __init__(self) -> None:
        self.known: Dict[Tuple[Any, ...], Tuple[List[float], int]] = {}

    def of(
        self, key: Tuple[Any, ...], rows: np.ndarray, scaling: Any, series: Series, steps: List[int], warmup: int
    ) -> Tuple[List[float], int]:
        """(PE(n) for each n, rows of the past that it takes)."""
        if key not in self.known:
            model, lags = linear_model(rows, scaling)
            self.known[key] = [result.mean for result in _errors(model, series, steps, warmup)], lags
        return self.known[key]


def horizon(
    model: Any, true: Orbit, warmup: int, fitted: Optional[Orbit], baselines: Baselines, key: Tuple[Any, ...]
) -> Dict[str, Any]:
    """PE(n) of the model, of the last row and of the mean repeated, and of a linear model, against n.

    `fitted` has the rows to which the linear model is fitted; None: the true orbit. `key` identifies these rows and the
    true orbit. Empty where the data are too short.
    """
    warmup = max(warmup, 8)  # as many rows as the linear model may take
    steps = horizons(len(true.x), warmup)
    if len(steps) < 3:
        return {}
    results = _errors(model, Series.of(true.x, true.inputs), steps, warmup)
    found: Dict[str, Any] = {
        "steps": steps,
        "model": [float(f"{r.mean:.5g}") if np.isfinite(r.mean) else None for r in results],
        "persistence": [float(f"{r.persistence:.5g}") for r in results],
        "average": [float(f"{r.average:.5g}") for r in results],
        "diverged": [int(r.diverged) for r in results],
        "windows": int(results[0].windows),
        "warmup": warmup,
    }
    rows = true.x if fitted is None else fitted.x
    scaling = model.scaling
    full = key if scaling is None else (*key, scaling[0].tobytes(), scaling[1].tobytes())
    try:
        errors, lags = baselines.of((*full, warmup), rows, scaling, Series.of(true.x), steps, warmup)
        found.update(linear=[float(f"{v:.5g}") if np.isfinite(v) else None for v in errors], lags=lags)
    except (MachineError, MemoryError):  # not for lack of a model
        raise
    except AntlerError as fault:
        found["note"] = f"There is no linear model: {fault}"
    return found
