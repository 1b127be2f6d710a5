"""The linear baseline of forecasts: an autoregression, also as a Model, so that the library runs and measures it."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

import numpy as np

from .model import Model

LAGS = (1, 2, 4, 8)
ROWS = 20_000  # of the data, at most
UNITS = 64  # more rows of the past than these many numbers are not taken


def _regression(x: np.ndarray, lags: int, first: int) -> Tuple[np.ndarray, np.ndarray, float]:
    """Least squares of row t + 1 on rows t, t − 1, …: (matrix (N, lags N), constant (N,), BIC)."""
    rows, dim = x.shape
    past = np.hstack([x[first - k : rows - 1 - k] for k in range(lags)] + [np.ones((rows - 1 - first, 1))])
    known = np.isfinite(past).all(axis=1) & np.isfinite(x[first + 1 :]).all(axis=1)
    past, target = past[known], x[first + 1 :][known]
    if len(target) <= past.shape[1]:
        return np.eye(dim, lags * dim), np.zeros(dim), np.inf  # too few rows: the last row again
    weights, *_ = np.linalg.lstsq(past, target, rcond=None)
    variance = np.mean((target - past @ weights) ** 2, axis=0) + 1e-12
    bic = len(target) * np.log(variance).sum() + weights.size * np.log(len(target))
    return weights[:-1].T, weights[-1], float(bic)


class Autoregression(NamedTuple):
    """x_{t+1} = c + Σ_k A_k x_{t−k}."""

    matrix: np.ndarray  #: (N, lags N), the newest row first
    constant: np.ndarray  #: (N,)

    @property
    def lags(self) -> int:
        return int(self.matrix.shape[1] // self.matrix.shape[0])

    def forecast(self, context: np.ndarray, horizon: int) -> np.ndarray:
        """The rows (horizon, N) after the last row of a context."""
        rows = [row for row in context[-self.lags :]]
        for _ in range(horizon):
            rows.append(self.matrix @ np.concatenate(rows[: -self.lags - 1 : -1]) + self.constant)
        return np.array(rows[-horizon:])


def autoregression(x: np.ndarray) -> Autoregression:
    """Fitted by least squares to at most 20,000 rows of x (T, N); 1, 2, 4 or 8 rows of the past by the smallest BIC."""
    rows, dim = x[:ROWS], x.shape[1]
    choices = [lags for lags in LAGS if lags == 1 or (lags * dim <= UNITS and 10 * lags * dim <= len(rows))]
    fitted = [_regression(rows, lags, choices[-1] - 1) for lags in choices]
    matrix, constant, _ = min(fitted, key=lambda one: one[2])
    return Autoregression(matrix, constant)


def linear_model(x: np.ndarray, scaling: Optional[Tuple[np.ndarray, np.ndarray]] = None) -> Tuple[Model, int]:
    """The autoregression of the rows x (T, N) as a model, and how many rows it takes. `scaling` is (mean, scale).

    As a shPLRNN without diagonal its state is (x_t, x_{t−1}, …), and φ(z) − φ(−z) = z makes it linear.
    """
    mean, scale = scaling if scaling is not None else (np.zeros(x.shape[1]), np.ones(x.shape[1]))
    dim, linear = x.shape[1], autoregression((x[:ROWS] - mean) / scale)
    units = linear.lags * dim
    step = np.zeros((units, units))
    step[:dim] = linear.matrix
    step[dim:, : units - dim] = np.eye(units - dim)
    model = Model.from_arrays(
        A=np.zeros(units),
        W=np.hstack([step, -step]),
        V=np.vstack([np.eye(units), -np.eye(units)]),
        b=np.zeros(2 * units),
        h=np.concatenate([linear.constant, np.zeros(units - dim)]),
        B=np.eye(dim, units),
        mean=None if scaling is None else mean,
        scale=None if scaling is None else scale,
    )
    return model, linear.lags
