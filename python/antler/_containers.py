"""Containers of a user: tables of pandas, polars, Arrow and xarray become arrays, and generated arrays such tables.

Numbers of a type that the library reads are not copied where they lie in one block of memory. The index or
coordinate of its rows becomes their time (``_time.py``), and what is generated continues it.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from datetime import timezone
from functools import partial
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

from . import _time
from ._extras import need
from ._time import Axis
from .exceptions import ArgumentError, DataError

CONTAINERS = ("numpy", "pandas", "polars", "xarray")
_ISO = re.compile(r"\d{4}-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?)?Z?")


class Shell(NamedTuple):
    """The container in which generated values come back."""

    kind: str = "numpy"  #: one of CONTAINERS, or "dataset": xarray's
    dims: Tuple[str, str] = ("time", "variable")  #: of xarray
    labels: Optional[Tuple[Any, ...]] = None  #: of the columns of pandas, where they are not text: numbers, tuples


class Table(NamedTuple):
    """One trajectory: values (T, N), and what its container knew beside them."""

    values: np.ndarray
    names: Optional[Tuple[str, ...]] = None
    time: Optional[Axis] = None
    shell: Shell = Shell()

    @property
    def dt(self) -> float:
        return 0.0 if self.time is None else self.time.dt


class Reading(NamedTuple):
    """How a container is read."""

    time: Any = "auto"  #: "auto", None ("none"): rows have no time; the name of a column; or the stamps of the rows
    resample: Any = None  #: time between two rows to interpolate to; or a pair of it and "linear" or "cubic"

    def beside(self) -> "Reading":
        """The same for the inputs of the rows, which have the time of the rows."""
        return self if self.off or self.stamps is not None else self._replace(time="auto")

    @property
    def auto(self) -> bool:
        return isinstance(self.time, str) and self.time == "auto"

    @property
    def off(self) -> bool:
        return self.time is None or (isinstance(self.time, str) and self.time == "none")

    @property
    def stamps(self) -> Any:
        """Stamps that the user gave beside the values; None without."""
        return None if self.time is None or isinstance(self.time, str) else self.time


PLAIN = Shell()
AUTO = Reading()


class _NotANumber(DataError, TypeError):
    """An object that has no value at all."""


# ---- numbers ---------------------------------------------------------------------------------------


def numbers(values: Any, what: str) -> np.ndarray:
    """An aligned array of a type that the library reads; a view of the user's wherever that is possible."""
    if hasattr(values, "tocsr"):
        raise DataError(f"{what} is a sparse matrix, and a time series has a value everywhere: give {what}.toarray()")
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(float), np.nan) if np.ma.getmaskarray(values).any() else values.data
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise DataError(f"{what} is not a table of numbers, all of whose rows are as long: {error}") from None
    if array.dtype.kind == "O":
        array = _from_objects(array, what)
    if array.dtype.kind == "c":
        raise DataError(f"{what} is complex: Complex data not supported; give real and imaginary parts as variables")
    if array.dtype.names is not None:
        remedy = f"numpy.lib.recfunctions.structured_to_unstructured({what})"
        raise DataError(f"{what} has the fields {', '.join(array.dtype.names)} (structured); give {remedy}")
    if array.dtype.kind in "Mm":
        raise DataError(f"{what} is of dtype {array.dtype}: times are no variables; give them as time=")
    if array.dtype.kind not in "fiub":
        raise DataError(f"{what} is of dtype {array.dtype}, which is no number; convert it with .astype(float)")
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        array = array.astype(np.float32 if array.dtype.itemsize < 4 else np.float64)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.require(array, requirements="A")


#: Dates as people write them, 24.10.2026 or 10/24/26, and times of day.
_LIKE_A_DATE = re.compile(r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}(?:[ T].*)?|\d{1,2}:\d{2}.*")


def _remedy(text: str) -> str:
    """What helps against a text where numbers are wanted."""
    if _LIKE_A_DATE.fullmatch(text):
        return "convert it with pandas.to_datetime, dayfirst=True where the day comes first, or give time="
    return "drop it, or convert it with .astype(float)"


