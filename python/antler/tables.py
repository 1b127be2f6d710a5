"""Where pictures and reports take their numbers from: orbits, tables of runs. Nothing here is drawn."""

from __future__ import annotations

import csv
import ctypes as c
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence

import numpy as np

from . import _lib
from . import _structs as s
from ._measure_table import table as measure_table
from ._series import Series
from ._series import tables as tables_of
from .exceptions import DivergedError
from .runs import Run, load_run, load_runs

Columns = Dict[str, np.ndarray]  # name: (rows,)

# Settings that tell runs apart without being a choice between methods.
BOOKKEEPING = ("experiment", "name", "results", "runs", "threads", "log_interval", "checkpoint_interval")


@dataclass
class Orbit:
    """One trajectory in the user's units."""

    x: np.ndarray  #: (T, N)
    names: List[str]
    dt: float = 0.0  #: 0: unknown
    named: bool = True  #: False when the names are made up
    inputs: Optional[np.ndarray] = None  #: (T, K), where the model takes some
    first_row: Optional[int] = None  #: of a free run: the row of the data that its first row stands for
    unit: str = ""  #: of dt: "s", "h", "month"; "": unknown


def _orbit_from_file(path: str, columns: str, inputs: str) -> Orbit:
    paths = (c.c_char_p * 1)(_lib.path_bytes(path))
    opts = s.LoadOpts()
    _lib.plain("load_opts_default", c.byref(opts))
    opts.columns = columns.encode() if columns else None
    opts.inputs = inputs.encode() if inputs else None
    series = Series(_lib.create("series_load", paths, 1, c.byref(opts)))
    values, values_in = series.read(0)
    if series.scaling is not None:
        values = values * series.scaling[1] + series.scaling[0]
    names = series.names[: series.dim]
    return Orbit(values, names, series.dt, names[:1] != ["x1"], values_in, unit=series.axis(0).unit)


def orbit(source: Any, columns: str = "", inputs: str = "") -> Orbit:
    """An Orbit from an Orbit, a file, an array (T, N) or (T,), a free run, or a table of pandas, polars or xarray."""
    if isinstance(source, Orbit):
        return source
    if isinstance(source, (str, os.PathLike)):
        return _orbit_from_file(os.fspath(source), columns, inputs)
    found = tables_of(source, "orbit")[0]
    names = list(found.names) if found.names else [f"x{i + 1}" for i in range(found.values.shape[1])]
    first = getattr(source, "first_row", None)
    if first is None and isinstance(getattr(source, "attrs", None), dict):
        first = source.attrs.get("first_row")
    unit = "" if found.time is None else found.time.unit
    return Orbit(np.asarray(found.values, dtype=float), names, found.dt, bool(found.names), None, first, unit)


def default_warmup(model: Any, rows: int) -> int:
    """Rows that force a model before it runs free on data of so many rows, as `antler generate` chooses them."""
    return int(model.warmup_rows(rows))


def free_run(model: Any, true: Orbit, steps: int, warmup: Optional[int] = None) -> Orbit:
    """What a model generates alone after it was warmed up on the true orbit; it ends where it diverges."""
    try:
        values = model.generate(steps, context=true.x, inputs=true.inputs, warmup=warmup, inputs_end="repeat")
    except DivergedError as error:
        values = error.partial
    return Orbit(np.asarray(values), true.names, true.dt, true.named, unit=true.unit)


def _column(words: Sequence[str]) -> np.ndarray:
    """Numbers where every field is one or empty (then NaN), text elsewhere."""
    try:
        return np.array([float(word) if word else np.nan for word in words])
    except ValueError:
        return np.array(words, dtype=str)


def table(source: Any) -> Columns:
    """Columns by name, from a CSV file, runs, their folder or Reconstructor, a mapping of columns or a frame."""
    if isinstance(source, (str, os.PathLike)) and os.path.isdir(source):
        return gather(load_runs(source))
    if isinstance(source, (str, os.PathLike)):
        with open(source, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
        body = [row for row in rows[1:] if len(row) == len(rows[0])]
        return {name: _column([row[i] for row in body]) for i, name in enumerate(rows[0])} if rows else {}
    if hasattr(source, "runs_"):
        return gather(source.runs_)
    if isinstance(source, (list, tuple)):
        return gather(source)
    return {str(name): np.asarray(source[name]) for name in source}


def as_run(source: Any) -> Run:
    """A Run from a Run or its folder."""
    return source if isinstance(source, Run) else load_run(source)


def has_diverged(run: Run) -> bool:
    """In training, or in the free run that was measured."""
    return run.diverged is not None or bool((run.metrics or {}).get("diverged"))


def measures(run: Run) -> Dict[str, float]:
    """{measure: value}: infinite where the run diverged, absent where it was not measured."""
    found: Dict[str, float] = {}
    metrics = run.metrics or {}
    summary = metrics.get("summary")
    for name, measure in measure_table().items():
        value = summary.get(name) if isinstance(summary, dict) else measure.found(metrics)
        measured = summary is None or name in summary
        if value is not None:
            found[name] = float(value)  # "inf" where it diverged
        elif has_diverged(run) and measure.standard and (measured or run.diverged is not None):
            found[name] = measure.worst
    return found


def varying(runs: Sequence[Run]) -> List[str]:
    """Names of the settings in which these runs differ, less the bookkeeping."""
    names = [name for name in runs[0].settings if name not in BOOKKEEPING] if runs else []
    return [name for name in names if len({str(run.settings.get(name)) for run in runs}) > 1]


def gather(runs: Sequence[Run]) -> Columns:
    """One row per run: the settings in which they differ, the end of their logs, their measures."""
    rows = []
    for run in runs:
        row: Dict[str, Any] = {name: run.settings.get(name, "") for name in varying(runs)}
        row.update(name=run.settings.get("name", ""), run=Path(run.path).name, diverged=int(has_diverged(run)))
        logged = ("loss", "iterations", "fallbacks", "seconds")
        row.update({name: run.log[name][-1] for name in logged if len(run.log.get(name, ())) > 0})
        row.update(measures(run))
        rows.append(row)
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: _column([str(row.get(name, "")) for row in rows]) for name in names}
