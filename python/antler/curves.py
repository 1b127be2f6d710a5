"""What pictures and reports compute before they draw: thinning, limits, statistics over runs. NumPy only."""

from __future__ import annotations

from typing import Any, List, Tuple

import numpy as np


def forgetting_time(x: np.ndarray, longest: int = 5000) -> int:
    """Rows after which the autocorrelation of x (T,) has fallen below 1/e."""
    x = np.nan_to_num(x[: 20 * longest] - np.nanmean(x))
    power = np.abs(np.fft.rfft(x, 2 * len(x))) ** 2
    correlation = np.fft.irfft(power)[: max(1, min(longest, len(x) // 4))]
    below = np.flatnonzero(correlation < correlation[0] / np.e)
    return max(1, int(below[0]) if len(below) else len(correlation) - 1)


def autocorrelation(x: np.ndarray, lags: int) -> np.ndarray:
    """Autocorrelation of each variable of x (T, N) at lags 0 … lags: (lags + 1, N).

    Sums over the pairs of rows that exist, divided by their number; NaN for a variable that does not change.
    """
    known = np.isfinite(x)
    deviation = np.where(known, x - np.nanmean(np.where(known, x, np.nan), axis=0), 0.0)
    size = len(x) + lags + 1  # no wrapping around

    def products(values: np.ndarray) -> np.ndarray:
        return np.fft.irfft(np.abs(np.fft.rfft(values, size, axis=0)) ** 2, size, axis=0)[: lags + 1]

    pairs = np.maximum(np.rint(products(known.astype(float))), 1.0)
    covariance = products(deviation) / pairs
    changes = covariance[0] > 1e-24 * np.maximum(1.0, np.abs(np.where(known, x, 0.0)).max(axis=0)) ** 2
    return np.where(changes, covariance / np.where(changes, covariance[0], 1.0), np.nan)


def pieces(count: int, points: int, stride: int, most: int = 12) -> List[np.ndarray]:
    """Row numbers to draw of an orbit of `count` rows, at most about `points`, from its beginning to its end.

    Every `stride`-th row where that is enough; else intervals of such rows, spread evenly over the whole orbit.
    """
    if count <= points * stride:
        return [np.arange(0, count, stride)]
    parts = int(np.clip(points // 100, 2, most))
    length = max(2, points // parts)
    starts = np.linspace(0, count - (length - 1) * stride - 1, parts).astype(int)
    return [start + stride * np.arange(length) for start in starts]


def occupancy(
    x: np.ndarray, x_range: Tuple[float, float], y_range: Tuple[float, float], width: int, height: int
) -> np.ndarray:
    """How often the orbit x (T, 2) passes each cell of a picture: counts (height, width), the first row on top.

    All rows count; straight lines join them, so that a fast motion leaves no holes. What is outside is left out.
    """
    low, high = np.array([x_range[0], y_range[0]]), np.array([x_range[1], y_range[1]])
    cells = (x - low) / np.where(high > low, high - low, 1.0) * [width, height]
    cells = np.clip(cells, -width - height, 2 * (width + height))  # a diverged orbit: far outside is far enough
    longest = np.abs(np.diff(cells, axis=0)).max(axis=1, initial=0.0)
    longest = longest[np.isfinite(longest)]
    between = int(np.clip(np.ceil(np.percentile(longest, 99)), 1, 16)) if len(longest) else 1
    share = np.arange(1, between)[:, None, None] / between
    line = np.concatenate([(cells[:-1] * (1 - share) + cells[1:] * share).reshape(-1, 2), cells])
    line = line[np.isfinite(line).all(axis=1)]
    counts, _, _ = np.histogram2d(line[:, 1], line[:, 0], bins=(height, width), range=((0, height), (0, width)))
    return np.asarray(counts[::-1], dtype=int)


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
    """Thin a long series for drawing: the smallest and largest value of each block of rows, so that no spike is lost.

    x is (T,); returns the row numbers and values to draw, at most about `points` of each.
    """
    block_rows = len(x) // (points // 2)
    if block_rows < 3:
        return np.arange(len(x)), x
    count = len(x) // block_rows
    blocks = x[: count * block_rows].reshape(count, block_rows)
    rows = np.sort(np.column_stack([blocks.argmin(1), blocks.argmax(1)]), axis=1)
    rows = (rows + np.arange(count)[:, None] * block_rows).ravel()
    return rows, x[rows]


def smooth_stride(x: np.ndarray, share: float = 0.03, largest: int = 8) -> int:
    """Every how many rows x (T, N) can be taken and still look smooth: steps of at most `share` of its range."""
    span = np.nanmax(x, axis=0) - np.nanmin(x, axis=0)
    step = np.nanpercentile(np.abs(np.diff(x, axis=0)), 90, axis=0)
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