def _from_objects(array: np.ndarray, what: str) -> np.ndarray:
    """Python numbers in an array of objects are fine; anything else is named with its place."""
    for place in np.ndindex(array.shape):
        item = array[place]
        if isinstance(item, (str, bytes)) or not np.isscalar(item):
            where = f" in row {place[0] + 1}" + (f", column {place[1] + 1}" if len(place) > 1 else "")
            shown = repr(item) if len(repr(item)) < 40 else type(item).__name__
            remedy = _remedy(item) if isinstance(item, str) else "convert it with .astype(float)"
            error = f"{what} is of dtype object, and {shown}{where} is no number; {remedy}"
            if isinstance(item, (str, bytes)):
                raise DataError(error)
            raise _NotANumber(error + f": argument must be a string or a number, not {type(item).__name__}")
    return array.astype(float)


def iso_stamps(values: Any) -> Optional[np.ndarray]:
    """Text of ISO dates as datetime64; None when it is something else."""
    if len(values) == 0 or not isinstance(values[0], str):
        return None
    texts = [str(value) for value in np.asarray(values, dtype=object)]
    if not all(_ISO.fullmatch(text) for text in texts):
        return None
    return np.array([text.rstrip("Z") for text in texts], dtype="datetime64[ns]")


def _dates_of_digits(values: np.ndarray) -> Optional[np.ndarray]:
    """Whole numbers such as 20240331 as dates, where all of them are such, from 1800 to 2199; None otherwise."""
    if values.dtype.kind not in "iu" or len(values) == 0 or values.min() < 18000101 or values.max() > 21991231:
        return None
    years, months, days = values // 10000, values // 100 % 100, values % 100
    if months.min() < 1 or months.max() > 12 or days.min() < 1 or days.max() > 31:
        return None
    firsts = (years.astype(np.int64) - 1970).astype("datetime64[Y]").astype("datetime64[M]") + (months - 1).astype(int)
    dates = firsts.astype("datetime64[D]") + (days - 1).astype(int)
    whole = np.array_equal(dates.astype("datetime64[M]"), firsts)  # no 31st of a month of 30 days
    return dates.astype("datetime64[ns]") if whole else None


def _stamps_of(values: np.ndarray) -> Optional[np.ndarray]:
    """Stamps from a column: numbers, dates, time spans, ISO text; None for anything else."""
    dates = _dates_of_digits(values)
    if dates is not None:
        return dates
    if values.dtype.kind in "fiuMm":
        return values
    if values.dtype.kind == "O" and len(values) and all(hasattr(value, "isoformat") for value in values):
        return values if hasattr(values[0], "calendar") else _naive(values)
    return iso_stamps(values) if values.dtype.kind in "OUST" else None


def _naive(values: np.ndarray) -> np.ndarray:
    """Dates of Python or pandas as datetime64, in UTC where they have a time zone."""
    plain = [v.astimezone(timezone.utc).replace(tzinfo=None) if getattr(v, "tzinfo", None) else v for v in values]
    return np.array([value.isoformat() for value in plain], dtype="datetime64[ns]")


def _rises(values: np.ndarray) -> bool:
    return values.dtype.kind not in "fiu" or (len(values) > 1 and bool(np.all(np.diff(values.astype(float)) > 0)))


def time_column(columns: Mapping[str, Callable[[], np.ndarray]], what: str, reading: Reading) -> Optional[str]:
    """The column that holds the time: the one that is named, the only one of dates, or a rising one called time."""
    if reading.off or reading.stamps is not None:
        return None
    if not reading.auto:
        if reading.time not in columns:
            raise ArgumentError(f"{what} has no column '{reading.time}'; it has {', '.join(columns)}")
        return str(reading.time)
    arrays = {name: get() for name, get in columns.items()}
    dates = [name for name, values in arrays.items() if values.dtype.kind not in "fiub" and _are_dates(values)]
    if len(dates) == 1:
        return dates[0]
    named = [name for name in (dates or arrays) if _time.is_time_name(name)]
    for name in named:
        stamps = _stamps_of(arrays[name])
        if stamps is not None and _rises(stamps):
            return name
    return None


