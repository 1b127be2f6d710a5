"""Between the data of a user and the series sets of the library.

Trajectories come as arrays or tables (``_containers.py``) or files (``formats.py``), with time running down the rows;
several come as a list, as a dictionary, or as one array with three axes. Values of a type that the library reads are
never copied, in whatever order they lie.
"""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, List, Optional, Sequence, Tuple

import numpy as np

from . import _lib, _time
from . import _structs as s
from ._containers import AUTO, Reading, Table, of_container
from ._time import Axis
from .exceptions import DataError

_TIME_NONE, _TIME_DATE = 0, 3  # antler_time_kind


def _axes(item: Any) -> int:
    """Number of axes of an array or a table."""
    if hasattr(item, "data_vars"):
        return 2
    return int(getattr(item, "ndim", len(item.shape) if hasattr(item, "shape") else np.ndim(item)))


def _is_list_of_arrays(data: Any) -> bool:
    if not isinstance(data, (list, tuple)) or len(data) == 0:
        return False
    return all(hasattr(item, "shape") or hasattr(item, "data_vars") for item in data)


def _parts(data: Any, what: str) -> Optional[List[Tuple[str, Any]]]:
    """Several trajectories, with what each is called in a message; None when the data are one table."""
    if isinstance(data, dict) and not hasattr(data, "tocsr"):  # a kind of sparse matrix is a dictionary
        if not data or all(_axes(item) < 2 for item in data.values()):
            raise DataError(
                f"{what} is a dictionary of columns; give pandas.DataFrame({what}) for one table, or a dictionary of "
                "tables for several trajectories"
            )
        return [(f"{what}[{key!r}]", item) for key, item in data.items()]
    if _is_list_of_arrays(data) and not all(_axes(item) == 0 for item in data):
        return [(f"{what}[{i}]", item) for i, item in enumerate(data)]
    if isinstance(data, (list, tuple)) and data and all(isinstance(item, (str, os.PathLike)) for item in data):
        return [(os.fspath(item), item) for item in data]
    if getattr(getattr(data, "index", None), "nlevels", 1) == 2:  # pandas: subjects, and time within each
        return [(f"{what}[{key!r}]", part.droplevel(0)) for key, part in data.groupby(level=0, sort=False)]
    return None


def _of_one(data: Any, what: str, reading: Reading) -> List[Table]:
    if isinstance(data, (str, os.PathLike)):
        from . import formats

        return formats.read(data, reading=reading)
    table = of_container(data, what, reading)
    if table.values.ndim == 1:
        return [table._replace(values=table.values[:, None])]
    if table.values.ndim == 3:
        return [table._replace(values=values) for values in table.values]
    return [table]


def tables(data: Any, what: str = "X", reading: Reading = AUTO) -> List[Table]:
    """All trajectories of what a user gave."""
    if data is None or (hasattr(data, "__next__") and not hasattr(data, "__array__")):
        shown = "None" if data is None else f"an iterator ({type(data).__name__}), which can be read only once"
        raise DataError(f"{what} is {shown}; give a table of numbers, a list of tables, or the name of a file")
    parts = _parts(data, what)
    if parts is None:
        found = [(what, table) for table in _of_one(data, what, reading)]
    else:
        stamps = reading.stamps if isinstance(reading.stamps, (list, tuple)) else [reading.time] * len(parts)
        if len(stamps) != len(parts):
            raise DataError(f"there are {len(parts)} trajectories and times for {len(stamps)}; give times for each")
        found = [
            (name, table)
            for (name, item), time in zip(parts, stamps)
            for table in _of_one(item, name, reading._replace(time=time))
        ]
    for i, (name, table) in enumerate(found):
        _check_shape(table.values, f"{name}[{i}]" if parts is None and len(found) > 1 else name, found[0][1].values)
        _check_alike(table, name, found[0][1])
    return [table for _, table in found]


def _check_alike(table: Table, name: str, first: Table) -> None:
    """Trajectories of a set have the same columns in the same order, and the same time between rows."""
    if table.names is not None and first.names is not None and table.names != first.names:
        raise DataError(
            f"{name} has the columns {', '.join(table.names)} and the first trajectory {', '.join(first.names)}; "
            "give the same columns in the same order"
        )
    if table.dt > 0 and first.dt > 0 and abs(table.dt - first.dt) > 1e-3 * first.dt:
        raise DataError(
            f"{name} has a row every {table.dt:.6g} {first.time.unit if first.time else ''} and the first trajectory "
            f"every {first.dt:.6g}; resample= brings them to one"
        )


def _check_shape(values: np.ndarray, name: str, first: np.ndarray) -> None:
    if values.ndim != 2:
        raise DataError(
            f"{name} has {values.ndim} axes, and a trajectory has two, time and variables. "
            "Reshape your data: x.reshape(-1, 1) makes one variable of a plain list"
        )
    if values.shape[1] == 0:
        raise DataError(f"{name} has 0 feature(s) (shape={values.shape}) while a minimum of 1 is required.")
    if values.shape[0] == 0:
        raise DataError(f"{name} has no rows (0 sample(s))")
    if values.shape[1] != first.shape[1]:
        raise DataError(
            f"{name} has {values.shape[1]} variables and the first trajectory {first.shape[1]}; "
            "all trajectories of a fit have the same variables"
        )


