"""Files of other programs: one table of formats, each read by its usual library, which is an optional extra.

The library of Antler itself reads .npy, .npz, .csv and .tsv. ``FORMATS`` has the others: by which ending or first
bytes a file is recognised, what has to be installed, and what is taken for variables and time. ``antler.load``,
``Reconstructor.fit`` and every other function that takes data accept the path of such a file.
"""

from __future__ import annotations

import ctypes as c
import difflib
import gzip
import json
import os
import shutil
import tempfile
import warnings
import zipfile
from functools import partial
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from . import _containers, _lib, _time
from . import _structs as s
from ._containers import AUTO, Reading, Table
from ._extras import need
from .exceptions import ArgumentError, DataError, FormatError, MachineError, NotFoundError

__all__ = ["FORMATS", "Format", "format_of", "read"]


class Choice(NamedTuple):
    """What of a file is read."""

    key: Optional[str] = None  #: names inside the file, separated by commas: an array, a variable, a sheet, a signal
    reading: Reading = AUTO


class Format(NamedTuple):
    """One row of the table of formats."""

    name: str
    endings: Tuple[str, ...]
    magic: Tuple[Tuple[int, bytes], ...]  #: (offset, bytes): any of these
    extra: str  #: of the distribution; "" when nothing has to be installed
    takes: str  #: what becomes variables and time
    read: Callable[[str, Choice], List[Table]]


# ---- arrays by name: HDF5, MATLAB, Zarr ------------------------------------------------------------


class _Array(NamedTuple):
    """An array inside a file, which is read when it is chosen."""

    shape: Tuple[int, ...]
    get: Callable[[], np.ndarray]

    @property
    def is_vector(self) -> bool:
        return len(self.shape) == 1 or (len(self.shape) == 2 and 1 in self.shape)


def _listed(arrays: Mapping[str, _Array]) -> str:
    shown = [f"{name} {'x'.join(map(str, array.shape))}" for name, array in list(arrays.items())[:12]]
    return ", ".join(shown) + (f" and {len(arrays) - 12} more" if len(arrays) > 12 else "")


def _named(arrays: Mapping[str, Any], key: str, path: str) -> List[str]:
    """The names of a key; one that is not there is answered with the nearest."""
    names = [name.strip() for name in key.split(",")]
    for name in names:
        if name not in arrays:
            near = difflib.get_close_matches(name, list(arrays), 1)
            hint = f"did you mean '{near[0]}'" if near else f"there are {', '.join(list(arrays)[:12])}"
            raise ArgumentError(f"{path}: there is no '{name}' in it; {hint}")
    return names


def _stem(name: str) -> str:
    return name.rstrip("0123456789").rstrip("_-")


def _of_arrays(arrays: Dict[str, _Array], path: str, choice: Choice) -> List[Table]:
    """One array (T, N) or (trajectories, T, N); vectors of one length as columns; or trajectories of like names."""
    if not arrays:
        raise FormatError(f"{path}: there is no array of numbers in it")
    everything, reading = arrays, choice.reading
    if choice.key is not None:
        arrays = {name: arrays[name] for name in _named(arrays, choice.key, path)}
    vectors = {name: array for name, array in arrays.items() if array.is_vector}
    if len(arrays) > 1 and len(vectors) == len(arrays) and len({max(a.shape) for a in vectors.values()}) == 1:
        columns = {name.rpartition("/")[2]: array.get().ravel() for name, array in vectors.items()}
        return [_containers.of_columns(columns, path, reading)]
    stamps = {name: array for name, array in vectors.items() if _time.is_time_name(name.rpartition("/")[2])}
    chosen = {name: array for name, array in arrays.items() if name not in stamps} or arrays
    if len(chosen) > 1 and (len({_stem(name) for name in chosen}) > 1 or vectors.keys() & chosen.keys()):
        raise DataError(f"{path}: several arrays are in it: {_listed(everything)}; choose with key=")
    if len(stamps) == 1 and len(chosen) == 1 and reading.auto:
        reading = reading._replace(time=next(iter(stamps.values())).get().ravel())
    found = []
    for name, array in chosen.items():
        values = array.get()
        table = _containers.of_container(values.ravel() if array.is_vector else values, f"{path}: {name}", reading)
        found += [table._replace(values=part) for part in table.values] if table.values.ndim == 3 else [table]
    return [table._replace(values=table.values[:, None]) if table.values.ndim == 1 else table for table in found]