def _are_dates(values: np.ndarray) -> bool:
    return values.dtype.kind in "Mm" or (values.dtype.kind in "OUST" and _stamps_of(values) is not None)


# ---- pandas ----------------------------------------------------------------------------------------


def _frame(frame: Any, what: str, reading: Reading) -> Table:
    frame, grid = _time_of_frame(frame, what, reading)
    if any(getattr(dtype, "kind", "") == "O" for dtype in frame.dtypes):
        frame = frame.infer_objects()  # a column may be of dtype object and hold numbers alone
    for name, dtype in frame.dtypes.items():
        if getattr(dtype, "kind", "O") not in "fiub":
            text = getattr(dtype, "kind", "O") == "O" and str(dtype) != "category"
            remedy = "drop it, or convert it with pandas.to_numeric" if text else "drop or convert it"
            first = frame[name].dropna().iloc[:1].tolist() if text and frame.columns.is_unique else []
            if first and isinstance(first[0], str) and _LIKE_A_DATE.fullmatch(first[0]):
                remedy = _remedy(first[0])
            raise DataError(f"column '{name}' of {what} is of dtype {dtype}, which is no number; {remedy}")
    if any(not isinstance(dtype, np.dtype) for dtype in frame.dtypes):
        values = frame.to_numpy(dtype=float, na_value=np.nan)
    else:
        values = frame.to_numpy()
    names = tuple(str(name) for name in frame.columns)
    labels = None if names == tuple(frame.columns) else tuple(frame.columns)
    return Table(grid.spread(numbers(values, what)), names, grid.axis, Shell("pandas", labels=labels))


def _time_of_frame(frame: Any, what: str, reading: Reading) -> Tuple[Any, _time.Grid]:
    """The columns that are variables, and the time of the rows."""
    import pandas

    rows = _time.Grid(_time.counted(0, len(frame)))
    if reading.off:
        return frame, rows
    if reading.stamps is not None:
        return frame, _time.grid(checked_stamps(reading.stamps, len(frame), what), what, resample=reading.resample)
    index = frame.index
    if reading.auto or (index.name == reading.time and reading.time not in frame.columns):
        grid = _time_of_index(index, what, reading)
        if grid is not None:
            return frame, grid
    get = {str(name): partial(_column, frame, at) for at, name in enumerate(frame.columns)}
    name = time_column(get, what, reading)
    if name is not None:
        at = [str(column) for column in frame.columns].index(name)
        zone = getattr(frame.dtypes.iloc[at], "tz", None)
        stamps = _stamps_of(_column(frame, at))
        if stamps is None:
            raise DataError(f"column '{name}' of {what} holds no times: give numbers, dates or ISO text")
        known = dict(resample=reading.resample, zone=zone, column=True)
        return frame.drop(columns=frame.columns[at]), _time.grid(stamps, what, name, **known)
    if isinstance(index, pandas.RangeIndex):
        rows = _time.Grid(_time.counted(index.start, len(frame), index.step, index.name))
    return frame, rows


def _column(frame: Any, at: int) -> np.ndarray:
    column = frame.iloc[:, at]
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert("UTC").dt.tz_localize(None)
    return np.asarray(column.to_numpy())


def checked_stamps(stamps: Any, rows: int, what: str) -> np.ndarray:
    array = np.asarray(stamps)
    found = _stamps_of(array) if array.ndim == 1 else None
    if found is None or len(found) != rows:
        raise ArgumentError(f"time has shape {array.shape} and {what} {rows} rows; give one number or date for each")
    return found


_PERIODS = {"Y": (1.0, "yr"), "A": (1.0, "yr"), "Q": (3.0, "month"), "M": (1.0, "month"), "W": (7.0, "d"),
            "D": (1.0, "d"), "H": (1.0, "h"), "MIN": (1.0, "min"), "T": (1.0, "min"), "S": (1.0, "s")}  # fmt: skip


