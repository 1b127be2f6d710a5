"""Data from files and from the built-in systems, as NumPy arrays."""

from __future__ import annotations

import ctypes as c
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _lib
from . import _structs as s
from ._series import Series, like
from .exceptions import ArgumentError, from_status

__all__ = ["System", "load", "simulate", "systems"]


@dataclass(frozen=True)
class System:
    """A built-in dynamical system."""

    name: str  #: as ``simulate`` takes it
    title: str  #: one line
    equations: str  #: plain text, several lines
    source: str  #: of equations and constants
    variables: Tuple[str, ...]  #: names of the state variables
    observed: Tuple[str, ...]  #: names of those that ``simulate`` returns
    parameters: Mapping[str, float]  #: defaults by name
    dt: float  #: default time between two rows
    length: int  #: default number of rows
    transient: float  #: default time before the first row
    lyapunov: float  #: largest Lyapunov exponent with the default parameters, per unit of time; 0: not chaotic


def systems() -> Dict[str, System]:
    """All built-in systems by name."""
    found = {}
    for i in range(_lib.plain("system_count")):
        info = _lib.plain("system_at", i).contents
        variables = tuple(_lib.text(info.variables[j]) for j in range(info.dim))
        found[_lib.text(info.name)] = System(
            name=_lib.text(info.name),
            title=_lib.text(info.title),
            equations=_lib.text(info.equations),
            source=_lib.text(info.source),
            variables=variables,
            observed=variables[: info.observed],
            parameters={
                _lib.text(info.parameters[j].name): info.parameters[j].value for j in range(info.parameter_count)
            },
            dt=info.dt,
            length=info.length,
            transient=info.transient,
            lyapunov=info.lyapunov,
        )
    return found


def simulate(
    system: str,
    length: Optional[int] = None,
    *,
    dt: Optional[float] = None,
    seed: int = 1,
    noise: float = 0.0,
    standardise: bool = False,
    transient: Optional[float] = None,
    initial: Optional[Sequence[float]] = None,
    t0: Optional[float] = None,
    all_variables: bool = False,
    tolerance: Optional[float] = None,
    container: str = "numpy",
    **parameters: float,
) -> Any:
    """Integrate a built-in system and sample it at multiples of ``dt``. Returns an array (length, N).

    ``noise`` is Gaussian, as a fraction of each variable's standard deviation. ``standardise`` then scales every
    variable to mean 0 and standard deviation 1, which is the default of the command ``antler simulate``. Further
    keywords are parameters of the system: ``simulate("lorenz63", rho=24)``. What is not given has the default of the
    system. ``container`` is ``"numpy"``, ``"pandas"`` or ``"xarray"``; the latter two have names, and xarray the time.
    Same arguments, same bytes.
    """
    opts = s.SimulateOpts()
    _lib.call("simulate_opts_default", system.encode(), c.byref(opts))
    opts.seed, opts.noise, opts.standardise, opts.all_variables = seed, noise, standardise, all_variables
    for name, value in (("length", length), ("dt", dt), ("transient", transient), ("tolerance", tolerance)):
        if value is not None:
            setattr(opts, name, value)
    if t0 is not None:
        opts.has_t0, opts.t0 = True, t0
    if initial is not None:
        variables = systems()[system].variables
        if len(initial) != len(variables):
            raise ArgumentError(
                f"initial has {len(initial)} numbers and {system} {len(variables)} variables: {', '.join(variables)}"
            )
        opts.has_initial = True
        opts.initial[: len(initial)] = [float(value) for value in initial]
    for name, value in parameters.items():
        _lib.call("simulate_opts_set", c.byref(opts), name.encode(), value)
    made = c.c_void_p()
    interrupt = _lib.Interrupt()
    opts.progress = _lib.watched(interrupt)
    status, sentence = _lib.long_call("simulate", c.byref(opts), c.byref(made), interrupt=interrupt)
    if status != 0:
        raise from_status(status, sentence)
    series = Series(made.value or 0)
    return like(series.read()[0], container, series.names, series.dt)


def load(
    paths: Union[str, "os.PathLike[str]", Sequence[Any]],
    *,
    columns: Optional[str] = None,
    inputs: Optional[str] = None,
    transpose: bool = False,
    dt: float = 0.0,
    container: str = "numpy",
) -> Any:
    """Load .npy, .npz, .csv or .tsv files or globs. Returns an array in the user's units, or a list of arrays.

    ``columns`` and ``inputs`` choose columns by names or 1-based numbers, ``"x,y"`` or ``"1-3"``. With
    ``inputs`` the result is a pair (x, inputs). A fault in a file raises an exception that names its place.
    """
    patterns = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    raw = (c.c_char_p * len(patterns))(*[_lib.path_bytes(path) for path in patterns])
    opts = s.LoadOpts()
    _lib.plain("load_opts_default", c.byref(opts))
    opts.transpose, opts.dt = transpose, dt
    opts.columns = None if columns is None else columns.encode()
    opts.inputs = None if inputs is None else inputs.encode()
    series = Series(_lib.create("series_load", raw, len(patterns), c.byref(opts)))
    x: List[Any] = []
    driven: List[Any] = []
    scaling = series.scaling
    for i in range(series.count):
        values, values_in = series.read(i)
        if scaling is not None:
            values = values * scaling[1] + scaling[0]
        x.append(like(values, container, series.names[: series.dim], series.dt))
        if values_in is not None:
            driven.append(like(values_in, container, series.names[series.dim :], series.dt))
    if not driven:
        return x[0] if len(x) == 1 else x
    return (x[0], driven[0]) if len(x) == 1 else (x, driven)
