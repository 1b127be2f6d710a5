"""The estimator, with the interface of scikit-learn: fit a model to data, run it free, evaluate it."""

from __future__ import annotations

import ctypes as c
import os
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple, Union

import numpy as np

from . import _html, _lib, _structs
from ._containers import PLAIN, Reading, Shell, Table, generated
from ._estimator import ELSEWHERE
from ._evaluation import Evaluation, Measuring, evaluation_of
from ._parameters import Parameters
from ._series import Series, tables
from ._settings import Settings
from ._time import Axis
from ._training import UnusedWarning, Watch, log_arrays
from .exceptions import ArgumentError, DataError, DivergedError, NotFittedError
from .fitting import Fit, fit_tables
from .forecasting import Forecast, Past, Start, forecast, start_of
from .model import Lyapunov, Model
from .runs import Run, load_run

__all__ = ["DivergenceWarning", "Reconstructor"]

_SMALLEST_TAIL = 100  # rows of warm-up that the library takes when a model has more units than variables
_RECENT = 10_000  # rows that are kept of the data: free runs continue there, and forecasts are tested on them


class DivergenceWarning(UserWarning):
    """One of several runs diverged; the others are used."""


class _Trainer:
    """A training in memory, which can stop and continue."""

    def __init__(self, settings: Settings, series: Series) -> None:
        self.handle = _lib.create("trainer_create", settings.pointer, series.handle)

    def __del__(self) -> None:
        handle, self.handle = getattr(self, "handle", None), 0
        if handle:
            _lib.plain("trainer_free", handle)

    def model(self, run: int) -> Model:
        return Model(_lib.create("trainer_model", self.handle, run))

    def best(self, run: int) -> Tuple[Optional[Dict[str, float]], Optional[Model]]:
        """The best validation of a run and its model; None for both before the first validation."""
        found, made = _structs.Validation(), c.c_void_p()
        status, _ = _lib.outcome("trainer_best_model", self.handle, run, c.byref(found), c.byref(made))
        if status != 0 or made.value is None:
            return None, None
        return {name: getattr(found, name) for name in found.names()}, Model(made.value)


