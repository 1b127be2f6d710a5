"""Forecasts: ensembles over initial states and runs, with bands, and their skill beside two simple forecasts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _html
from ._containers import Shell, Table, generated
from ._linear import LAGS, autoregression
from ._series import tables
from ._time import Axis
from .exceptions import ArgumentError, DivergedError
from .model import Model

__all__ = ["Forecast", "Skill"]

_ERRORS = 24  # one-step errors from which the spread of initial states is estimated


class Past(NamedTuple):
    """The rows up to now, in user units."""

    values: np.ndarray  #: (T, N)
    inputs: Optional[np.ndarray]  #: (T, K)
    first_test: int  #: forecasts are tested on rows from here on
    source: str  #: what these rows are


@dataclass(frozen=True, eq=False)
class Skill:
    """Errors of forecasts from many rows of the past, by step ahead, as shares of the standard deviation of the data.

    ``persistence`` repeats the last row, ``linear`` is a linear autoregression of the last rows, fitted by least
    squares to the rows before those of the test.
    """

    model: np.ndarray  #: (horizon) RMSE of the mean over the models
    persistence: np.ndarray  #: (horizon)
    linear: np.ndarray  #: (horizon)
    windows: int  #: from how many rows was forecast
    source: str  #: what these rows are

    @property
    def value(self) -> np.ndarray:
        """1 - error / error of the better simple forecast, by step ahead: 1 is perfect, 0 is no better."""
        return np.asarray(1.0 - self.model / np.minimum(self.persistence, self.linear))


@dataclass(frozen=True, eq=False)
class Forecast:
    """An ensemble of forecasts. Tables are in the container of the data and continue its time."""

    median: Any  #: (horizon, N)
    lower: Any  #: (horizon, N): below it are (1 - level) / 2 of the members
    upper: Any  #: (horizon, N)
    members: np.ndarray = field(repr=False)  #: (n, horizon, N), without those that diverged
    level: float = 0.9
    first_row: int = 0  #: row of the data that the first row stands for
    diverged: int = 0  #: members that left all bounds
    names: Tuple[str, ...] = ()
    skill: Optional[Skill] = None  #: None when there are too few rows to test on

    def _repr_html_(self) -> str:
        rows: List[Tuple[str, Any]] = [
            ("members", f"{len(self.members)}" + (f", {self.diverged} diverged" if self.diverged else "")),
            ("steps", self.members.shape[1]),
            ("variables", ", ".join(self.names)),
            ("band", f"{self.level:.0%} of the members"),
        ]
        if self.skill is not None:
            rows.append(("tested on", f"{self.skill.windows} forecasts from {self.skill.source}"))
            for step in sorted({1, *np.geomspace(1, len(self.skill.model), 4).astype(int)}):
                errors = (getattr(self.skill, name)[step - 1] for name in ("model", "persistence", "linear"))
                shown = ", ".join(f"{name} {e:.3g}" for name, e in zip(("model", "persistence", "linear"), errors))
                rows.append((f"error {step} ahead", f"{shown}; skill {self.skill.value[step - 1]:.2f}"))
        return _html.table("Forecast", rows)


def one_step_errors(model: Model, past: Past) -> np.ndarray:
    """Standard deviation (N) of the errors of single steps on the last rows."""
    rows = len(past.values)
    reach = min(model.warmup_rows(rows), rows - 2)
    errors = []
    for end in np.unique(np.linspace(reach + 1, rows - 1, _ERRORS).astype(int)):
        context = past.values[end - reach - 1 : end + 1]
        if not np.isnan(context).any():
            errors.append(_free(model, context[:-1], 1, _cut(past.inputs, end - reach - 1, end + 1))[0] - context[-1])
    return np.sqrt(np.mean(np.square(errors), axis=0)) if errors else np.zeros(past.values.shape[1])


def _cut(inputs: Optional[np.ndarray], first: int, end: int) -> Optional[np.ndarray]:
    return None if inputs is None else inputs[first:end]


def _free(model: Model, context: np.ndarray, steps: int, inputs: Optional[np.ndarray]) -> np.ndarray:
    """Free rows after the last row of a context; ``inputs`` are those of the context and of the free rows."""
    known: Dict[str, Any] = {}
    if inputs is not None:
        known = {"inputs": inputs[: len(context)], "future_inputs": inputs[len(context) :]}
    return np.asarray(model.generate(steps, context, warmup=len(context) - 1, **known))


def measure_skill(models: Sequence[Model], past: Past, horizon: int, windows: int) -> Optional[Skill]:
    """Forecasts from rows spread evenly over the rows of the test; None when no row has so many after it."""
    values, rows = past.values, len(past.values)
    reach = max(model.warmup_rows(rows) for model in models)
    first = max(past.first_test, reach, 2 * LAGS[-1])
    last = rows - 1 - horizon
    starts = np.unique(np.linspace(first, last, windows if last >= first else 0).astype(int))
    sd = np.nanstd(values, axis=0)
    sd = np.where(sd > 0, sd, 1.0)
    scaled = (values - np.nanmean(values, axis=0)) / sd
    linear = autoregression(scaled[: max(first, 4 * LAGS[-1])])
    needed = max(reach, linear.lags - 1)
    squares: List[np.ndarray] = []
    for start in starts:
        seen, truth = slice(start - reach, start + 1), scaled[start + 1 : start + 1 + horizon]
        if np.isnan(scaled[start - needed : start + 1 + horizon]).any():
            continue
        inputs = _cut(past.inputs, start - reach, start + 1 + horizon)
        try:
            runs = [_free(model, values[seen], horizon, inputs) for model in models]
            mean = (np.mean(runs, axis=0) - np.nanmean(values, axis=0)) / sd
        except DivergedError:
            mean = np.full_like(truth, np.inf)
        naive = np.broadcast_to(scaled[start], truth.shape)
        guess = linear.forecast(scaled[: start + 1], horizon)
        squares.append(np.array([np.mean((other - truth) ** 2, axis=1) for other in (mean, naive, guess)]))
    if not squares:
        return None
    errors = np.sqrt(np.mean(squares, axis=0))
    return Skill(errors[0], errors[1], errors[2], len(squares), past.source)


class Start(NamedTuple):
    """Where a forecast begins and in which container it comes back."""

    past: Past
    shell: Shell
    names: Sequence[str]
    axis: Optional[Axis]
    first_row: int  #: row of the data that the first forecast row stands for


def start_of(table: Table, inputs: Any, names: Sequence[str]) -> Start:
    """A forecast from the last row of a context, tested on its second half."""
    values = np.array(table.values, dtype=float)
    driven = None if inputs is None else np.asarray(tables(inputs, "inputs")[0].values, dtype=float)
    past = Past(values, driven, len(values) // 2, "rows of the context")
    return Start(past, table.shell, names, table.time, len(values))


def forecast(
    models: Sequence[Model], start: Start, horizon: int, n: int, *, level: float, seed: int, windows: int,
    future_inputs: Any,
) -> Forecast:  # fmt: skip
    """The members are free runs of the models in turn. The first of each starts at the rows as they are, the others
    at rows with Gaussian noise of the size of the model's one-step errors."""
    if horizon < 1 or n < 1 or not 0 < level < 1:
        raise ArgumentError(f"horizon is {horizon}, n {n}, level {level}: give at least 1, 1, and between 0 and 1")
    past, random = start.past, np.random.default_rng(seed)
    reach = min(max(model.warmup_rows(2 * len(past.values)) for model in models), len(past.values) - 1)
    context, inputs = past.values[-reach - 1 :], None
    if past.inputs is not None:
        future = np.asarray(future_inputs if future_inputs is not None else np.empty((0, past.inputs.shape[1])), float)
        inputs = np.concatenate([past.inputs[-reach - 1 :], future])
    spread = [one_step_errors(model, past) for model in models]
    members, lost = [], []
    for k in range(n):
        noise = spread[k % len(models)] * random.standard_normal(context.shape) * (k >= len(models))
        try:
            members.append(_free(models[k % len(models)], context + noise, horizon, inputs))
        except DivergedError as error:
            lost.append(error)
    if not members:
        raise lost[0]
    middle, low, high = np.quantile(members, (0.5, 0.5 - level / 2, 0.5 + level / 2), axis=0)
    made = [generated(x, start.shell, start.names, start.axis, start.first_row) for x in (middle, low, high)]
    skill = measure_skill(models, past, horizon, windows) if windows > 0 else None
    return Forecast(
        median=made[0], lower=made[1], upper=made[2], members=np.array(members), level=level,
        first_row=start.first_row, diverged=len(lost), names=tuple(map(str, start.names)), skill=skill,
    )  # fmt: skip
