"""`antler-convert IN OUT`: a table from one format to another.

The command starts this program for files of formats that it does not read. IN is any file that ``antler.load`` reads.
OUT is a file that the command reads (.npz, .npy, .csv, .tsv), or .parquet, .feather or .nc. Names and times go along;
several trajectories need an .npz. From a program, ``antler.load`` gives the values themselves.
"""

from __future__ import annotations

import argparse
import csv
import io
import os
import sys
import tempfile
import warnings
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from . import _lib, formats
from ._containers import Reading, Shell, Table, like
from ._extras import need
from ._series import Series
from ._time import Axis
from .data import picked
from .exceptions import AntlerError, ArgumentError, MachineError, MemoryError

__all__ = ["convert", "main"]

_OWN = (".npz", ".npy", ".csv", ".tsv")
_OTHERS = (".parquet", ".feather", ".nc")


def convert(
    source: Any, out: Any, *, key: Optional[str] = None, columns: Optional[str] = None, inputs: Optional[str] = None,
    time: Any = "auto", resample: Any = None,
) -> List[Table]:
    """Read a file, or a list of files, and write another. Returns the trajectories; the options are those of load."""
    sources = [source] if isinstance(source, (str, os.PathLike)) else list(source)
    tables: List[Table] = []
    driven: List[Table] = []
    for path in sources:
        found = formats.read(path, key=key, reading=Reading(time, resample))
        chosen, chosen_in = picked(found, columns, inputs, str(path))
        tables += chosen
        driven += chosen_in or []
    write(tables, driven or None, os.fspath(out))
    return tables


def write(tables: List[Table], driven: Optional[List[Table]], out: str) -> None:
    """Write trajectories, and inputs beside them, in the format of the ending of the name."""
    ending = next((end for end in _OWN + _OTHERS if out.lower().endswith(end)), None)
    if ending is None:
        raise ArgumentError(f"{out}: the ending names no format to write; give one of {', '.join(_OWN + _OTHERS)}")
    if len(tables) > 1 and ending != ".npz":
        raise ArgumentError(f"{out}: holds one trajectory, and there are {len(tables)}; write an .npz")
    timed = tables[0].time is not None and tables[0].time.kind != "rows"
    if ending in _OTHERS:
        _WRITERS[ending](_beside(tables[0], driven), out)
    elif ending in (".csv", ".tsv") and timed:
        _lib.call("write_file", _lib.followed(out), _text(_beside(tables[0], driven), ending).encode())
    elif ending == ".npz" and timed and all(_kept(table.time) for table in tables):
        _save_npz(tables, driven, os.fsdecode(_lib.followed(out)))
    else:
        series = Series.of_tables(tables, driven)  # it lives until the call has returned
        _lib.call("series_save", series.handle, _lib.followed(out))


def _kept(axis: Optional[Axis]) -> bool:
    """Whether the times can be in an archive of NumPy: numbers, dates and time spans are."""
    return axis is not None and axis.kind in ("number", "datetime", "timedelta", "months", "calendar", "period") and (
        not hasattr(axis.start, "calendar")
    )


def _times(axis: Axis, rows: int) -> np.ndarray:
    """Times of an archive: days or microseconds for dates, numbers in the unit of the axis for time spans."""
    stamps = axis.at(0, rows)
    stamps = np.asarray(stamps.to_timestamp() if axis.kind == "period" else stamps)
    if stamps.dtype.kind == "M":
        days = stamps.astype("datetime64[D]")
        return days if np.all(days == stamps) else stamps.astype("datetime64[us]")
    return np.arange(rows) * axis.dt if stamps.dtype.kind == "m" else stamps.astype(float)


def _save_npz(tables: List[Table], driven: Optional[List[Table]], out: str) -> None:
    """The archive that the command writes (docs/files.md), with the times of the rows."""
    axis = tables[0].time
    assert axis is not None
    arrays: Dict[str, Any] = {f"x_{i:03}": np.asarray(table.values, float) for i, table in enumerate(tables)}
    arrays.update({f"s_{i:03}": np.asarray(table.values, float) for i, table in enumerate(driven or ())})
    arrays["names"] = np.array(names_of(tables[0]), dtype=str)
    if driven:
        arrays["input_names"] = np.array(names_of(driven[0]), dtype=str)
    if axis.dt > 0:
        arrays["dt"] = np.float64(axis.dt)
    arrays.update(time_name=np.array([axis.name or "time"]), time_unit=np.array([axis.unit]))
    for i, table in enumerate(tables):
        assert table.time is not None
        arrays["time" if len(tables) == 1 else f"time_{i:03}"] = _times(table.time, len(table.values))
    part = f"{out}.{os.getpid()}.part"
    try:
        with open(part, "xb") as file:
            np.savez(file, **arrays)
        os.replace(part, out)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def _beside(table: Table, driven: Optional[List[Table]]) -> Table:
    """Variables and inputs in one table."""
    if driven is None:
        return table
    names = (*names_of(table), *names_of(driven[0]))
    return table._replace(values=np.column_stack([table.values, driven[0].values]), names=names)