def _length_of_period(frequency: str) -> Tuple[float, str]:
    """dt and unit of the name of a frequency of pandas: "M", "Q-DEC", "2h"; its own name where it is no fixed one."""
    found = re.fullmatch(r"(\d*)([A-Za-z]+)(?:-\w+)?", frequency)
    times, name = (found.group(1), found.group(2)) if found else ("", "")
    length, unit = _PERIODS.get(name.upper() if name not in ("m", "ms") else "", (1.0, name or frequency))
    return float(times or 1) * length, unit


def _time_of_index(index: Any, what: str, reading: Reading) -> Optional[_time.Grid]:
    """The time in a pandas index; None when it counts rows from somewhere, or holds labels."""
    import pandas

    known: Dict[str, Any] = {"resample": reading.resample}
    place = f"the index of {what}"
    if isinstance(index, pandas.RangeIndex):
        if index.step < 0:
            raise DataError(f"{place} runs backward; turn the rows round: X[::-1]")
        return None
    if isinstance(index, pandas.PeriodIndex):
        if len(index) == 0:
            return None
        found = _time.grid(index.asi8, place, index.name, **known)
        dt, unit = _length_of_period(index.freqstr)
        axis = replace(found.axis, kind="period", start=index[0], step=index.freqstr, dt=dt, unit=unit)
        return found._replace(axis=axis)
    if isinstance(index, pandas.DatetimeIndex):
        zone, plain = index.tz, index if index.tz is None else index.tz_convert("UTC").tz_localize(None)
        return _time.grid(plain.to_numpy(), place, index.name, zone=zone, **known)
    values = index.to_numpy()
    if values.dtype.kind in "OUST":
        dates = iso_stamps(values)
        return None if dates is None else _time.grid(dates, place, index.name, **known)
    if values.dtype.kind not in "fium":
        return None
    found = _time.grid(values, place, index.name, **known)
    if values.dtype.kind in "iu" and not _time.is_time_name(index.name):
        return found._replace(axis=replace(found.axis, dt=0.0))  # it counts rows
    return found


# ---- polars, Arrow, and other tables of columns ------------------------------------------------------


def _holds_words(values: np.ndarray, dates: bool) -> bool:
    """Whether a column holds text and no number: states, remarks; with ``dates`` also dates in forms not read."""
    known = [value for value in values if value is not None] if values.dtype.kind == "O" else list(values)
    if values.dtype.kind not in "OUT" or not known or not all(isinstance(value, str) for value in known):
        return False
    if dates and _LIKE_A_DATE.fullmatch(known[0]):
        return True
    return bool(known[0][:1].isalpha())  # 3 %, <0.5 and 14:30 are numbers or times in a form that is not read


def _without_words(columns: Dict[str, np.ndarray], what: str, reading: Reading) -> Dict[str, np.ndarray]:
    """The columns of a file without those of words, which a warning names; text below a name of time is not lost."""
    known = reading.off or reading.stamps is not None  # no column is needed for the time
    named = reading.time if isinstance(reading.time, str) else None
    kept = set() if known else {name for name in columns if name == named or _time.is_time_name(name)}
    texts = {name: values for name, values in columns.items() if name not in kept and _holds_words(values, known)}
    worded = [name for name, values in texts.items() if known or iso_stamps(values) is None]
    left = {name: values for name, values in columns.items() if name not in worded}
    if worded and left:
        verbs = "holds words and is" if len(worded) == 1 else "hold words and are"
        warnings.warn(f"{what}: {', '.join(worded)} {verbs} left out; write numbers to keep them", stacklevel=2)
    return left or columns


