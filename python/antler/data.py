"""Data from files and from the built-in systems, as arrays or tables."""

from __future__ import annotations

import ctypes as c
import difflib
import glob
import os
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _lib, formats
from . import _structs as s
from ._containers import Reading, Table, like, shell_of
from ._series import Series
from ._time import even
from .exceptions import ArgumentError, NotFoundError, from_status

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
    system. ``container`` is ``"numpy"``, ``"pandas"``, ``"polars"`` or ``"xarray"``; all but the first have names and
    times. Same arguments, same bytes.
    """
    shell = shell_of(container)
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
    values = series.read()[0]
    return like(values, shell, series.names, even(len(values), series.dt))


def picked(tables: List[Table], columns: Optional[str], inputs: Optional[str], path: str) -> Any:
    """Columns of tables by names or numbers: those of x, and those of inputs or None."""
    names = tables[0].names or tuple(f"x{i + 1}" for i in range(tables[0].values.shape[1]))
    driven = [] if inputs is None else _numbers_of_columns(inputs, names, path)
    named = columns is not None and not columns.lstrip().startswith("-")
    chosen = _numbers_of_columns(columns, names, path) if columns is not None and named else list(range(len(names)))
    if not named:  # all but the inputs and those to leave out: "-status,-7"
        words = [] if columns is None else [word.strip() for word in columns.split(",")]
        if not all(word.startswith("-") for word in words):
            raise ArgumentError(f"columns={columns!r}: write '-' before each column to leave out, as in '-status,-7'")
        rest = [i for word in words for i in _numbers_of_columns(word[1:], names, path)] + driven
        chosen = [i for i in chosen if i not in rest]
    if not chosen:
        raise ArgumentError(f"{path}: no column is left beside the inputs")

    def cut(table: Table, which: List[int]) -> Table:
        return table._replace(values=table.values[:, which], names=tuple(names[i] for i in which))

    if len(chosen) < len(names):
        return [cut(t, chosen) for t in tables], [cut(t, driven) for t in tables] if driven else None
    return tables, None


def _numbers_of_columns(words: str, names: Sequence[str], path: str) -> List[int]:
    """Columns counted from 0, from names and 1-based numbers: "x,y" or "1-3"."""
    found: List[int] = []
    for word in (part.strip() for part in words.split(",")):
        first, _, last = word.partition("-")
        if word in names:
            found.append(names.index(word))
        elif first.isdigit() and (last or first).isdigit() and 1 <= int(first) <= int(last or first) <= len(names):
            found += range(int(first) - 1, int(last or first))
        else:
            near = difflib.get_close_matches(word, names, 1)
            hint = f"did you mean '{near[0]}'" if near else f"there are {', '.join(names)}"
            raise NotFoundError(f"{path}: there is no column '{word}'; {hint}")
    return found


def load(
    paths: Union[str, "os.PathLike[str]", Sequence[Any]],
    *,
    columns: Optional[str] = None,
    inputs: Optional[str] = None,
    transpose: bool = False,
    dt: float = 0.0,
    max_bytes: int = 8_000_000_000,
    container: str = "numpy",
    key: Optional[str] = None,
    time: Any = "auto",
    resample: Any = None,
) -> Any:
    """Load a file of any known format, several, or a glob. Returns an array in the user's units, or a list of arrays.

    The library reads .npy, .npz, .csv and .tsv; ``antler.formats.FORMATS`` lists the formats that other libraries
    read. ``columns`` and ``inputs`` choose columns by names or 1-based numbers, ``"x,y"`` or ``"1-3"``;
    ``columns="-x,-2"`` takes all but these. With ``inputs`` the result is a pair (x, inputs). ``key`` names what is
    read of a file that holds several things. ``container`` is ``"numpy"``, ``"pandas"``, ``"polars"`` or ``"xarray"``;
    all but the first have names and times. ``time`` and ``resample`` are those of ``Reconstructor.fit``. A fault in a
    file raises an exception that names its place. ``max_bytes`` limits what compressed archives and pipes may take in
    memory beyond the size of their files.
    """
    shell = shell_of(container)
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    patterns = [part for path in given for part in _expanded(path)]
    others = [path for path in patterns if formats.format_of(path) is not None]
    x: List[Table] = []
    driven: List[Table] = []
    choice = formats.Choice(key, Reading(time, resample))
    if not others:
        chosen: Any = dict(columns=columns, inputs=inputs, transpose=transpose, dt=dt, max_bytes=max_bytes)
        series = formats.load_series(patterns, choice=choice, **chosen)
        for table, table_in in formats.of_series(series, choice.reading):
            x.append(table)
            driven += [] if table_in is None else [table_in]
    else:
        if transpose:
            raise ArgumentError("transpose=True is for .npy, .npz and .csv files; turn the array that is returned")
        for path in patterns:
            tables, tables_in = picked(
                formats.read(path, key=key, reading=choice.reading), columns, inputs, str(path)
            )
            x += tables
            driven += tables_in or []
    made, made_in = ([like(t.values, shell, _named(t), t.time) for t in tables] for tables in (x, driven))
    if not made_in:
        return made[0] if len(made) == 1 else made
    return (made[0], made_in[0]) if len(made) == 1 else (made, made_in)


def _named(table: Table) -> Sequence[str]:
    return table.names or [f"x{i + 1}" for i in range(table.values.shape[1])]


def _expanded(path: Any) -> List[Any]:
    """The files of a pattern in formats of other libraries; the library itself expands those of its own."""
    name = os.fspath(path)
    if isinstance(name, str) and glob.has_magic(name) and not os.path.exists(name):
        found = sorted(glob.glob(name))
        if any(formats.format_of(file) is not None for file in found):
            return list(found)
    return [path]