def _view(values: np.ndarray) -> s.View:
    # The step over an axis of length 1 is never taken, and NumPy leaves anything in it.
    row_step, column_step = (step if length > 1 else 0 for length, step in zip(values.shape, values.strides))
    return s.View(values.ctypes.data, values.dtype.name.encode(), row_step, column_step)


class Series:
    """A series set of the library; frees itself, and keeps the arrays alive that it looks at."""

    def __init__(self, handle: int, keep: Sequence[np.ndarray] = ()) -> None:
        self.handle = handle
        self._keep = list(keep)

    def __del__(self) -> None:
        handle, self.handle = getattr(self, "handle", None), 0
        if handle:
            _lib.plain("series_free", handle)

    @classmethod
    def of(
        cls, data: Any, inputs: Any = None, dt: float = 0.0, what: str = "X", reading: Reading = AUTO
    ) -> "Series":
        """A set that looks at the user's arrays."""
        driven = None if inputs is None else tables(inputs, "inputs", reading.beside())
        return cls.of_tables(tables(data, what, reading), driven, dt)

    @classmethod
    def of_tables(cls, found: List[Table], inputs: Optional[List[Table]], dt: float = 0.0) -> "Series":
        if inputs is not None and len(inputs) != len(found):
            raise DataError(
                f"there are {len(found)} trajectories and inputs for {len(inputs)}; give one table of inputs for each"
            )
        dim, input_dim = found[0].values.shape[1], 0 if inputs is None else inputs[0].values.shape[1]
        series = cls(_lib.create("series_create", dim, input_dim))
        for i, table in enumerate(found):
            driven = None if inputs is None else inputs[i].values
            if driven is not None and len(driven) != len(table.values):
                raise DataError(
                    f"trajectory {i + 1} has {len(table.values)} rows and its inputs {len(driven)}; row t of the "
                    "inputs drives the step that leads to row t"
                )
            series._append(table.values, driven)
        series._name(found[0].names, 0)
        series._name(None if inputs is None else inputs[0].names, dim)
        _lib.call("series_set_dt", series.handle, dt or found[0].dt)
        return series

    def _append(self, values: np.ndarray, inputs: Optional[np.ndarray]) -> None:
        self._keep += [values] if inputs is None else [values, inputs]
        driven = None if inputs is None else c.byref(_view(inputs))
        _lib.call("series_append_view", self.handle, len(values), c.byref(_view(values)), driven)

    def _name(self, names: Optional[Tuple[str, ...]], first: int) -> None:
        for i, name in enumerate(names or ()):
            _lib.call("series_set_name", self.handle, first + i, name.encode())

    @property
    def count(self) -> int:
        return int(_lib.plain("series_count", self.handle))

    @property
    def dim(self) -> int:
        return int(_lib.plain("series_dim", self.handle))

    @property
    def input_dim(self) -> int:
        return int(_lib.plain("series_input_dim", self.handle))

    @property
    def dt(self) -> float:
        return float(_lib.plain("series_dt", self.handle))

    @property
    def names(self) -> List[str]:
        return [_lib.text(_lib.plain("series_name", self.handle, i)) for i in range(self.dim + self.input_dim)]

    @property
    def notes(self) -> List[str]:
        """What loading decided or found."""
        count = int(_lib.plain("series_note_count", self.handle))
        return [_lib.text(_lib.plain("series_note", self.handle, i)) for i in range(count)]

    def axis(self, trajectory: int) -> Axis:
        """The times of a trajectory, as numbers or dates in UTC."""
        rows = int(_lib.plain("series_length", self.handle, trajectory))
        time = _lib.plain("series_time", self.handle).contents
        name, unit = _lib.text(time.name), _lib.text(time.unit)
        start = float(_lib.plain("series_start", self.handle, trajectory))
        if time.kind == _TIME_NONE or not np.isfinite(start):
            return _time.even(rows, self.dt)
        if time.kind != _TIME_DATE:
            return Axis("number", name, start, time.step, rows, self.dt, unit, column=True)
        stamp = np.datetime64(round(start), "us")
        if time.months > 0:
            day = int(_lib.plain("series_month_day", self.handle, trajectory))
            return _time.month_axis(name, stamp, int(time.months), rows, day, column=True)
        whole = time.step == round(time.step)
        step = np.timedelta64(round(time.step), "us") if whole else np.timedelta64(round(1e3 * time.step), "ns")
        return Axis("datetime", name, stamp, step, rows, self.dt, unit, column=True)

    @property
    def scaling(self) -> Optional[Tuple[np.ndarray, np.ndarray]]:
        """(mean, scale) with user = value * scale + mean; None when the values were not scaled."""
        mean, scale = np.zeros(self.dim), np.ones(self.dim)
        known = _lib.plain("series_scaling", self.handle, _lib.address(mean), _lib.address(scale))
        return (mean, scale) if known else None

    def read(self, trajectory: int = 0) -> Tuple[np.ndarray, Optional[np.ndarray]]:
        """(x, inputs) of a trajectory as new float64 arrays, as stored."""
        length = int(_lib.plain("series_length", self.handle, trajectory))
        x = np.empty((length, self.dim))
        inputs = np.empty((length, self.input_dim)) if self.input_dim else None
        _lib.call("series_read_f64", self.handle, trajectory, 0, length, _lib.address(x), _lib.address(inputs))
        return x, inputs
