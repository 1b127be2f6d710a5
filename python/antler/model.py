"""Trained models: parameters as arrays, free runs, Lyapunov exponents, evaluation."""

from __future__ import annotations

import ctypes as c
import io
import os
import tempfile
from functools import cached_property
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _html, _lib
from . import _structs as s
from ._containers import PLAIN, Table, generated
from ._evaluation import Evaluation, Measuring, evaluation_of
from ._series import Series, tables
from ._settings import Settings
from ._time import even
from .exceptions import ArgumentError, DivergedError, from_status

__all__ = ["Lyapunov", "Model"]

_INPUTS_END = ("stop", "hold", "repeat")


class Lyapunov(NamedTuple):
    """A Lyapunov spectrum: natural logarithms per step, largest first."""

    exponents: np.ndarray  #: minus infinity where a tangent direction vanishes
    standard_error: np.ndarray  #: from the means of ten equal parts of the run
    spread: np.ndarray  #: range of the running estimate in the last half of the run
    kaplan_yorke: float  #: Kaplan-Yorke dimension of the attractor
    sum: float  #: of the exponents: growth rate of volumes
    steps: int  #: over which the exponents are averaged
    dt: float  #: time between two rows; 0 when unknown
    unforced: np.ndarray  #: exponents of latent directions without forcing, each where it belongs; NaN elsewhere
    kaplan_yorke_reduced: float  #: the dimension without them

    def _repr_html_(self) -> str:
        shown = [f"{value:.4g} ± {error:.1g}" for value, error in zip(self.exponents, self.standard_error)]
        per_time = ", ".join(f"{value:.4g}" for value in self.per_time[:8]) if self.dt > 0 else ""
        rows = [("exponents per step", _html.short(shown)), ("per unit of time", per_time)]
        rows.append(("sum", _html.number(float(self.sum))))
        rows.append(("Kaplan-Yorke dimension", _html.number(float(self.kaplan_yorke))))
        return _html.table("Lyapunov spectrum", [*rows, ("steps", str(self.steps))])

    @property
    def per_time(self) -> np.ndarray:
        """Exponents per unit of time; NaN when dt is unknown."""
        return self.exponents / (self.dt if self.dt > 0 else np.nan)


