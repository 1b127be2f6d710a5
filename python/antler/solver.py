"""The solver on arrays, for work on the method: states, loss, gradient, iterations."""

from __future__ import annotations

import ctypes as c
from typing import Any, Dict, Mapping, NamedTuple, Optional, Tuple, Union

import numpy as np

from . import _lib
from . import _structs as s
from ._settings import Settings
from .exceptions import ArgumentError, DataError, from_status
from .model import Model

__all__ = ["Problem", "Solution", "solve"]


class Solution(NamedTuple):
    """The result of a solve. The arrays are copies."""

    states: np.ndarray  #: z_1 ... z_T: (batch, T, M)
    adjoint: np.ndarray  #: v_1 ... v_T, dloss/dz_t along the trajectory: (batch, T, M)
    loss: float  #: mean squared error after the warm-up
    gradient: Dict[str, np.ndarray]  #: of the loss, by the names of the parameters
    iterations: int  #: of Newton's method or of shooting; 0 when sequential
    converged: bool  #: before any fallback
    fallbacks: int  #: sequences that were solved again sequentially
    last_change: float  #: largest change of a state in the last iteration
    seconds: float  #: forward and backward
    choice: str  #: which solver and kernels, and why


class Problem:
    """A gradient problem of fixed sizes. The library allocates its memory once, for any number of solves.

    ``dim`` is N, ``input_dim`` K; keywords are settings by their YAML names (latent_dim, hidden_dim,
    sequence_length, batch_size, gtf_alpha, warmup, solver, precision, ...). The initial
    parameters are those of a training with the same ``seed``.
    """

    def __init__(self, dim: int, input_dim: int = 0, **settings: Any) -> None:
        chosen = Settings()
        for name, value in settings.items():
            chosen.set(name, value)
        get = chosen.get
        if get("model") != "shplrnn":
            raise ArgumentError(f"the bare solver is for the shplrnn, not for the {get('model')}")
        self.dim, self.input_dim, self.latent_dim = int(dim), int(input_dim), get("latent_dim")
        self.hidden_dim, self.rank = get("hidden_dim"), get("rank")
        self._decay = "A" if get("diagonal") == "free" else "Abar"
        self.sequence_length, self.batch_size = get("sequence_length"), get("batch_size")
        self._handle = _lib.create("problem_create", chosen.pointer, dim, input_dim)

    def __del__(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), 0
        if handle:
            _lib.plain("problem_free", handle)

    @property
    def shapes(self) -> Dict[str, Tuple[int, ...]]:
        """Names and shapes of the parameters, in the order of the flat vector."""
        M, L, r = self.latent_dim, self.hidden_dim, self.rank
        weights: Dict[str, Tuple[int, ...]] = {"W": (M, L)} if r == 0 else {"WL": (M, r), "WR": (r, L)}
        inputs: Dict[str, Tuple[int, ...]] = {"C": (M, self.input_dim)} if self.input_dim else {}
        return {self._decay: (M,), **weights, "V": (L, M), "b": (L,), "h": (M,), **inputs, "B": (self.dim, M)}

    @property
    def choice(self) -> str:
        """Which solver and kernels are in use, and why."""
        return _lib.text(_lib.plain("problem_choice", self._handle))

    @property
    def bytes(self) -> int:
        """Bytes of memory in the library."""
        return int(_lib.plain("problem_bytes", self._handle))

    def split(self, flat: np.ndarray) -> Dict[str, np.ndarray]:
        """Views by name of a flat parameter vector or gradient."""
        found, at = {}, 0
        for name, shape in self.shapes.items():
            count = int(np.prod(shape))
            found[name] = flat[at : at + count].reshape(shape)
            at += count
        return found

    def _flat(self, parameters: Mapping[str, Any]) -> np.ndarray:
        values = dict(parameters)
        if self._decay == "Abar":
            A = values.pop("A", None)
            if "Abar" not in values and A is not None:
                values["Abar"] = np.arctanh(np.asarray(A, dtype=float))
        strange = set(values) - set(self.shapes)
        missing = set(self.shapes) - set(values)
        if strange or missing:
            raise ArgumentError(
                f"parameters are {', '.join(self.shapes)}{' (or A for Abar)' if self._decay == 'Abar' else ''}; "
                + (f"missing: {', '.join(sorted(missing))}" if missing else f"unknown: {', '.join(sorted(strange))}")
            )
        parts = []
        for name, shape in self.shapes.items():
            part = np.asarray(values[name], dtype=float)
            if part.shape != shape:
                raise ArgumentError(f"{name} has shape {part.shape}; it must be {shape}")
            parts.append(part.ravel())
        return np.concatenate(parts)

    def set_parameters(self, parameters: Union[Model, Mapping[str, Any], np.ndarray]) -> None:
        """Set the parameters: a model of the same sizes, arrays by name, or one flat vector.

        The names are A or Abar (A alone with ``diagonal: free``), W or WL and WR, V, b, h, C and B.
        """
        if isinstance(parameters, Model):
            _lib.call("problem_set_model", self._handle, parameters._handle)
            return
        total = int(_lib.plain("problem_parameter_total", self._handle))
        if isinstance(parameters, Mapping):
            flat = self._flat(parameters)
        else:
            flat = np.ascontiguousarray(parameters, dtype=float)
        if flat.shape != (total,):
            raise ArgumentError(f"the parameters have shape {flat.shape}; as one vector they are ({total},)")
        _lib.plain("problem_set_parameters", self._handle, flat.ctypes.data)

    def _batch(self, array: Any, rows: int, columns: int, what: str) -> np.ndarray:
        values = np.ascontiguousarray(array, dtype=float)
        if values.ndim == 2:
            values = values[None]
        if values.shape != (self.batch_size, rows, columns):
            raise DataError(f"{what} has shape {values.shape}; it must be {(self.batch_size, rows, columns)}")
        return values

    def solve(self, x: Any, inputs: Any = None, *, check: bool = False) -> Solution:
        """Solve the forced sequences x (batch, T+1, N) with inputs (batch, T, K), in the model's units.

        A solve that does not converge (without fallback) or is not finite raises an exception. ``check`` compares
        with plain sequential loops and puts the largest relative differences into ``choice``.
        """
        T = self.sequence_length
        data = self._batch(x, T + 1, self.dim, "x")
        driven = None
        if self.input_dim:
            if inputs is None:
                raise DataError(f"the problem has {self.input_dim} inputs; give them as inputs= (batch, T, K)")
            driven = self._batch(inputs, T, self.input_dim, "inputs")
        _lib.plain("problem_set_data", self._handle, data.ctypes.data, _lib.address(driven))
        report = s.SolveReport()
        states_differ, gradient_differs = c.c_double(), c.c_double()
        if check:
            outcome = _lib.outcome(
                "problem_check", self._handle, c.byref(report), c.byref(states_differ), c.byref(gradient_differs)
            )
        else:
            outcome = _lib.outcome("problem_solve", self._handle, c.byref(report))
        if outcome[0] != 0:
            raise from_status(*outcome)
        choice = self.choice
        if check:
            choice += f"; differs by {states_differ.value:.2g} (states), {gradient_differs.value:.2g} (gradient)"
        return self._solution(report, choice)

    def _solution(self, report: s.SolveReport, choice: str) -> Solution:
        states = np.empty((self.batch_size, self.sequence_length, self.latent_dim))
        adjoint = np.empty_like(states)
        for i in range(self.batch_size):
            _lib.plain("problem_states", self._handle, i, states[i].ctypes.data)
            _lib.call("problem_adjoint", self._handle, i, adjoint[i].ctypes.data)
        gradient = np.empty(int(_lib.plain("problem_parameter_total", self._handle)))
        _lib.plain("problem_gradient", self._handle, gradient.ctypes.data)
        return Solution(
            states,
            adjoint,
            report.loss,
            self.split(gradient),
            report.iterations,
            report.outcome == 0,
            report.fallbacks,
            report.last_change,
            report.seconds,
            choice,
        )


