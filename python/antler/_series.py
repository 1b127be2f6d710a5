"""Between the arrays of a user and the series sets of the library.

Trajectories come as NumPy arrays, pandas frames or xarray arrays with time running down the rows; several
come as a list, or as one array with three axes. Values of a type that the library knows are never copied,
in whatever order they lie.
"""

from __future__ import annotations

import ctypes as c
import os
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _lib
from . import _structs as s
from .exceptions import DataError

_TYPES = {"float64", "float32", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}


class Table(NamedTuple):
    """One trajectory: values (T, N), and what its container knew beside them."""

    values: np.ndarray
    names: Optional[Tuple[str, ...]] = None
    dt: float = 0.0
    container: str = "numpy"


def _numbers(values: Any, what: str) -> np.ndarray:
    """An aligned array of a type that the library reads; a view of the user's wherever that is possible."""
    if hasattr(values, "tocsr"):
        raise DataError(f"{what} is a sparse matrix, and a time series has a value everywhere: give {what}.toarray()")
    if isinstance(values, np.ma.MaskedArray):
        if np.ma.getmaskarray(values).any():
            row = int(np.argwhere(np.ma.getmaskarray(values))[0][0])
            raise DataError(f"{what} is masked in row {row + 1}: remove or interpolate such values")
        values = values.data
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{what} is not a table of numbers, all of whose rows are as long: {error}") from None
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    if array.dtype.kind == "c":
        raise DataError(f"{what} is complex: Complex data not supported; give real and imaginary parts as variables")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{what} is of dtype {array.dtype}, which is no number; convert it with .astype(float)")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements="A")


def _from_objects(array: np.ndarray, what: str) -> np.ndarray:
    """Python numbers in an array of objects are fine; anything else is named with its place."""
    for place in np.ndindex(array.shape):
        item = array[place]
        if isinstance(item, (str, bytes)) or not np.isscalar(item):
            where = f" in row {place[0] + 1}" + (f", column {place[1] + 1}" if len(place) > 1 else "")
            shown = repr(item) if len(repr(item)) < 40 else type(item).__name__
            error = f"{what} is of dtype object, and {shown}{where} is no number; convert it with .astype(float)"
            if isinstance(item, (str, bytes)):
                raise DataError(error)
            raise _NotANumber(error + f": argument must be a string or a number, not {type(item).__name__}")
    return array.astype(float)


class _NotANumber(DataError, TypeError):
    """An object that has no value at all."""


def _frame(frame: Any, what: str) -> Table:
    for name, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            raise DataError(f"column '{name}' of {what} is of dtype {dtype}, which is no number; drop or convert it")
    if any(not isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        values = frame.to_numpy(dtype=float, na_value=np.nan)
    else:
        values = frame.to_numpy()
    return Table(_numbers(values, what), tuple(str(name) for name in frame.columns), 0.0, "pandas")


def _uniform_step(coordinate: Any) -> float:
    """dt of an evenly sampled coordinate of numbers; 0 when it is not."""
    values = np.asarray(coordinate)
    if values.dtype.kind not in "fiu" or values.size < 2:
        return 0.0
    steps = np.diff(values.astype(float))
    return float(steps.mean()) if steps.mean() > 0 and np.allclose(steps, steps.mean(), rtol=1e-6) else 0.0


def _data_array(array: Any, what: str) -> Table:
    """The axis called time or t comes first; the other axis names the variables when its labels are text."""
    time = next((dim for dim in array.dims if str(dim).lower() in ("time", "t")), array.dims[0])
    array = array.transpose(time, ...)
    names = None
    if array.ndim == 2 and array.dims[1] in array.coords:
        labels = np.asarray(array.coords[array.dims[1]])
        names = tuple(str(label) for label in labels) if labels.dtype.kind in "UO" else None
    elif array.ndim == 1 and array.name is not None:
        names = (str(array.name),)
    dt = _uniform_step(array.coords[time]) if time in array.coords else 0.0
    return Table(_numbers(array.values, what), names, dt, "xarray")


def _table(data: Any, what: str) -> Table:
    kind = type(data).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(data, "columns"):
        table = _frame(data, what)
    elif kind == "pandas" and hasattr(data, "to_frame"):
        table = _frame(data.to_frame(), what)
    elif kind == "xarray" and hasattr(data, "dims") and hasattr(data, "values"):
        table = _data_array(data, what)
    else:
        table = Table(_numbers(data, what))
    if table.values.ndim == 1:
        return table._replace(values=table.values[:, None])
    return table


def _is_list_of_arrays(data: Any) -> bool:
    return isinstance(data, (list, tuple)) and len(data) > 0 and all(hasattr(item, "shape") for item in data)


def tables(data: Any, what: str = "X") -> List[Table]:
    """All trajectories of what a user gave."""
    if isinstance(data, (str, os.PathLike)):
        raise DataError(f"{what} is the text '{data}'; give the values, for example antler.load('{data}')")
    if _is_list_of_arrays(data) and not all(np.ndim(item) == 0 for item in data):
        found = [_table(item, f"{what}[{i}]") for i, item in enumerate(data)]
    else:
        table = _table(data, what)
        if table.values.ndim == 3:
            found = [table._replace(values=values) for values in table.values]
        else:
            found = [table]
    for i, table in enumerate(found):
        _check_shape(table.values, what if len(found) == 1 else f"{what}[{i}]", found[0].values)
    return found


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
    def of(cls, data: Any, inputs: Any = None, dt: float = 0.0, what: str = "X") -> "Series":
        """A set that looks at the user's arrays."""
        return cls.of_tables(tables(data, what), None if inputs is None else tables(inputs, "inputs"), dt)

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


def like(values: np.ndarray, container: str, names: Sequence[str], dt: float = 0.0) -> Any:
    """Generated values in the container that the user's own data came in."""
    if container == "pandas":
        import pandas

        return pandas.DataFrame(values, columns=list(names))
    if container == "xarray":
        import xarray

        coords: Dict[str, Any] = {"variable": list(names)}
        if dt > 0:
            coords["time"] = np.arange(len(values)) * dt
        return xarray.DataArray(values, dims=("time", "variable"), coords=coords)
    return values
