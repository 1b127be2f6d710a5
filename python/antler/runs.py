"""Runs on disk: train as ``antler train`` does, continue a stopped run, and read runs."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

import numpy as np

from . import _html, _lib
from ._containers import Reading
from ._series import Series
from ._settings import Settings
from ._training import LOG_COLUMNS, Watch
from .exceptions import FormatError, NotFoundError
from .model import Model

__all__ = ["Run", "load_run", "load_runs", "resume", "train"]

Path_ = Union[str, "os.PathLike[str]"]


def _read_log(path: Path) -> Dict[str, np.ndarray]:
    """log.csv by columns: whole numbers, numbers with NaN for an empty cell, and text."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    header = rows[0] if rows else list(LOG_COLUMNS)
    body = [row for row in rows[1:] if len(row) == len(header)]  # a row that is being written may be short
    columns: Dict[str, np.ndarray] = {}
    for i, name in enumerate(header):
        cells = [row[i] for row in body]
        try:
            if name in ("update", "fallbacks"):
                columns[name] = np.array([int(cell) for cell in cells], dtype=int)
            elif name == "solver":
                columns[name] = np.array(cells, dtype=str)
            else:
                columns[name] = np.array([float(cell) if cell else np.nan for cell in cells], dtype=float)
        except ValueError as error:
            raise FormatError(f"{path}: column {name}: {error}") from None
    for name, kind in LOG_COLUMNS.items():  # columns of validations are in the logs of runs that have them
        columns.setdefault(name, np.full(len(body), np.nan if kind is float else 0, dtype=kind))
    return columns


def _whole_number(file: Path, key: str) -> Optional[int]:
    """A whole number in an archive; None where there is none. An array that is larger is not unpacked."""
    with np.load(file) as found:
        if key not in found or found.zip.getinfo(f"{key}.npy").file_size > 1024:
            return None
        value = found[key]
        return int(value.item()) if value.size == 1 and value.dtype.kind in "iuf" else None