def solve(
    parameters: Union[Model, Mapping[str, Any]], x: Any, inputs: Optional[Any] = None, **settings: Any
) -> Solution:
    """Solve forced sequences x (T+1, N) or (batch, T+1, N) once, for states, adjoint, loss and exact gradient.

    ``parameters`` is a model, or arrays under the paper's letters. Sizes follow from the arrays; keywords are
    settings by their YAML names: ``gtf_alpha``, ``warmup``, ``solver``, ``teacher``, ``precision``, ... With
    ``precision="double"``, the default here, the error is about 1e-10.
    """
    data = np.ascontiguousarray(x, dtype=float)
    data = data[None] if data.ndim == 2 else data
    if data.ndim != 3 or data.shape[1] < 2:
        raise DataError(f"x has shape {data.shape}; it must be (T+1, N) or (batch, T+1, N)")
    driven = None if inputs is None else np.ascontiguousarray(inputs, dtype=float)
    letters = parameters.parameters if isinstance(parameters, Model) else parameters
    if "V" not in letters or not ("W" in letters or "WL" in letters):
        raise ArgumentError("parameters need V and W, or WL and WR: the bare solver is for the shPLRNN")
    sizes: Dict[str, Any] = dict(
        latent_dim=np.shape(letters["V"])[1],
        hidden_dim=np.shape(letters["V"])[0],
        rank=np.shape(letters["WL"])[1] if "WL" in letters else 0,
        batch_size=data.shape[0],
        sequence_length=data.shape[1] - 1,
        precision="double",
    )
    if isinstance(parameters, Model):
        sizes["clipped"], sizes["diagonal"] = parameters.clipped, parameters.diagonal
    input_dim = 0 if driven is None else driven.shape[-1]
    problem = Problem(data.shape[2], input_dim, **{**sizes, **settings})
    problem.set_parameters(parameters)
    return problem.solve(data, driven)