def _mapped(dataset: Any, path: str) -> np.ndarray:
    """A dataset of HDF5: read in place where its bytes are contiguous, else copied."""
    offset = dataset.id.get_offset() if dataset.chunks is None and not dataset.external else None
    if offset is None or dataset.dtype.kind not in "fiu":
        return np.asarray(dataset[()])
    return np.memmap(path, mode="r", dtype=dataset.dtype, shape=dataset.shape, offset=offset)


def _hdf5_arrays(path: str, transposed: bool) -> Dict[str, _Array]:
    h5py = need("h5py", "matlab" if transposed else "hdf5", f"reading {path}")
    found: Dict[str, _Array] = {}

    def take(name: str, item: Any) -> None:
        if "pandas_type" in item.attrs:
            raise FormatError(f"{path}: pandas wrote it; read it with pandas.read_hdf, and give the frame")
        if not isinstance(item, h5py.Dataset) or name.startswith("#") or not 1 <= item.ndim <= 3 or item.size < 2:
            return
        if item.dtype.names is not None:
            for field in item.dtype.names:
                if item.dtype[field].kind in "fiub":
                    found[f"{name}/{field}"] = _array(item[field])
        elif item.dtype.kind in "fiub":
            values = _mapped(item, path)
            found[name] = _array(values.T if transposed else values)

    with _opened(lambda: h5py.File(path, "r"), path) as file:
        file.visititems(take)
    return found


def _array(values: np.ndarray) -> _Array:
    return _Array(values.shape, lambda: values)


def _whole(array: Any) -> np.ndarray:
    return np.asarray(array[...])


def _opened(open_it: Callable[[], Any], path: str) -> Any:
    """What a library opens; its own exceptions become one sentence."""
    try:
        return open_it()
    except PermissionError:
        raise
    except Exception as error:  # each library has its own
        reason = str(error).strip().splitlines()
        raise FormatError(f"{path}: cannot be read: {reason[0] if reason else type(error).__name__}") from None


def _hdf5(path: str, choice: Choice) -> List[Table]:
    return _of_arrays(_hdf5_arrays(path, False), path, choice)


def _matlab(path: str, choice: Choice) -> List[Table]:
    """Version 7.3 is HDF5 with columns as rows; scipy reads those before."""
    with open(path, "rb") as file:
        new = file.read(19) == b"MATLAB 7.3 MAT-file"
    if new:
        return _of_arrays(_hdf5_arrays(path, True), path, choice)
    io = need("scipy.io", "matlab", f"reading {path}")
    raw = _opened(lambda: io.loadmat(path), path)
    arrays = {
        name: _array(np.asarray(values))
        for name, values in raw.items()
        if not name.startswith("__") and getattr(values, "dtype", np.dtype("O")).kind in "fiub" and values.size > 1
    }
    return _of_arrays(arrays, path, choice)


# ---- tables ----------------------------------------------------------------------------------------


def _parquet(path: str, choice: Choice) -> List[Table]:
    need("pyarrow", "parquet", f"reading {path}")
    parquet = need("pyarrow.parquet", "parquet", f"reading {path}")
    return [_of_arrow(_opened(lambda: parquet.read_table(path, memory_map=True), path), path, choice)]


def _feather(path: str, choice: Choice) -> List[Table]:
    feather = need("pyarrow.feather", "parquet", f"reading {path}")
    return [_of_arrow(_opened(lambda: feather.read_table(path, memory_map=True), path), path, choice)]