def names_of(table: Table) -> Sequence[str]:
    return table.names or [f"x{i + 1}" for i in range(table.values.shape[1])]


def _columns(table: Table) -> Dict[str, np.ndarray]:
    """Columns by name, the time first."""
    found: Dict[str, np.ndarray] = {}
    if table.time is not None and table.time.kind != "rows":
        found[table.time.name or "time"] = np.asarray(table.time.at(0, len(table.values)))
    found.update(zip(names_of(table), table.values.T))
    return found


def _text(table: Table, ending: str) -> str:
    """Text with the times in the first column: numbers that read back to the same bits, ISO dates."""
    columns = _columns(table)
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
    writer.writerow(columns)
    cells = [_dates(values) if values.dtype.kind == "M" else values.astype(object) for values in columns.values()]
    writer.writerows(zip(*cells))
    return out.getvalue()


def _dates(stamps: np.ndarray) -> np.ndarray:
    """ISO text with as many digits as the stamps have."""
    unit = next(u for u in ("s", "ms", "us", "ns") if u == "ns" or np.all(stamps.astype(f"datetime64[{u}]") == stamps))
    return np.asarray(np.datetime_as_string(stamps.astype(f"datetime64[{unit}]")))


def _to_arrow(table: Table, out: str) -> None:
    arrow = need("pyarrow", "parquet", f"writing {out}")
    made = arrow.table({name: arrow.array(values) for name, values in _columns(table).items()})
    if out.lower().endswith(".parquet"):
        need("pyarrow.parquet", "parquet", f"writing {out}").write_table(made, out)
    else:
        need("pyarrow.feather", "parquet", f"writing {out}").write_feather(made, out)


def _to_netcdf(table: Table, out: str) -> None:
    for module in ("xarray", "netCDF4"):
        need(module, "netcdf", f"writing {out}")
    like(table.values, Shell("dataset"), names_of(table), table.time).to_netcdf(out)


_WRITERS: Dict[str, Any] = {".parquet": _to_arrow, ".feather": _to_arrow, ".nc": _to_netcdf}


def _formats() -> str:
    rows = [f"  {row.name}: {', '.join(row.endings)}" for row in formats.FORMATS]
    return "Formats that are read, beside .npy, .npz, .csv and .tsv:\n" + "\n".join(rows)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="antler convert",
        description="Convert a table of any format that a Python library reads into one that antler reads.",
        epilog=_formats(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", nargs="+", metavar="IN", help="files to read; - is the standard input")
    parser.add_argument("out", metavar="OUT", help=f"file to write: {', '.join(_OWN + _OTHERS)}")
    parser.add_argument("--key", help="what is read of a file that holds several arrays, variables, signals or sheets")
    parser.add_argument("--columns", help="columns to take, by names or numbers: x,y or 1-3; all but: --columns=-x,-2")
    parser.add_argument("--inputs", help="columns that are inputs")
    parser.add_argument("--time", default="auto", help="the column with the times of rows; none: there is none")
    parser.add_argument("--resample", help="interpolate uneven times to this time between rows: a number, or 10min")
    return parser


def _number_or_text(word: Optional[str]) -> Any:
    try:
        return None if word is None else float(word)
    except ValueError:
        return word


def _from_input(folder: str) -> str:
    """The standard input as a file, whose first bytes show its format."""
    path = os.path.join(folder, "standard input")
    with open(path, "wb") as file:
        file.write(sys.stdin.buffer.read())
    return path


def main(arguments: Optional[List[str]] = None) -> int:
    chosen = _parser().parse_args(arguments)
    options = dict(key=chosen.key, columns=chosen.columns, inputs=chosen.inputs, time=chosen.time)
    try:
        with tempfile.TemporaryDirectory(prefix="antler-") as folder, warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            sources = [_from_input(folder) if path == "-" else path for path in chosen.source]
            tables = convert(sources, chosen.out, resample=_number_or_text(chosen.resample), **options)
    except (AntlerError, OSError, ValueError) as fault:
        print(_lib.shown(f"antler: {fault}"), file=sys.stderr)
        return 3 if isinstance(fault, (MachineError, MemoryError)) else 2
    # Not on standard output: the command calls this program for files of other formats, and has its own there.
    for warning in said:
        print(_lib.shown(f"antler: {warning.message}"), file=sys.stderr)
    for table in tables:
        rows, N = table.values.shape
        time = "" if table.time is None or table.time.kind == "rows" else f"; time: {table.time}"
        print(_lib.shown(f"{', '.join(chosen.source)}: {rows} rows, {N} variables{time}"), file=sys.stderr)
    return 0