class Reconstructor(Parameters):
    """Reconstruct a dynamical system from time series.

    The parameters are the settings of a training (docs/settings.md), with their names, defaults and bounds. Three
    are special to Python: ``results``, ``random_state`` (the setting ``seed``) and ``verbose``. With
    ``latent_dim="auto"`` ``fit`` chooses the settings by itself, as ``antler.fit`` does.

    After ``fit`` these attributes exist:

    ``model_``
        With ``validation``: of all runs the ``antler.Model`` with the lowest score on the held-back rows (docs/spec.md,
        14), at whichever update it had it. Without: the last model of the run with the lowest last loss, of those that
        did not diverge.
    ``log_``
        The log of the run of ``model_``: a dictionary of columns.
    ``models_``, ``logs_``
        Model and log of every run; with ``validation`` the best model of each.
    ``validations_``
        With ``validation``, for every run: ``update``, ``score``, ``dstsp``, ``hellinger`` and ``prediction_error`` of
        its best model; None for a run that was not validated.
    ``runs_``
        The runs on disk (``antler.Run``), when ``results`` is set.
    ``fit_``
        With ``latent_dim="auto"``: an ``antler.Fit``, with settings, measures and all trials.
    ``time_``
        The time axis of the last trajectory: its name, first time, step, unit and number of rows.
    ``n_features_in_``, ``feature_names_in_``
        N, and the names of the columns when the data have names.

    >>> x = antler.simulate("lorenz63", 20_000)
    >>> model = antler.Reconstructor(latent_dim=5, hidden_dim=50, updates=2_000, random_state=0).fit(x)
    >>> orbit = model.generate(10_000, context=x)
    """

    model_: Model
    fit_: Fit
    models_: List[Optional[Model]]
    validations_: List[Optional[Dict[str, float]]]
    log_: Dict[str, np.ndarray]
    logs_: List[Dict[str, np.ndarray]]
    runs_: List[Run]
    n_features_in_: int
    feature_names_in_: np.ndarray
    time_: Optional[Axis]
    _shell: Shell = PLAIN
    _trainer: Optional["_Trainer"] = None
    _rows_of_log: Dict[int, List[Any]]  # of a training in memory

    def _seed(self) -> int:
        state = self.random_state
        if state is None:
            return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
        if hasattr(state, "integers"):
            return int(state.integers(2**63))
        if hasattr(state, "randint"):
            return int(state.randint(2**31))
        if isinstance(state, (int, np.integer)) and not isinstance(state, bool) and state >= 0:
            return int(state)
        raise ArgumentError(f"random_state is {state!r}; give a whole number, a NumPy generator, or None for chance")

    def _settings(self) -> Settings:
        chosen = Settings()
        for name, value in self.get_params().items():
            if name not in ("random_state", "verbose", "results"):
                chosen.set(name, value)
        if self.results is not None:
            chosen.set("results", os.fspath(self.results))
        chosen.set("seed", self._seed())
        return chosen

    # ---- fitting -----------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        inputs: Any = None,
        callback: Optional[Callable[[Dict[str, Any]], Any]] = None,
        overwrite: bool = False,
        minutes: float = 0.0,
        time: Any = "auto",
        resample: Any = None,
    ) -> "Reconstructor":
        """Train on X: one trajectory (T, N), a list or a dictionary of them, or a file, in the user's units.

        ``inputs`` are known inputs beside X, row t being the input of the step to row t. ``callback`` gets every
        row of the log; a true return value stops the training. ``y`` is not used. With ``results`` set, ``overwrite``
        replaces runs that are there. ``minutes`` is the budget of ``latent_dim="auto"``.

        ``time``: where the times of rows are. "auto" takes the index of a frame, the coordinate of an xarray, or a
        column of dates or one called time; a name takes that column; an array has the times themselves; "none" means
        that rows have no time. Times out of order or doubled are refused, rows that are missing become NaN, and uneven
        times are refused unless ``resample`` gives the time between two rows to interpolate to: a number (seconds for
        dates), a time span, or a pair of it and "linear" or "cubic".

        Ctrl-C stops after the current update and raises ``KeyboardInterrupt``; ``model_`` is then the present
        model, and ``resume`` continues (with ``results`` set there is also a checkpoint on disk). A run that
        diverges raises a ``DivergedError``; one of several runs, a ``DivergenceWarning``, unless all diverged.
        """
        reading = Reading(time, resample)
        found = tables(X, "X", reading)
        if all(len(table.values) == 1 for table in found):
            raise DataError("X has 1 sample, and a trajectory needs at least two rows: time runs down the rows")
        driven = None if inputs is None else tables(inputs, "inputs", reading.beside())
        if str(self.latent_dim) == "auto":
            return self._fit_auto(found, driven, minutes)
        chosen = self._settings()
        series = Series.of_tables(found, driven, dt=chosen.get("dt"))
        if chosen.get("missing") == "refuse" or not any(np.isnan(table.values).any() for table in found):
            least = 2 if len(found) == 1 else 1
            _lib.call("series_check", series.handle, least)  # first: a table on its side is not a matter of settings
        _lib.call("settings_check", chosen.pointer, series.handle)
        unused = c.create_string_buffer(1000)
        if _lib.plain("settings_unused", chosen.pointer, series.handle, unused, len(unused)):
            warnings.warn(_lib.text(unused.value), UnusedWarning, stacklevel=2)
        self._forget()
        self._remember(found, driven)
        watch = Watch(self.verbose, callback)
        if self.results is None:
            trainer = self._trainer = _Trainer(chosen, series)
            self._train(watch, "trainer_run", trainer.handle)
        else:
            self._train(watch, "train_series", chosen.pointer, series.handle, 0, overwrite)
        return self

    def _fit_auto(self, found: List[Table], driven: Optional[List[Table]], minutes: float) -> "Reconstructor":
        """The settings are chosen, too; ``fit_`` has all that was found."""
        self._forget()
        self._remember(found, driven)
        self.fit_ = fit_tables(
            found, driven, minutes=minutes, validation=float(self.validation) or 0.2, seed=self._seed(),
            results=self.results, name=self.experiment, dt=float(self.dt), device=self.device,
            threads=int(self.threads), verbose=bool(self.verbose),
        )  # fmt: skip
        self.model_, self.models_ = self.fit_.model, [self.fit_.model]
        return self

    def resume(
        self, X: Any = None, *, inputs: Any = None, callback: Optional[Callable[[Dict[str, Any]], Any]] = None,
        time: Any = "auto", resample: Any = None,
    ) -> "Reconstructor":
        """Continue a stopped ``fit`` to the same numbers as without the stop.

        With ``results`` set, give X, inputs, time and resample again; in memory nothing is needed.
        """
        watch = Watch(self.verbose, callback)
        if self.results is not None:
            if X is None:
                raise ArgumentError("a training on disk goes on with the same data: give X to resume")
            reading = Reading(time, resample)
            found = tables(X, "X", reading)
            driven = None if inputs is None else tables(inputs, "inputs", reading.beside())
            self._remember(found, driven)
            series = Series.of_tables(found, driven, dt=float(self.dt))
            self._train(watch, "train_resume_series", _lib.path_bytes(self._folder()), None, series.handle)
        else:
            trainer = self._trainer
            if trainer is None:
                raise NotFittedError("there is nothing to resume; call fit first")
            self._train(watch, "trainer_run", trainer.handle)
        return self

    def _folder(self) -> str:
        """The folder of all runs of a training on disk."""
        return os.path.join(os.fspath(self.results or ""), self.experiment, self.name)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]:
            delattr(self, name)
        self._trainer, self._rows_of_log = None, {}

    def _remember(self, found: List[Table], driven: Optional[List[Table]]) -> None:
        """What later calls need of the data: names, container, time, and the last rows, where a forecast begins."""
        self.n_features_in_ = found[0].values.shape[1]
        self._shell, self.time_ = found[0].shell, found[-1].time
        self._rows = len(found[-1].values)
        if found[0].names is not None:
            self.feature_names_in_ = np.array(found[0].names, dtype=object)
        self._recent = np.array(found[-1].values[-_RECENT:], dtype=float)
        self._recent_inputs = None if driven is None else np.array(driven[-1].values[-_RECENT:], dtype=float)

    def _train(self, watch: Watch, function: str, *arguments: Any) -> None:
        try:
            watch.run(function, *arguments)
        finally:  # also after Ctrl-C: the models as they stand
            if watch.choices or watch.endings:
                models, logs = self._in_memory(watch) if self._trainer is not None else self._on_disk()
                self._choose(self._validated(models), logs, watch)
        lost = {run: sentence for run, (status, sentence) in watch.endings.items() if status == DivergedError.status}
        if lost and len(lost) == int(self.runs):
            error = DivergedError(lost[min(lost)])
            error.partial = self.__dict__.get("model_")
            raise error
        for run, sentence in sorted(lost.items()):
            warnings.warn(f"run {run}: {sentence}", DivergenceWarning, stacklevel=3)

    def _in_memory(self, watch: Watch) -> Tuple[List[Optional[Model]], List[Dict[str, np.ndarray]]]:
        """Models and logs of all runs of a training in memory; None for a run that has not begun."""
        assert self._trainer is not None
        for run, rows in watch.rows.items():
            self._rows_of_log.setdefault(run, []).extend(rows)
        models: List[Optional[Model]] = []
        for number in range(1, int(self.runs) + 1):
            begun = number in watch.choices or number in self._rows_of_log
            models.append(self._trainer.model(number) if begun else None)
        return models, [log_arrays(self._rows_of_log.get(number + 1, [])) for number in range(len(models))]

    def _on_disk(self) -> Tuple[List[Optional[Model]], List[Dict[str, np.ndarray]]]:
        """The same of a training on disk; fills ``runs_``."""
        folders = [os.path.join(self._folder(), f"{number:03d}") for number in range(1, int(self.runs) + 1)]
        self.runs_ = [load_run(folder) for folder in folders]
        there = [os.path.exists(os.path.join(folder, "model.npz")) for folder in folders]
        return [run.model if known else None for run, known in zip(self.runs_, there)], [run.log for run in self.runs_]

    def _validated(self, models: List[Optional[Model]]) -> List[Optional[Model]]:
        """With validation the best model of each run in place of its last one; fills ``validations_``."""
        if float(self.validation) == 0.0:
            return models
        trainer = self._trainer
        if trainer is None:
            found = [(run.validation, run.best) for run in self.runs_]
        else:
            found = [trainer.best(number + 1) for number in range(len(models))]
        self.validations_ = [validation for validation, _ in found]
        return [last if best is None else best for last, (_, best) in zip(models, found)]

    def _order(self, number: int, log: Dict[str, np.ndarray], lost: bool) -> Tuple[float, ...]:
        """What the runs are compared by: the smallest is chosen. With validation the training loss has no say."""
        validations = self.__dict__.get("validations_", [])
        if not any(validations):
            return lost, log["loss"][-1] if len(log["loss"]) else np.inf, number
        own = validations[number] or {"score": np.inf, "prediction_error": np.inf}
        return own["score"], own["prediction_error"], number

    def _choose(self, models: List[Optional[Model]], logs: List[Dict[str, np.ndarray]], watch: Watch) -> None:
        """Of the models that there are, the best by validation; without it the one with the lowest last loss, and one
        that diverged only if all have."""
        lost = {run for run, (status, _) in watch.endings.items() if status == DivergedError.status}
        order = [
            (self._order(number, log, number + 1 in lost), number)
            for number, (model, log) in enumerate(zip(models, logs))
            if model is not None
        ]
        if not order:
            return
        best = min(order)[1]
        chosen = models[best]
        assert chosen is not None
        self.models_, self.logs_, self.model_, self.log_ = models, logs, chosen, logs[best]

    def __sklearn_is_fitted__(self) -> bool:
        return "model_" in self.__dict__

    def _fitted(self) -> Model:
        if "model_" not in self.__dict__:
            raise NotFittedError("this Reconstructor is not fitted yet: call fit, or load a model")
        return self.model_

    # ---- using the model ---------------------------------------------------------------------------

    def _checked(self, X: Any, what: str) -> List[Table]:
        """The tables of X, which have the columns of the training data in their order."""
        found = tables(X, what)
        N = self._fitted().dim
        if found[0].values.shape[1] != N:
            raise DataError(
                f"{what} has {found[0].values.shape[1]} features, but Reconstructor is expecting {N} features as input"
            )
        names = getattr(self, "feature_names_in_", None)
        if names is not None and found[0].names is not None and list(names) != list(found[0].names):
            raise DataError(
                "The feature names should match those that were passed during fit: "
                f"{', '.join(map(str, names))}; {what} has {', '.join(found[0].names)}"
            )
        return found

    def generate(
        self,
        steps: int,
        context: Any = None,
        *,
        inputs: Any = None,
        future_inputs: Any = None,
        warmup: Union[int, str, None] = None,
        latent: bool = False,
        inputs_end: str = "stop",
    ) -> Any:
        """Run free for ``steps`` rows, in the user's units and in the container of the data.

        Without a ``context`` the run continues from the end of the training data. With one, the model warms up on its
        first rows (``warmup`` of them; None: as many as in training; "all": the whole context) and the first free
        row stands for row warmup + 1 of the context. ``latent``: return also the latent states. For models with inputs
        see ``Model.generate``. A run that leaves all bounds raises a ``DivergedError``.

        The time of the data goes on in the result. ``first_row`` of an array (``attrs["first_row"]`` of a frame or an
        xarray) is the row of the data that its first row stands for, counted from 0.
        """
        model = self._fitted()
        if context is None:
            context, inputs, warmup = self._end(inputs)
            shell, axis, first = self._shell, self.time_, self._rows
            if model.input_dim and future_inputs is None:
                raise DataError(
                    f"the {steps} steps after the last row need inputs that the data do not have: give future_inputs=, "
                    f"({steps}, {model.input_dim}), or a context with its inputs"
                )
        else:
            table = self._checked(context, "context")[0]
            rows = len(table.values)
            shell, axis = table.shell, table.time
            warmup = rows - 1 if warmup == "all" else warmup
            first = 1 + (model.warmup_rows(rows) if warmup is None else warmup if isinstance(warmup, int) else 0)
            context = table.values
        if isinstance(warmup, str):
            raise ArgumentError(f"warmup is {warmup!r}; give a number of rows, 'all', or None")
        orbit = model.generate(
            steps, context, inputs=inputs, future_inputs=future_inputs, warmup=warmup, latent=latent,
            inputs_end=inputs_end,
        )  # fmt: skip
        names = getattr(self, "feature_names_in_", model.names)
        x, z = orbit if latent else (orbit, None)
        made = generated(np.asarray(x), shell, names, axis, first)
        return (made, z) if latent else made

    def _end(self, inputs: Any) -> Any:
        """Context, inputs and warm-up that lead to the end of the training data."""
        self._need_data()
        rows = max(int(self.warmup), _SMALLEST_TAIL) + 1
        tail, driven = self._recent[-rows:], self._recent_inputs
        if inputs is None and driven is not None:
            inputs = driven[-rows:]
        return tail, inputs, len(tail) - 1

    def _need_data(self) -> None:
        if getattr(self, "_recent", None) is None:
            raise ArgumentError("the model was loaded from a file, without its data: give a context to start from")

    def forecast(
        self,
        horizon: int,
        n: int = 20,
        context: Any = None,
        *,
        inputs: Any = None,
        future_inputs: Any = None,
        level: float = 0.9,
        windows: int = 40,
        seed: int = 1,
    ) -> Forecast:
        """Forecast ``horizon`` rows with ``n`` members, in the user's units and in the container of the data.

        The members are free runs of the models of all runs in turn, from the end of the training data or of a
        ``context``. The first of each model starts at the rows as they are, the others at rows with Gaussian noise of
        the size of the model's one-step errors. ``level`` is the share of the members inside the band. ``skill``
        compares forecasts from up to ``windows`` rows of the past with persistence and a linear autoregression: rows
        that were held back, where there were some, or those of the context; 0 leaves it out.
        """
        model = self._fitted()
        names = getattr(self, "feature_names_in_", model.names)
        if context is None:
            self._need_data()
            held, rows = int(float(self.validation) * self._rows), len(self._recent)
            source = "rows that were held back" if held else "rows of the training"
            past = Past(self._recent, self._recent_inputs, rows - min(held or rows, rows // 2), source)
            start = Start(past, self._shell, names, self.time_, self._rows)
        else:
            start = start_of(self._checked(context, "context")[0], inputs, names)
        runs = [other for other in getattr(self, "models_", [model]) if other is not None] or [model]
        return forecast(
            runs, start, horizon, n, level=level, seed=seed, windows=windows, future_inputs=future_inputs
        )

    def evaluate(self, X: Any, *, inputs: Any = None, **options: Any) -> Evaluation:
        """Evaluate the model on data that it has not seen: D_stsp, D_H, RMSE, Lyapunov exponents.

        ``antler.Measuring`` has the options. Returns a dictionary of the form of ``metrics.json``; its ``verdict``
        says whether the model is good, by which figure, and what to do next.
        """
        options.setdefault("training", getattr(self, "log_", None))
        found = self._checked(X, "X")
        model, driven = self._fitted(), None if inputs is None else tables(inputs, "inputs")
        return evaluation_of(model._handle, model.names, Series.of_tables(found, driven), Measuring(**options))

    def score(self, X: Any, y: Any = None, *, inputs: Any = None, samples: int = 10_000) -> float:
        """Minus D_stsp on X, so that larger is better; minus infinity when the free run diverged."""
        found = self.evaluate(X, inputs=inputs, samples=samples, rmse=False, lyapunov=False, verdict=False)
        return -float(found.summary()["dstsp"])

    def lyapunov_spectrum(self, context: Any = None, **options: Any) -> Lyapunov:
        """Lyapunov exponents along a free orbit that starts like that of ``generate``.

        ``Model.lyapunov_spectrum`` has the options.
        """
        model = self._fitted()
        if context is None and getattr(self, "_recent", None) is not None:
            context, options["inputs"], options["warmup"] = self._end(options.get("inputs"))
            if self._recent_inputs is not None and "future_inputs" not in options:
                options["future_inputs"] = self._recent_inputs[-len(context) :]
        elif context is not None:
            context = self._checked(context, "context")[0].values
        return model.lyapunov_spectrum(context, **options)

    # ---- files -------------------------------------------------------------------------------------

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write the model with its settings and scaling as ``.npz``, which Antler and NumPy read."""
        self._fitted().save(path)

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Reconstructor":
        """Load a fitted Reconstructor from a ``model.npz``, such as ``save`` writes, or from a run folder."""
        model = Model.load(path)
        made = cls()
        settings = model.settings
        settings["random_state"] = settings.pop("seed", 1)
        for name in ("results", *ELSEWHERE):
            settings.pop(name, None)
        made.set_params(**settings)
        made.model_, made.models_ = model, [model]
        made.n_features_in_, made.time_ = model.dim, None
        return made

    def _repr_html_(self) -> str:
        rows = [(name, repr(value)) for name, value in self._changed().items()]
        if self.__sklearn_is_fitted__():
            model, log = self.model_, self.__dict__.get("log_", {})
            rows += [("model", repr(model)[len("<antler.Model ") : -1]), ("variables", _html.short(model.names))]
            rows.append(("time", str(self.time_) if self.time_ is not None else ""))
            if len(log.get("loss", ())):
                rows.append(("last loss", f"{_html.number(float(log['loss'][-1]))} after {log['update'][-1]} updates"))
            known = [found for found in self.__dict__.get("validations_", []) if found]
            if known:
                best = min(known, key=lambda found: found["score"])
                rows.append(("score on held-back rows", f"{_html.number(best['score'])} at update {best['update']}"))
        return _html.table("Reconstructor", rows or [("", "not fitted")])

    def __getstate__(self) -> Dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("_trainer", None)  # it lives in the library; what it has learnt is in the models
        return state

    def __setstate__(self, state: Dict[str, Any]) -> None:
        self.__dict__.update(state, _trainer=None)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            input_tags=InputTags(two_d_array=True, three_d_array=True, allow_nan=True),
            requires_fit=True,
        )