@dataclass
class Run:
    """A training run in its folder. Log, model and metrics are read at their first use."""

    path: Path  #: the folder
    settings: Dict[str, Any] = field(repr=False)  #: all settings, from config.yaml
    #: another model than the latest of the folder: best.npz, or the model of a fit, beside which its verdict lies
    file: Optional[Path] = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Experiment, name and number: "experiment/name/001"."""
        return "/".join(self.path.resolve().parts[-3:])

    @property
    def number(self) -> int:
        """The number of the run, from 1; 0 when the name of the folder is no number."""
        return int(self.path.resolve().name) if self.path.resolve().name.isdigit() else 0

    @cached_property
    def _replaced(self) -> bool:
        """Whether the files beside config.yaml are still those of an older run (docs/files.md, "Who owns a run")."""
        marker = self.path / ".overwrite"
        return marker.exists() and marker.read_bytes() == (self.path / "config.yaml").read_bytes()

    def _file(self, name: str) -> Optional[Path]:
        """A file of the run; None when it is not there."""
        path = self.path / name
        return path if path.exists() and not self._replaced else None

    @cached_property
    def log(self) -> Dict[str, np.ndarray]:
        """``log.csv``, one array per column; empty arrays before the first row."""
        path = self._file("log.csv")
        return {name: np.array([]) for name in LOG_COLUMNS} if path is None else _read_log(path)

    @property
    def has_model(self) -> bool:
        """Whether there is a model, which there is from the first checkpoint on."""
        return self._file("model.npz") is not None

    @cached_property
    def model(self) -> Model:
        """The latest model, or that of ``file``; ``NotFoundError`` before the first checkpoint."""
        return Model.load(self.path if self.file is None else self.file)

    @property
    def model_file(self) -> Path:
        """The file of ``model``."""
        return self.path / "model.npz" if self.file is None else self.file

    @cached_property
    def model_update(self) -> int:
        """The update after which ``model`` was kept; 0 when it is not known."""
        for file in (self.model_file, self.path / "best.npz" if self._of_fit else None):
            update = _whole_number(file, "update") if file is not None and file.exists() else None
            if update is not None:
                return update
        return int(self.log["update"][-1]) if self.file is None and len(self.log["update"]) else 0

    @cached_property
    def best(self) -> Optional[Model]:
        """The best model by validation, ``best.npz``; None where there was no validation."""
        path = self._file("best.npz")
        return None if path is None else Model.load(path)

    @cached_property
    def validation(self) -> Optional[Dict[str, float]]:
        """The validation of ``best``: update, score, dstsp, hellinger, prediction_error; None where there was none."""
        path = self._file("best.npz")
        if path is None:
            return None
        with np.load(path) as found:
            measures = dict(zip(("dstsp", "hellinger", "prediction_error"), map(float, found["validation"])))
            return {"update": int(found["update"]), "score": float(found["score"]), **measures}

    def _json(self, name: str, folder: Optional[Path] = None) -> Optional[Dict[str, Any]]:
        path = self._file(name) if folder is None else folder / name
        if path is None or not path.exists():
            return None
        try:
            with open(path, encoding="utf-8") as file:
                return dict(json.load(file))
        except (ValueError, TypeError) as error:
            raise FormatError(f"{path}: is not JSON: {error}") from None

    @cached_property
    def metrics(self) -> Optional[Dict[str, Any]]:
        """``metrics.json`` of ``antler evaluate``; None when the run was not evaluated."""
        if self.file is not None:  # that of the run is about its latest model
            return self._json("metrics.json", self.file.parent) if self._of_fit else None
        return self._json("metrics.json")

    @property
    def _of_fit(self) -> bool:
        return self.file is not None and self.file.parent.resolve() != self.path.resolve()

    @cached_property
    def verdict(self) -> Optional[Dict[str, Any]]:
        """The verdict of ``antler evaluate``, else that of training on its held-back rows; None without either."""
        if self._of_fit and self.file is not None:  # a fit judges by more than an evaluation does
            return self._json("verdict.json", self.file.parent) or (self.metrics or {}).get("verdict")
        return (self.metrics or {}).get("verdict") or self._json("verdict.json")

    @property
    def diverged(self) -> Optional[str]:
        """The message of a run that diverged; None otherwise."""
        path = self._file("diverged.txt")
        return None if path is None else path.read_text(encoding="utf-8").strip()

    @property
    def finished(self) -> bool:
        """Whether all updates are done."""
        return bool(len(self.log["update"])) and int(self.log["update"][-1]) == self.settings["updates"]

    def _repr_html_(self) -> str:
        log = self.log
        done = f"{log['update'][-1]} of {self.settings['updates']}" if len(log["update"]) else "none"
        loss = _html.number(float(log["loss"][-1])) if len(log["loss"]) else ""
        verdict = self.verdict or {}
        rows = [("updates", done), ("last loss", loss), ("diverged", self.diverged or "")]
        rows += [("verdict", verdict.get("kind", "")), ("found", verdict.get("text", ""))]
        return _html.table(f"Run {self.name}", [*rows, ("folder", str(self.path))])

    @property
    def checkpoints(self) -> List[Path]:
        """Paths of the checkpoints, oldest first."""
        return sorted((self.path / "checkpoints").glob("update-*.npz"))


def load_run(path: Path_) -> Run:
    """Load the run in a folder such as ``Results/experiment/run/001``."""
    folder = Path(path)
    if not (folder / "config.yaml").is_file():
        raise NotFoundError(
            f"{folder}: holds no run (there is no config.yaml); give a folder such as Results/experiment/run/001"
        )
    return Run(folder, Settings.load(folder / "config.yaml").as_dict())


def _same_model(one: Path, other: Path) -> bool:
    """Whether two files hold the same parameters."""
    with np.load(one) as a, np.load(other) as b:
        return all(name in b and np.array_equal(a[name], b[name]) for name in a.files)


def _run_of_model(file: Path) -> Run:
    """The run that a model file is of: that of its folder or, for the model of a fit, the one that won."""
    if (file.parent / "config.yaml").is_file():
        return replace(load_run(file.parent), file=None if file.name == "model.npz" else file)
    for best in sorted(file.parent.glob("try-*/*/best.npz")):
        if _same_model(file, best):
            return replace(load_run(best.parent), file=file)
    raise NotFoundError(f"{file}: its run is not beside it; give a folder such as Results/experiment/run/001")


def load_runs(path: Path_) -> List[Run]:
    """Load all runs in or below a folder, in the order of their paths; of a model file the run that it is of."""
    folder = Path(path)
    if folder.is_file() and folder.suffix == ".npz":
        return [_run_of_model(folder)]
    found = sorted(config.parent for config in folder.rglob("config.yaml"))
    if not found:
        raise NotFoundError(f"{folder}: holds no run, nor does any folder below it")
    return [load_run(run) for run in found]


def _runs_of(base: str, only: int) -> List[Run]:
    folders = [Path(base) / f"{only:03d}"] if only else sorted(p.parent for p in Path(base).glob("*/config.yaml"))
    return [load_run(folder) for folder in folders]


def train(
    settings: Union[Path_, Mapping[str, Any]],
    X: Any = None,
    *,
    inputs: Any = None,
    run: int = 0,
    overwrite: bool = False,
    verbose: bool = True,
    callback: Optional[Callable[[Dict[str, Any]], Any]] = None,
    time: Any = "auto",
    resample: Any = None,
    **changes: Any,
) -> List[Run]:
    """Train on disk as ``antler train`` does, with the same bytes as result. Returns a list of runs.

    ``settings`` is a YAML file or a mapping of setting names; further keywords change single settings, as
    ``--set`` does. With ``X`` the data come from memory instead of the files that the settings name; ``time`` and
    ``resample`` are then those of ``Reconstructor.fit``.
    ``callback`` is called with each row of the log; a true return value stops the training. Ctrl-C stops it after
    the current update with a checkpoint and raises ``KeyboardInterrupt``; ``resume`` continues.
    """
    chosen = Settings() if isinstance(settings, Mapping) else Settings.load(settings)
    for name, value in {**(settings if isinstance(settings, Mapping) else {}), **changes}.items():
        chosen.set(name, value)
    series = None if X is None else Series.of(X, inputs, dt=chosen.get("dt"), reading=Reading(time, resample))
    watch = Watch(verbose, callback)
    handle = None if series is None else series.handle
    result = watch.run("train_series", chosen.pointer, handle, run, overwrite)
    return _runs_of(os.fsdecode(result.folder), result.run)


def resume(
    folder: Path_,
    X: Any = None,
    *,
    inputs: Any = None,
    verbose: bool = True,
    callback: Optional[Callable[[Dict[str, Any]], Any]] = None,
    time: Any = "auto",
    resample: Any = None,
) -> List[Run]:
    """Continue a stopped run, or all runs of a training, to the same numbers as without the stop.

    A run that was trained on data in memory needs the same ``X`` (and ``inputs``, ``time``, ``resample``) again.
    """
    dt = 0.0
    if X is not None:
        configs = [Path(folder) / "config.yaml"] + sorted(Path(folder).glob("*/config.yaml"))
        dt = next((Settings.load(config).get("dt") for config in configs if config.is_file()), 0.0)
    series = None if X is None else Series.of(X, inputs, dt=dt, reading=Reading(time, resample))
    watch = Watch(verbose, callback)
    handle = None if series is None else series.handle
    result = watch.run("train_resume_series", _lib.path_bytes(folder), None, handle)
    return _runs_of(os.fsdecode(result.folder), result.run)