def of_columns(
    columns: Mapping[str, Any], what: str, reading: Reading, shell: Shell = PLAIN, words: bool = False
) -> Table:
    """A table from columns (T) by name, of numbers, dates or text; with ``words``, columns of words are left out."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    arrays = _without_words(arrays, what, reading) if words else arrays
    name = time_column({key: partial(np.asarray, values) for key, values in arrays.items()}, what, reading)
    stamps = None if name is None else _stamps_of(arrays.pop(name))
    if name is not None and stamps is None:
        raise DataError(f"column '{name}' of {what} holds no times: give numbers, dates or ISO text")
    parts = [numbers(values, f"column '{key}' of {what}") for key, values in arrays.items()]
    if not parts:
        raise DataError(f"{what} has no column of numbers")
    values = parts[0][:, None] if len(parts) == 1 else np.column_stack(parts)
    known = dict(column=True) if reading.stamps is None else {}
    if reading.stamps is not None:
        stamps = checked_stamps(reading.stamps, len(values), what)
    if stamps is None:
        return Table(values, tuple(arrays), _time.counted(0, len(values)), shell)
    grid = _time.grid(stamps, what, name, resample=reading.resample, **known)
    return Table(grid.spread(values), tuple(arrays), grid.axis, shell)


def _polars(frame: Any, what: str, reading: Reading) -> Table:
    frame = frame.to_frame() if not hasattr(frame, "columns") else frame
    table = of_columns({name: frame[name].to_numpy() for name in frame.columns}, what, reading, Shell("polars"))
    if table.time is not None and table.time.name in frame.columns:
        zone = getattr(frame.schema[table.time.name], "time_zone", None)
        return table._replace(time=replace(table.time, zone=zone))
    return table


def _arrow(frame: Any, what: str, reading: Reading) -> Table:
    columns = {name: frame.column(name).to_numpy() for name in frame.column_names}
    return of_columns(columns, what, reading)


# ---- xarray ----------------------------------------------------------------------------------------


def _time_dim(data: Any) -> Any:
    """The axis of time: called time or t, or with dates along it, or marked so by its attributes; else the first."""
    for dim in data.dims:
        if str(dim).lower() in ("time", "t"):
            return dim
    for dim in data.dims:
        coordinate = data.coords.get(dim)
        if coordinate is not None and (
            coordinate.dtype.kind in "Mm" or coordinate.attrs.get("axis") == "T"
            or coordinate.attrs.get("standard_name") == "time"
        ):
            return dim
    return next(iter(data.dims))


def _time_of_coordinate(data: Any, dim: Any, what: str, reading: Reading) -> _time.Grid:
    rows = data.sizes[dim]
    name = dim if not isinstance(reading.time, str) or reading.time in ("auto", "none") else reading.time
    if reading.stamps is not None:
        return _time.grid(checked_stamps(reading.stamps, rows, what), what, dim, resample=reading.resample)
    if reading.off or name not in data.coords:
        if name != dim:
            raise ArgumentError(f"{what} has no coordinate '{name}'; it has {', '.join(map(str, data.coords))}")
        return _time.Grid(_time.counted(0, rows, 1, str(dim)))
    values = np.asarray(data.coords[name])
    if values.dtype.kind in "US":
        dates = iso_stamps(values)
        return _time.Grid(_time.counted(0, rows, 1, str(dim))) if dates is None else _time.grid(dates, what, dim)
    found = _time.grid(values, f"the coordinate '{name}' of {what}", dim, resample=reading.resample)
    unit = str(data.coords[name].attrs.get("units", found.axis.unit))
    return found._replace(axis=replace(found.axis, unit=found.axis.unit or unit))


def _data_array(array: Any, what: str, reading: Reading) -> Table:
    """The axis of time comes first; the other axis names the variables when its labels are text."""
    time = _time_dim(array)
    others = [dim for dim in array.dims if dim != time]
    places = [str(dim) for dim in others if str(dim).lower() in ("lat", "latitude", "lon", "longitude")]
    if len(others) > 1 and places:
        raise DataError(
            f"{what} has the axes {', '.join(map(str, array.dims))}, and a table has two; make one axis of the places: "
            f"{what}.stack(place={tuple(map(str, others))!r})"
        )
    array = array.transpose(*others[:-1], time, *others[-1:])
    names = None
    other = array.dims[-1]
    if array.ndim > 1 and other in array.coords:
        labels = np.asarray(array.coords[other])
        names = tuple(str(label) for label in labels) if labels.dtype.kind in "UOT" else None
    elif array.ndim == 1 and array.name is not None:
        names = (str(array.name),)
    grid = _time_of_coordinate(array, time, what, reading)
    dims = (str(time), str(other) if array.ndim > 1 else "variable")
    values = numbers(array.values, what)
    if array.ndim == 3 and not grid.whole:
        values = np.stack([grid.spread(part) for part in values])
    elif array.ndim < 3:
        values = grid.spread(values)
    return Table(values, names, grid.axis, Shell("xarray", dims))


def _dataset(data: Any, what: str, reading: Reading) -> Table:
    """All variables that run along time: (T) is one column, (T, K) are K columns."""
    time = _time_dim(data)
    parts: List[np.ndarray] = []
    names: List[str] = []
    for name, variable in data.data_vars.items():
        if time not in variable.dims or variable.dtype.kind not in "fiub":
            continue
        if variable.ndim > 2:
            raise DataError(
                f"variable '{name}' of {what} has the axes {', '.join(map(str, variable.dims))}, and a table has two; "
                "choose points of it, for example by .isel or .mean, or make one axis of them by .stack"
            )
        variable = variable.transpose(time, ...)
        parts.append(variable.values.reshape(len(variable), -1))
        labels = variable.coords.get(variable.dims[-1]) if variable.ndim == 2 else None
        ends = range(1, parts[-1].shape[1] + 1) if labels is None else [str(label) for label in labels.values]
        names += [str(name)] if variable.ndim == 1 else [f"{name}_{end}" for end in ends]
    if not parts:
        raise DataError(f"{what} has no variable of numbers along '{time}'")
    grid = _time_of_coordinate(data, time, what, reading)
    values = numbers(parts[0] if len(parts) == 1 else np.column_stack(parts), what)
    return Table(grid.spread(values), tuple(names), grid.axis, Shell("dataset", (str(time), "variable")))


# ---- in and out ------------------------------------------------------------------------------------


def of_container(data: Any, what: str, reading: Reading) -> Table:
    """One table; its values may also be one number per row (T), or several trajectories (trajectories, T, N)."""
    kind = type(data).__module__.partition(".")[0]
    if kind == "pandas" and hasattr(data, "columns"):
        return _frame(data, what, reading)
    if kind == "pandas" and hasattr(data, "to_frame"):
        return _frame(data.to_frame(), what, reading)
    if kind == "polars":
        return _polars(data.collect() if hasattr(data, "collect") else data, what, reading)
    if kind == "pyarrow" and hasattr(data, "column_names"):
        return _arrow(data, what, reading)
    if kind == "xarray" and hasattr(data, "data_vars"):
        return _dataset(data, what, reading)
    if kind == "xarray" and hasattr(data, "dims"):
        return _data_array(data, what, reading)
    if isinstance(data, FreeRun) and data.time is not None and reading.auto:
        reading = reading._replace(time=data.time)
    values = numbers(np.asarray(data) if isinstance(data, FreeRun) else data, what)
    if values.ndim not in (1, 2) or reading.stamps is None:
        if isinstance(reading.time, str) and reading.time not in ("auto", "none"):
            raise ArgumentError(f"{what} has no column '{reading.time}': it is an array; give the times themselves")
        return Table(values, None, _time.counted(0, len(values)) if values.ndim in (1, 2) else None)
    grid = _time.grid(checked_stamps(reading.stamps, len(values), what), what, resample=reading.resample)
    return Table(grid.spread(values), None, grid.axis)


class FreeRun(np.ndarray):
    """A generated array, with the rows of the data that it stands for.

    ``first_row``: its first row stands for this row of the data that it started from, counted from 0. ``time``: the
    times of its rows; None when those of the data are unknown. Parts and results of arithmetic are plain in this
    respect: both are None.
    """

    first_row: Optional[int] = None
    time: Optional[np.ndarray] = None

    def __array_finalize__(self, _source: Any) -> None:
        self.first_row, self.time = None, None

    @classmethod
    def of(cls, values: np.ndarray, first_row: int, time: Optional[np.ndarray]) -> "FreeRun":
        made = values.view(cls)
        made.first_row, made.time = first_row, time
        return made

    def __reduce__(self) -> Any:
        return FreeRun.of, (np.asarray(self), self.first_row, self.time)


def _pandas_index(axis: Axis, first: int, count: int) -> Any:
    import pandas

    if axis.kind == "rows":
        start = axis.start + first * axis.step
        return pandas.RangeIndex(start, start + count * axis.step, axis.step, name=axis.name)
    stamps = axis.at(first, count)
    if axis.zone is not None:
        return pandas.DatetimeIndex(stamps, name=axis.name).tz_localize("UTC").tz_convert(axis.zone)
    return pandas.Index(stamps, name=axis.name)


def _to_pandas(values: np.ndarray, names: Sequence[str], axis: Axis, first: int, shell: Shell = PLAIN) -> Any:
    import pandas

    index = _pandas_index(axis, first, len(values))
    given = shell.labels if shell.labels is not None and [str(label) for label in shell.labels] == list(names) else None
    several = given is not None and all(isinstance(label, tuple) for label in given)
    columns = pandas.MultiIndex.from_tuples(given) if several else list(names if given is None else given)
    if not axis.column:
        return pandas.DataFrame(values, columns=columns, index=index)
    frame = pandas.DataFrame(values, columns=columns)
    frame.insert(0, axis.name, index)
    return frame


def _to_polars(values: np.ndarray, names: Sequence[str], axis: Axis, first: int) -> Any:
    polars = need("polars", "polars", "container='polars'")
    frame = polars.DataFrame(values, schema=list(names))
    if axis.kind == "rows":
        return frame
    stamps = polars.Series(axis.name or "time", axis.at(first, len(values)))
    if axis.zone is not None:
        stamps = stamps.dt.replace_time_zone("UTC").dt.convert_time_zone(str(axis.zone))
    return frame.insert_column(0, stamps)


def _to_xarray(values: np.ndarray, names: Sequence[str], axis: Axis, first: int, shell: Shell) -> Any:
    import xarray

    time, variable = shell.dims
    coords: Dict[str, Any] = {} if axis.kind == "rows" else {time: axis.at(first, len(values))}
    if axis.unit and axis.kind == "number":
        coords[time] = (time, coords[time], {"units": axis.unit})
    if shell.kind == "dataset":
        return xarray.Dataset({name: (time, values[:, i]) for i, name in enumerate(names)}, coords=coords)
    return xarray.DataArray(values, dims=(time, variable), coords={variable: list(names), **coords})


def shell_of(container: Union[str, Shell]) -> Shell:
    """The shell of a container's name; a name that is none is refused."""
    if isinstance(container, Shell):
        return container
    if container not in CONTAINERS:
        raise ArgumentError(f"container is {container!r}; it is one of {', '.join(CONTAINERS)}")
    if container != "numpy":
        need(container, "polars" if container == "polars" else "frames", f"container='{container}'")
    return Shell(container)


def like(values: np.ndarray, shell: Shell, names: Sequence[str], axis: Optional[Axis], first: int = 0) -> Any:
    """Values (T, N) in a container: row 0 is row ``first`` of the axis."""
    axis = _time.counted(0, len(values)) if axis is None else axis
    if shell.kind == "pandas":
        return _to_pandas(values, names, axis, first, shell)
    if shell.kind == "polars":
        return _to_polars(values, names, axis, first)
    if shell.kind in ("xarray", "dataset"):
        return _to_xarray(values, names, axis, first, shell)
    return values


def generated(values: np.ndarray, shell: Shell, names: Sequence[str], axis: Optional[Axis], first: int) -> Any:
    """The same of a free run, with the row from which it goes on: ``first_row`` of an array, of ``attrs`` else."""
    if shell.kind == "numpy":
        known = axis is not None and axis.kind != "rows"
        return FreeRun.of(values, first, axis.at(first, len(values)) if known and axis is not None else None)
    made = like(values, shell, names, axis, first)
    if shell.kind != "polars":
        made.attrs["first_row"] = first
    return made