class _Owner:
    """Frees a model when neither the model nor a view of its parameters is in use."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __del__(self) -> None:
        _lib.plain("model_free", self.handle)


def _choice(name: str, value: str, choices: Sequence[str]) -> int:
    if value not in choices:
        raise ArgumentError(f"{name} is {value!r}; it is one of {', '.join(choices)}")
    return list(choices).index(value)


class Model:
    """A trained model. ``Model.load`` reads a run folder, a ``model.npz`` or a checkpoint.

    The parameters are read-only arrays under the paper's letters: ``model.W``, or all of them in
    ``model.parameters``. They are views of the library's memory, not copies.
    """

    def __init__(self, handle: int) -> None:
        self._owner = _Owner(handle)
        self.path: Optional[str] = None  #: where it was loaded from; None for one from memory
        self.parameters: Mapping[str, np.ndarray] = self._look()

    @property
    def _handle(self) -> int:
        return self._owner.handle

    # ---- from and to files -------------------------------------------------------------------------

    @classmethod
    def load(cls, path: Union[str, "os.PathLike[str]"]) -> "Model":
        """Load the model of a run folder, a ``model.npz`` or a checkpoint."""
        made = cls(_lib.create("model_load", _lib.path_bytes(path)))
        made.path = os.fspath(path)
        return made

    @classmethod
    def from_bytes(cls, raw: bytes) -> "Model":
        """Load the model from the bytes of a ``model.npz``."""
        return cls(_lib.create("model_load_memory", raw, len(raw)))

    @classmethod
    def from_arrays(
        cls,
        A: Any,
        W: Any,
        V: Any,
        b: Any,
        h: Any,
        B: Any,
        C: Any = None,
        *,
        clipped: bool = False,
        diagonal: str = "tanh",
        mean: Any = None,
        scale: Any = None,
        dt: float = 0.0,
        names: Optional[Sequence[str]] = None,
    ) -> "Model":
        """Make a shPLRNN of its parameters: A (M) within (-1, 1), W (M, L), V (L, M), b (L), h (M), B (N, M), C (M, K).

        With ``diagonal="free"`` A may be any numbers, as in a training with that setting.
        With ``mean`` and ``scale`` (N) the model has the units of its data: user = value * scale + mean.
        """
        A = np.asarray(A, dtype=float)
        if A.ndim == 2 and A.shape[0] == A.shape[1]:
            A = np.diag(A)
        if diagonal not in ("tanh", "free"):
            raise ArgumentError(f"diagonal is 'tanh' or 'free', not {diagonal!r}")
        if A.ndim != 1 or not (diagonal == "free" or (np.abs(A) < 1).all()):
            raise ArgumentError("A needs M numbers between -1 and 1: it is tanh of what is trained, or diagonal='free'")
        arrays: Dict[str, Any] = {"A": A}
        arrays.update({"diagonal": "free"} if diagonal == "free" else {"Abar": np.arctanh(A)})
        for name, value in (("W", W), ("V", V), ("b", b), ("h", h), ("B", B), ("C", C)):
            if value is not None:
                arrays[name] = np.ascontiguousarray(value, dtype=float)
        if mean is not None or scale is not None:
            N = np.shape(B)[0]
            arrays["mean"] = np.zeros(N) if mean is None else np.asarray(mean, dtype=float)
            arrays["scale"] = np.ones(N) if scale is None else np.asarray(scale, dtype=float)
        if names is not None:
            arrays["names"] = np.asarray(list(names), dtype=str)
        file = io.BytesIO()
        np.savez(
            file, format="antler model 1", kind="shplrnn", clipped=np.bool_(clipped), dt=np.float64(dt), **arrays
        )
        return cls.from_bytes(file.getvalue())

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Write a ``model.npz``, which ``numpy.load`` also reads. The file is written whole or not at all."""
        _lib.call("model_save", self._handle, _lib.followed(path))

    def to_bytes(self) -> bytes:
        """The bytes of a ``model.npz``."""
        with tempfile.TemporaryDirectory(prefix="antler-") as folder:
            path = os.path.join(folder, "model.npz")
            self.save(path)
            with open(path, "rb") as file:
                return file.read()

    def __reduce__(self) -> Tuple[Any, ...]:
        return Model.from_bytes, (self.to_bytes(),)

    def __copy__(self) -> "Model":
        return self  # nothing in a model can change

    def __deepcopy__(self, _memo: Any) -> "Model":
        return self

    # ---- what it is --------------------------------------------------------------------------------

    def _look(self) -> Dict[str, np.ndarray]:
        """Views of all parameters; each keeps the memory that it looks at."""
        found = {}
        for i in range(_lib.plain("model_parameter_count", self._handle)):
            at = s.Parameter()
            _lib.call("model_parameter_at", self._handle, i, c.byref(at))
            shape = (at.rows,) if at.axes == 1 else (at.rows, at.columns)
            if 0 in shape:
                found[_lib.text(at.name)] = np.empty(shape)
                continue
            memory: Any = c.cast(at.values, c.POINTER(c.c_double * int(np.prod(shape)))).contents
            memory._antler_owner = self._owner
            array = np.frombuffer(memory, dtype=float).reshape(shape)
            array.flags.writeable = False
            found[_lib.text(at.name)] = array
        return found

    def __getattr__(self, name: str) -> np.ndarray:
        parameters: Mapping[str, np.ndarray] = self.__dict__.get("parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"a {type(self).__name__} has no attribute or parameter '{name}'")

    @property
    def kind(self) -> str:
        return _lib.text(_lib.plain("model_kind", self._handle))

    @property
    def dim(self) -> int:
        """N, observed variables."""
        return int(_lib.plain("model_dim", self._handle))

    @property
    def latent_dim(self) -> int:
        """M, latent units."""
        return int(_lib.plain("model_latent_dim", self._handle))

    @property
    def state_dim(self) -> int:
        """Size of the state of a free run: M, and more for a mamba2."""
        return int(_lib.plain("model_state_dim", self._handle))

    @property
    def hidden_dim(self) -> int:
        """L, hidden units."""
        return int(_lib.plain("model_hidden_dim", self._handle))

    @property
    def input_dim(self) -> int:
        """K, inputs."""
        return int(_lib.plain("model_input_dim", self._handle))

    @property
    def rank(self) -> int:
        """Rank of W = WL WR; 0 when W is stored in full."""
        return int(_lib.plain("model_rank", self._handle))

    @property
    def clipped(self) -> bool:
        return bool(_lib.plain("model_clipped", self._handle))

    @property
    def diagonal(self) -> str:
        """How A was trained: ``"free"``, or as ``"tanh"`` of Abar."""
        return "free" if _lib.plain("model_free_diagonal", self._handle) else "tanh"

    @property
    def precision(self) -> int:
        """Precision of training: 32 or 64 bits."""
        return int(_lib.plain("model_precision", self._handle))

    @property
    def dt(self) -> float:
        """Time between two rows; 0 when unknown."""
        return float(_lib.plain("model_dt", self._handle))

    @property
    def names(self) -> List[str]:
        """Names of the observed variables."""
        return [_lib.text(_lib.plain("model_name", self._handle, i)) for i in range(self.dim)]

    @property
    def input_names(self) -> List[str]:
        return [_lib.text(_lib.plain("model_name", self._handle, self.dim + i)) for i in range(self.input_dim)]

    @property
    def settings_yaml(self) -> str:
        """The settings of its training as YAML; empty when unknown."""
        return _lib.text(_lib.plain("model_settings", self._handle))

    @property
    def settings(self) -> Dict[str, Any]:
        """The settings of its training by name; empty when unknown."""
        yaml = self.settings_yaml
        if not yaml:
            return {}
        with tempfile.TemporaryDirectory(prefix="antler-") as folder:
            path = os.path.join(folder, "settings.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(yaml)
            return Settings.load(path).as_dict()

    @property
    def provenance(self) -> str:
        """The build of Antler that trained it; empty when unknown."""
        return _lib.text(_lib.plain("model_provenance", self._handle))

    @property
    def scaling(self) -> Optional[Tuple[np.ndarray, np.ndarray]]:
        """(mean, scale) with user = value * scale + mean; None when the data were not scaled."""
        mean, scale = np.zeros(self.dim), np.ones(self.dim)
        known = _lib.plain("model_scaling", self._handle, _lib.address(mean), _lib.address(scale))
        return (mean, scale) if known else None

    def to_gtf(self, *, diagonal: bool = False) -> Dict[str, np.ndarray]:
        """Copies of the parameters under the letters of GTF-shPLRNN and SCYFI: A, W1, W2, h1, h2 (and B, C).

        There, z_t = A z_{t-1} + W1 phi(W2 z_{t-1} + h2) + h1; so W1 = W, W2 = V, h1 = h, h2 = b. A low-rank W is
        multiplied out. ``diagonal``: A as an (M, M) matrix instead of its diagonal.
        """
        p = self.parameters
        if self.kind != "shplrnn":
            raise ArgumentError(f"a model of kind {self.kind} has no W1, W2, h1, h2; only the shPLRNN has")
        W = p["W"] if "W" in p else p["WL"] @ p["WR"]
        found = {"A": np.diag(p["A"]) if diagonal else p["A"].copy(), "W1": np.array(W), "W2": p["V"].copy()}
        found.update(h1=p["h"].copy(), h2=p["b"].copy(), B=p["B"].copy())
        if self.input_dim > 0:
            found["C"] = p["C"].copy()
        return found

    @classmethod
    def from_gtf(cls, letters: Mapping[str, Any], **known: Any) -> "Model":
        """Make a model of what ``to_gtf`` returns. Without B all M units are observed."""
        A = np.asarray(letters["A"], dtype=float)
        B = letters["B"] if "B" in letters else np.eye(A.shape[0])
        return cls.from_arrays(
            A, letters["W1"], letters["W2"], letters["h2"], letters["h1"], B, letters.get("C"), **known
        )

    def __repr__(self) -> str:
        extra = f", K={self.input_dim}" if self.input_dim else ""
        extra += f", rank={self.rank}" if self.rank else ""
        extra += ", clipped" if self.clipped else ""
        extra += ", free diagonal" if self.diagonal == "free" else ""
        return f"<antler.Model {self.kind}: N={self.dim}, M={self.latent_dim}, L={self.hidden_dim}{extra}>"

    def _repr_html_(self) -> str:
        rows = [("kind", self.kind), ("variables N", f"{self.dim}: {_html.short(self.names)}")]
        rows += [("latent units M", str(self.latent_dim)), ("hidden units L", str(self.hidden_dim))]
        rows.append(("inputs K", f"{self.input_dim}: {_html.short(self.input_names)}" if self.input_dim else ""))
        rows.append(("dt", _html.number(self.dt) if self.dt > 0 else ""))
        rows.append(("parameters", _html.short(list(self.parameters), 20)))
        return _html.table("Model", [*rows, ("from", self.path or ""), ("trained by", self.provenance)])

    # ---- running it --------------------------------------------------------------------------------

    @cached_property
    def _trained_warmup(self) -> int:
        return int(self.settings.get("warmup", 0))

    def warmup_rows(self, rows: int) -> int:
        """Rows that force the model before it runs free, on a context of so many rows, when nothing else is said."""
        observed = self.kind == "shplrnn" and self.latent_dim <= self.dim  # then one row gives the whole state
        return min(self._trained_warmup or (0 if observed else 100), rows // 2)

    def _start(
        self, opts: s.RunStart, context: Any, inputs: Any, future_inputs: Any, warmup: Optional[int], state: Any,
        inputs_end: str,
    ) -> Tuple[List[Any], Optional[Table]]:
        """Fill in where a run begins: (objects to keep alive, the context as a table)."""
        opts.inputs_end = _choice("inputs_end", inputs_end, _INPUTS_END)
        opts.warmup = s.WARMUP_AUTO if warmup is None else warmup
        keep: List[Any] = []
        table: Optional[Table] = None
        if context is not None and state is not None:
            raise ArgumentError("give a context or a state to start from, not both")
        if context is not None:
            found = tables(context, "context")
            table = found[0]
            series = Series.of_tables(found, None if inputs is None else tables(inputs, "inputs"))
            keep.append(series)
            opts.context = series.handle
        elif inputs is not None:
            future_inputs = inputs if future_inputs is None else future_inputs
        if state is not None:
            values = np.ascontiguousarray(state, dtype=float)
            if values.shape != (self.state_dim,):
                raise ArgumentError(f"state has shape {values.shape}; the model's has {self.state_dim} numbers")
            keep.append(values)
            opts.state = values.ctypes.data_as(s.DoubleP)
        if future_inputs is not None:
            keep.append(Series.of(future_inputs, what="future_inputs"))
            opts.inputs = keep[-1].handle
        return keep, table

    def generate(
        self,
        steps: int,
        context: Any = None,
        *,
        inputs: Any = None,
        future_inputs: Any = None,
        warmup: Optional[int] = None,
        state: Any = None,
        latent: bool = False,
        inputs_end: str = "stop",
        user_units: bool = True,
    ) -> Any:
        """Run free. Returns an array (steps, N) in user units; with ``latent``, a pair of it and the latent states.

        With a ``context`` (rows in user units) the model warms up on its first ``warmup`` rows (None: as many as
        in training) and the first free row is row warmup + 1 of the context. Otherwise it starts at the latent
        ``state`` (None: 0). A model with inputs needs ``inputs`` (rows, K) for the context; the free steps use
        the rows that follow the warm-up, or ``future_inputs``. ``inputs_end`` says what follows the last row of inputs:
        an error ("stop"), the last row ("hold") or the first free row again ("repeat"). A run that leaves all bounds
        raises a ``DivergedError``, whose ``partial`` has the rows before.

        The result comes in the container of the context and continues its time. It has the number of the row of the
        context that its first row stands for, from 0: ``first_row`` of an array, ``attrs["first_row"]`` of a frame or
        an xarray.
        """
        if int(steps) < 1:
            raise ArgumentError(f"a free run of {steps} steps: give at least 1")
        opts = s.GenerateOpts()
        _lib.plain("generate_opts_default", c.byref(opts))
        keep, table = self._start(opts.start, context, inputs, future_inputs, warmup, state, inputs_end)
        opts.steps, opts.user_units = steps, user_units
        x = np.empty((steps, self.dim))
        z = np.empty((steps, self.state_dim)) if latent else None
        done = c.c_size_t()
        interrupt = _lib.Interrupt()
        opts.progress = _lib.watched(interrupt)
        arguments = (self._handle, c.byref(opts), _lib.address(x), _lib.address(z), c.byref(done))
        status, sentence = _lib.long_call("generate_into", *arguments, interrupt=interrupt)
        del keep
        if status != 0:
            error = from_status(status, sentence)
            if isinstance(error, DivergedError):
                error.partial = (x[: done.value], z[: done.value]) if z is not None else x[: done.value]
            raise error
        if table is None:
            orbit = generated(x, PLAIN, self.names, even(steps, self.dt), 0)
        else:
            first = (self.warmup_rows(len(table.values)) if warmup is None else warmup) + 1
            orbit = generated(x, table.shell, self.names, table.time, first)
        return (orbit, z) if latent else orbit

    def forecast(
        self, horizon: int, n: int = 20, context: Any = None, *, inputs: Any = None, future_inputs: Any = None,
        level: float = 0.9, windows: int = 40, seed: int = 1,
    ) -> Any:
        """Forecast ``horizon`` rows after the last row of a ``context``, with ``n`` members.

        An ``antler.Forecast`` with median, band and skill; ``Reconstructor.forecast`` describes the options.
        """
        from . import forecasting

        if context is None:
            raise ArgumentError("a model holds no data: give the rows up to now as context")
        start = forecasting.start_of(tables(context, "context")[0], inputs, self.names)
        return forecasting.forecast(
            [self], start, horizon, n, level=level, seed=seed, windows=windows, future_inputs=future_inputs
        )

    def lyapunov_spectrum(
        self,
        context: Any = None,
        *,
        steps: int = 20000,
        transient: int = 1000,
        interval: int = 1,
        exponents: int = 0,
        inputs: Any = None,
        future_inputs: Any = None,
        warmup: Optional[int] = None,
        state: Any = None,
        inputs_end: str = "repeat",
    ) -> Lyapunov:
        """Lyapunov exponents along a free orbit, by QR decompositions.

        ``exponents`` is how many; 0: all of up to 256 states, else 32. The run starts like that of ``generate``.
        """
        opts = s.LyapunovOpts()
        _lib.plain("lyapunov_opts_default", c.byref(opts))
        keep, _table = self._start(opts.start, context, inputs, future_inputs, warmup, state, inputs_end)
        opts.steps, opts.transient, opts.interval, opts.exponents = steps, transient, interval, exponents
        result = s.LyapunovResult()
        interrupt = _lib.Interrupt()
        opts.progress = _lib.watched(interrupt)
        status, sentence = _lib.long_call(
            "lyapunov", self._handle, c.byref(opts), c.byref(result), interrupt=interrupt
        )
        del keep
        try:
            if status != 0:
                raise from_status(status, sentence)
            return lyapunov_of(result)
        finally:
            _lib.plain("lyapunov_result_clear", c.byref(result))

    def rmse(
        self, X: Any, *, steps: int = 128, windows: int = 100, warmup: Optional[int] = None, inputs: Any = None,
        user_units: bool = False,
    ) -> float:
        """RMSE(n) of n = ``steps`` free steps after a warm-up: mean over windows of X, infinite when one diverged."""
        opts = s.RmseOpts()
        _lib.plain("rmse_opts_default", c.byref(opts))
        opts.steps, opts.windows, opts.user_units = steps, windows, user_units
        opts.warmup = s.WARMUP_AUTO if warmup is None else warmup
        series = Series.of(X, inputs)
        result = s.RmseResult()
        status, sentence = _lib.outcome("rmse", self._handle, series.handle, c.byref(opts), c.byref(result))
        if status not in (0, DivergedError.status):
            raise from_status(status, sentence)
        return float(result.mean)

    def evaluate(self, X: Any, *, inputs: Any = None, **options: Any) -> Evaluation:
        """Evaluate the model on data that it has not seen; ``antler.Measuring`` has the options.

        Returns a dictionary of the same form as the ``metrics.json`` of a run; ``summary()`` has one number per
        measure, ``verdict`` what they say together. A free run that diverged is an outcome, not an exception.
        """
        return evaluation_of(self._handle, self.names, Series.of(X, inputs), Measuring(**options))


def lyapunov_of(result: s.LyapunovResult) -> Lyapunov:
    exponents, error, spread, unforced = (
        np.ctypeslib.as_array(pointer, (result.count,)).copy()
        for pointer in (result.exponents, result.error, result.spread, result.unforced)
    )
    known = (result.kaplan_yorke, result.sum, int(result.steps), result.dt)
    return Lyapunov(exponents, error, spread, *known, unforced, result.kaplan_yorke_reduced)
