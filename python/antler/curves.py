"""What pictures and reports compute before they draw: thinning, limits, statistics over runs. NumPy only."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np


def forgetting_time(x: np.ndarray, longest: int = 5000) -> int:
    """Rows after which the autocorrelation of x (T,) has fallen below 1/e."""
    x = x[: 20 * longest] - x.mean()
    power = np.abs(np.fft.rfft(x, 2 * len(x))) ** 2
    correlation = np.fft.irfft(power)[: min(longest, len(x) // 4)]
    below = np.flatnonzero(correlation < correlation[0] / np.e)
    return max(1, int(below[0]) if len(below) else len(correlation) - 1)


def limits(x: np.ndarray, y: np.ndarray) -> Tuple[float, float]:
    """(low, high) of an axis for true values x and generated ones y: a diverged orbit must not squeeze the true one."""
    low, high = float(np.nanmin(x)), float(np.nanmax(x))
    reach = 0.5 * (high - low) or 1.0
    if len(y):
        low = min(low, max(float(np.nanmin(y)), low - reach))
        high = max(high, min(float(np.nanmax(y)), high + reach))
    margin = 0.05 * (high - low)
    return low - margin, high + margin


def envelope(x: np.ndarray, points: int = 2000) -> Tuple[np.ndarray, np.ndarray]:
    """Thin a long series for drawing: the smallest and largest value of each stretch, so that no spike is lost.

    x is (T,); returns the row numbers and values to draw, at most about `points` of each.
    """
    stretch = len(x) // (points // 2)
    if stretch < 3:
        return np.arange(len(x)), x
    count = len(x) // stretch
    blocks = x[: count * stretch].reshape(count, stretch)
    rows = np.sort(np.column_stack([blocks.argmin(1), blocks.argmax(1)]), axis=1)
    rows = (rows + np.arange(count)[:, None] * stretch).ravel()
    return rows, x[rows]


def smooth_stride(x: np.ndarray, share: float = 0.03, largest: int = 8) -> int:
    """Every how many rows x (T, N) can be taken and still look smooth: steps of at most `share` of its range."""
    span = np.ptp(x, axis=0)
    step = np.percentile(np.abs(np.diff(x, axis=0)), 90, axis=0)
    moving = step > 0
    return int(np.clip(np.min(share * span[moving] / step[moving]), 1, largest)) if moving.any() else 1


def logarithmic_rows(count: int, points: int = 1500) -> np.ndarray:
    """Row numbers 1 … count − 1, evenly spread on a logarithmic axis."""
    return np.unique(np.geomspace(1, count - 1, points).astype(int))


def median_and_mad(values: Any) -> Tuple[float, float]:
    """Median and median absolute deviation; infinite where more than half of the runs diverged."""
    values = np.asarray(values, dtype=float)
    values = values[~np.isnan(values)]
    middle = float(np.median(values)) if len(values) else np.nan
    return middle, float(np.median(np.abs(values - middle))) if np.isfinite(middle) else np.nan