def _of_arrow(table: Any, path: str, choice: Choice) -> Table:
    """The index that pandas stored beside the columns is the time when it is one, and is left out otherwise."""
    columns = {name: table.column(name).to_numpy() for name in table.column_names}
    stored = json.loads((table.schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    index = [name for name in stored if isinstance(name, str) and name in columns]
    reading = choice.reading
    if len(index) == 1 and reading.auto:
        values = columns.pop(index[0])
        if values.dtype.kind in "fM" or _time.is_time_name(index[0]):
            reading = reading._replace(time=values)
    return _containers.of_columns(columns, path, reading, words=True)


def _excel(path: str, choice: Choice) -> List[Table]:
    openpyxl = need("openpyxl", "excel", f"reading {path}")
    with open(path, "rb") as file:  # given the name, it insists on an ending
        book = _opened(lambda: openpyxl.load_workbook(file, read_only=True, data_only=True), path)
        return _of_book(book, path, choice)


def _of_book(book: Any, path: str, choice: Choice) -> List[Table]:
    sheets = {sheet.title: sheet for sheet in book.worksheets}
    name = next(iter(sheets)) if choice.key is None else _named(sheets, choice.key, path)[0]
    rows = [list(row) for row in sheets[name].iter_rows(values_only=True)]
    rows = [row for row in rows if any(cell is not None for cell in row)]
    return [_of_rows(rows, f"{path}, sheet {name}", choice)]


def _of_rows(rows: List[List[Any]], where: str, choice: Choice) -> Table:
    """Rows of cells, the first of which may be names; empty cells are NaN."""
    if not rows:
        raise FormatError(f"{where}: there are no rows in it")
    named = all(cell is None or isinstance(cell, str) for cell in rows[0])
    names = [str(cell) if cell is not None else f"x{i + 1}" for i, cell in enumerate(rows[0])] if named else None
    body = rows[1:] if named else rows
    kept = [i for i in range(len(rows[0])) if any(row[i] is not None for row in body)]
    columns = {names[i] if names else f"x{i + 1}": _cells([row[i] for row in body]) for i in kept}
    return _containers.of_columns(columns, where, choice.reading, words=True)


def _cells(cells: Sequence[Any]) -> np.ndarray:
    """Numbers, dates or text of one column; None is NaN."""
    if all(cell is None or isinstance(cell, (int, float)) for cell in cells):
        return np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
    return np.array(cells, dtype=object)


def _json(path: str, choice: Choice) -> List[Table]:
    """Records, records line by line, rows of numbers, or columns by name."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        data = json.loads(text)
    except ValueError as whole:
        try:
            data = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise FormatError(f"{path}: is not JSON: {whole}") from None
    if isinstance(data, dict) and choice.key is not None:
        data = data[_named(data, choice.key, path)[0]]
    if isinstance(data, dict) and data and all(isinstance(values, list) for values in data.values()):
        return [_containers.of_columns({k: _cells(v) for k, v in data.items()}, path, choice.reading, words=True)]
    if not isinstance(data, list) or not data:
        raise FormatError(f"{path}: holds neither records nor columns; give a list of objects with the same names")
    if isinstance(data[0], dict):
        names = list(dict.fromkeys(name for record in data for name in record))
        columns = {name: _cells([record.get(name) for record in data]) for name in names}
        return [_containers.of_columns(columns, path, choice.reading, words=True)]
    return [_containers.of_container(np.asarray(data, dtype=float).reshape(len(data), -1), path, choice.reading)]


# ---- xarray ----------------------------------------------------------------------------------------


def _of_dataset(data: Any, path: str, choice: Choice) -> List[Table]:
    if choice.key is not None:
        data = data[_named(data.data_vars, choice.key, path)]
    one = len(data.data_vars) == 1
    table = _containers.of_container(next(iter(data.data_vars.values())) if one else data, path, choice.reading)
    if table.values.ndim == 3:
        return [table._replace(values=values) for values in table.values]
    return [table._replace(values=table.values.reshape(len(table.values), -1))]


def _netcdf(path: str, choice: Choice) -> List[Table]:
    xarray = need("xarray", "netcdf", f"reading {path}")
    with open(path, "rb") as file:
        old = file.read(3) == b"CDF"
    need("scipy" if old else "netCDF4", "netcdf", f"reading {path}")
    with _opened(lambda: xarray.open_dataset(path, engine="scipy" if old else "netcdf4"), path) as data:
        return _of_dataset(data.load(), path, choice)


def _zarr(path: str, choice: Choice) -> List[Table]:
    zarr = need("zarr", "zarr", f"reading {path}")
    store = _opened(lambda: zarr.open(path, mode="r"), path)
    if isinstance(store, zarr.Array):
        return _of_arrays({"array": _array(np.asarray(store[...]))}, path, choice)
    arrays = dict(store.arrays())
    if any(getattr(a.metadata, "dimension_names", None) or "_ARRAY_DIMENSIONS" in a.attrs for a in arrays.values()):
        xarray = need("xarray", "zarr", f"reading {path}")
        return _of_dataset(xarray.open_zarr(path).load(), path, choice)
    numeric = {name: a for name, a in arrays.items() if np.dtype(a.dtype).kind in "fiub" and 1 <= a.ndim <= 3}
    lazy = {name: _Array(tuple(a.shape), partial(_whole, a)) for name, a in numeric.items()}
    return _of_arrays(lazy, path, choice)


# ---- recordings ------------------------------------------------------------------------------------


def _recording(path: str, choice: Choice) -> List[Table]:
    """EDF, BDF and FIF by MNE: channels of data, or those that the key names."""
    mne = need("mne", "eeg", f"reading {path}")
    if path.endswith(("-epo.fif", "_epo.fif", "-epo.fif.gz", "_epo.fif.gz")):
        recording = _opened(lambda: mne.read_epochs(path, verbose="ERROR"), path)
    else:
        recording = _opened(lambda: mne.io.read_raw(path, verbose="ERROR"), path)
    names = list(recording.ch_names)
    if choice.key is not None:
        recording = recording.pick(_named(dict.fromkeys(names), choice.key, path), verbose="ERROR")
    else:
        kinds = recording.get_channel_types()
        data = [name for name, kind in zip(names, kinds) if kind not in ("stim", "misc", "syst", "exci")]
        recording = recording.pick(data or names, verbose="ERROR")
    values = np.asarray(recording.get_data())
    step = 1.0 / float(recording.info["sfreq"])
    found = []
    for part in values if values.ndim == 3 else [values]:
        axis = _time.even(part.shape[1], step, float(recording.times[0]), "s")
        found.append(Table(part.T, tuple(recording.ch_names), axis))
    return found


def _nwb(path: str, choice: Choice) -> List[Table]:
    """One signal of an NWB file: a TimeSeries, with its rate or its time stamps."""
    pynwb = need("pynwb", "nwb", f"reading {path}")
    with _opened(lambda: pynwb.NWBHDF5IO(path, "r", load_namespaces=True), path) as file:
        objects = [item for item in file.read().objects.values() if isinstance(item, pynwb.TimeSeries)]
        signals = {item.name: item for item in objects if 1 <= len(getattr(item.data, "shape", ())) <= 2}
        if not signals:
            raise FormatError(f"{path}: there is no TimeSeries of numbers in it")
        if choice.key is None and len(signals) > 1:
            shown = ", ".join(f"{name} {'x'.join(map(str, item.data.shape))}" for name, item in signals.items())
            raise DataError(f"{path}: several signals are in it: {shown}; choose with key=")
        item = signals[next(iter(signals)) if choice.key is None else _named(signals, choice.key, path)[0]]
        values = np.asarray(item.data[()])
        stamps = None if item.timestamps is None else np.asarray(item.timestamps[()])
        rate, start = item.rate, item.starting_time or 0.0
    table = _containers.of_container(values.reshape(len(values), -1), path, choice.reading._replace(time="none"))
    if stamps is None:
        axis = _time.even(len(values), 1.0 / rate, float(start), "s")
        return [table._replace(time=axis)]
    grid = _time.grid(stamps, path, "time", resample=choice.reading.resample)
    return [table._replace(values=grid.spread(table.values), time=grid.axis)]


# ---- the table -------------------------------------------------------------------------------------


def _gzip(path: str, choice: Choice) -> List[Table]:
    """The file inside, in the format of the ending before .gz."""
    inner = os.path.basename(path)[: -len(".gz")] if path.endswith(".gz") else os.path.basename(path)
    with tempfile.TemporaryDirectory(prefix="antler-") as folder:
        plain = os.path.join(folder, inner)
        try:
            with gzip.open(path, "rb") as packed, open(plain, "wb") as out:
                shutil.copyfileobj(packed, out)
        except (OSError, EOFError) as error:
            raise FormatError(f"{path}: is not a whole gzip file: {error}") from None
        try:
            return _read_one(plain, choice)
        except (DataError, FormatError, ArgumentError) as error:
            raise type(error)(str(error).replace(plain, path)) from None


_HDF5_MAGIC = (0, b"\x89HDF\r\n\x1a\n")

FORMATS: Tuple[Format, ...] = (
    Format("Parquet", (".parquet", ".pq"), ((0, b"PAR1"),), "parquet",
           "columns; time: the index that pandas stored, a column of dates, or one called time", _parquet),
    Format("Feather (Arrow)", (".feather", ".arrow", ".ipc"), ((0, b"ARROW1"), (0, b"FEA1")), "parquet",
           "the same", _feather),
    Format("MATLAB", (".mat",), ((0, b"MATLAB 5.0 MAT-file"), (0, b"MATLAB 7.3 MAT-file")), "matlab",
           "a matrix (T, N), or vectors of one length; time: a vector called t or time; else key=NAME", _matlab),
    Format("NetCDF", (".nc", ".nc4", ".cdf"), ((0, b"CDF"),), "netcdf",
           "variables along the axis of time, or those of key=; time: the coordinate", _netcdf),
    Format("NWB", (".nwb",), (), "nwb", "the one TimeSeries, or key=NAME; time: its rate or time stamps", _nwb),
    Format("HDF5", (".h5", ".hdf5", ".hdf"), (_HDF5_MAGIC,), "hdf5",
           "a dataset (T, N), or vectors of one length; time: a vector called t or time; else key=NAME", _hdf5),
    Format("Zarr", (".zarr",), (), "zarr", "as NetCDF with names of axes, as HDF5 without", _zarr),
    Format("EDF, BDF, FIF", (".edf", ".bdf", ".fif", ".fif.gz"), ((0, b"\xffBIOSEMI"), (0, b"0       ")), "eeg",
           "channels of data, or those of key=; time: the sampling rate; epochs are trajectories", _recording),
    Format("Excel", (".xlsx", ".xlsm"), (), "excel",
           "columns of the first sheet, or of key=SHEET; time: a column of dates, or one called time", _excel),
    Format("JSON", (".json", ".jsonl", ".ndjson"), ((0, b"["), (0, b"{")), "",
           "records, columns or rows; time: a member of ISO dates or numbers called time", _json),
    Format("gzip", (".gz",), ((0, b"\x1f\x8b"),), "", "the file inside, by the ending before .gz", _gzip),
)  # fmt: skip

_OWN_ENDINGS = (".npy", ".npz", ".csv", ".tsv", ".txt", ".dat")  # read by the library


def format_of(path: Any) -> Optional[Format]:
    """The row of the table for a file, by its ending or else its first bytes; None: the library reads it."""
    name = os.fspath(path).rstrip("/").lower()
    by_ending = [(len(end), row) for row in FORMATS for end in row.endings if name.endswith(end)]
    if by_ending:
        return max(by_ending, key=lambda pair: pair[0])[1]
    if name.endswith(_OWN_ENDINGS) or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        head = file.read(64)
    if head.startswith(b"PK") and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            is_book = "xl/workbook.xml" in archive.namelist()
        return next((row for row in FORMATS if row.read is _excel), None) if is_book else None
    return next((row for row in FORMATS for at, magic in row.magic if head[at : at + len(magic)] == magic), None)


def load_series(
    paths: Sequence[Any], *, columns: Optional[str] = None, inputs: Optional[str] = None, transpose: bool = False,
    dt: float = 0.0, max_bytes: int = 8_000_000_000, choice: Optional[Choice] = None,
) -> Any:
    """A series set that the library reads. Times that the user gave beside the values are left to of_series."""
    from ._series import Series

    raw = (c.c_char_p * len(paths))(*[_lib.path_bytes(path) for path in paths])
    opts = s.LoadOpts()
    _lib.plain("load_opts_default", c.byref(opts))
    opts.transpose, opts.dt, opts.max_bytes = transpose, dt, max_bytes
    opts.columns = None if columns is None else columns.encode()
    opts.inputs = None if inputs is None else inputs.encode()
    key, reading = choice or Choice()
    opts.key = None if key is None else key.encode()
    if reading.off or reading.stamps is not None:
        opts.time = b"none"
    elif not reading.auto:
        opts.time = str(reading.time).encode()
    if reading.resample is not None and reading.stamps is None:
        given, method = reading.resample if isinstance(reading.resample, tuple) else (reading.resample, "linear")
        opts.resample, opts.resample_method = _time.length_text(given).encode(), _resample_method(method)
    return Series(_lib.create("series_load", raw, len(paths), c.byref(opts)))


def _resample_method(method: Any) -> int:
    if method not in ("linear", "cubic"):
        raise ArgumentError(f"resample has the method {method!r}; it is 'linear' or 'cubic'")
    return ("linear", "cubic").index(method)


def of_series(series: Any, reading: Reading = AUTO) -> Iterator[Tuple[Table, Optional[Table]]]:
    """Trajectories of a series set in user units, with their times and inputs."""
    names, dim, scaling = tuple(series.names), series.dim, series.scaling
    for note in series.notes:
        if "missing and become NaN" in note:
            warnings.warn(note, _time.GapWarning, stacklevel=2)
    for i in range(series.count):
        values, driven = series.read(i)
        if scaling is not None:
            values = values * scaling[1] + scaling[0]
        axis = series.axis(i)
        if reading.stamps is not None:
            stamps = _containers.checked_stamps(reading.stamps, len(values), "the file")
            grid = _time.grid(stamps, "time", resample=reading.resample)
            values, driven, axis = grid.spread(values), None if driven is None else grid.spread(driven), grid.axis
        yield Table(values, names[:dim], axis), None if driven is None else Table(driven, names[dim:], axis)


def _read_one(path: str, choice: Choice) -> List[Table]:
    row = format_of(path)
    if row is not None and not os.path.exists(path):
        raise NotFoundError(f"{path}: there is no such file")
    try:
        if row is not None:
            return row.read(path, choice)
    except PermissionError as error:
        raise MachineError(f"{path}: {error.strerror}") from None
    found = [table for table, _ in of_series(load_series([path], choice=choice), choice.reading)]
    return [table._replace(names=None) if (table.names or ("x1",))[0] == "x1" else table for table in found]


def read(path: Any, *, key: Optional[str] = None, reading: Reading = AUTO) -> List[Table]:
    """The trajectories of a file of any format."""
    found = _read_one(os.fspath(path), Choice(key, reading))
    return [table._replace(shell=_containers.PLAIN) for table in found]
