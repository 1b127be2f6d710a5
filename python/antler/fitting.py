"""From data to a model without settings: candidates are tried, judged on held-back rows, and the best is refined."""

from __future__ import annotations

import csv
import ctypes as c
import os
import sys
import tempfile
import warnings
from typing import Any, Dict, List, NamedTuple, Optional, Union

from . import _html, _lib
from . import _structs as s
from ._containers import Reading, Table
from ._series import Series, tables
from ._settings import Settings
from ._training import UnusedWarning
from .exceptions import CancelledError, from_status
from .model import Model

__all__ = ["Fit", "fit", "look"]


class Fit(NamedTuple):
    """What a fit found."""

    model: Model  #: the best model, by the held-back rows
    settings: Dict[str, Any]  #: those that train it again; run number ``run`` is the model
    run: int
    measures: Dict[str, float]  #: ``score``, ``dstsp``, ``hellinger``, ``prediction_error`` on the held-back rows
    floors: Dict[str, float]  #: the same measures between parts of the data
    verdict: Dict[str, Any]  #: ``kind`` ("good", "close", ...), ``text``, ``advice``, on the held-back rows
    look: Dict[str, Any]  #: what the data say about the model that they need
    trials: List[Dict[str, Any]]  #: every run that was judged, with its settings and measures
    folder: Optional[str]  #: where all of it is; None when ``results`` was not given

    def __repr__(self) -> str:
        """The verdict and the model; the settings and all trials are in the fields."""
        lines = [f"<antler.Fit {self.verdict['kind']}: {self.verdict['text']}", f"  {self.verdict['advice']}"]
        for name, value in self.measures.items():
            floor = f", floor {self.floors[name]:.3g}" if name in self.floors else ""
            lines.append(f"  {name} {value:.3g}{floor}")
        lines.append(f"  {self.model!r}, the best of {len(self.trials)} runs; folder {self.folder}>")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = [("verdict", self.verdict["kind"]), ("found", self.verdict["text"]), ("advice", self.verdict["advice"])]
        for name, value in self.measures.items():
            floor = f", floor {_html.number(self.floors[name])}" if name in self.floors else ""
            rows.append((name, _html.number(float(value)) + floor))
        rows.append(("model", repr(self.model)[len("<antler.Model ") : -1]))
        return _html.table("Fit", [*rows, ("judged", f"{len(self.trials)} runs"), ("folder", self.folder)])


def _fields(struct: Any) -> Dict[str, Any]:
    return {name: getattr(struct, name) for name in struct.names()}


def look(X: Any, *, inputs: Any = None, dt: float = 0.0) -> Dict[str, Any]:
    """What data say about the model that they need: time scales, noise, dimension, hidden variables."""
    series = Series.of_tables(tables(X), None if inputs is None else tables(inputs, "inputs"), dt=dt)
    found = s.Look()
    _lib.call("look_at", series.handle, c.byref(found))
    return _fields(found)


class _Reports:
    """The reports of a fit, as lines of text."""

    def __init__(self, verbose: bool) -> None:
        self._verbose = verbose
        self.failure: Optional[BaseException] = None
        self.interrupt = _lib.Interrupt()
        self.unused = ""  #: a sentence on trajectories that do not contribute

    def _say(self, line: str) -> None:
        if self._verbose:
            print(line, file=sys.stderr, flush=True)

    def _end(self, _cookie: Any, pointer: Any) -> None:
        try:
            note = pointer.contents
            leads = ", leads" if note.leads else ""
            self._say(
                f"rung {note.rung}/{note.rungs}, trial {note.trial}/{note.trials}: score {note.score:.3g}, "
                f"D_stsp {note.dstsp:.3g}, D_H {note.hellinger:.3g}{leads} ({_lib.text(note.reason)})"
            )
        except BaseException as error:  # it cannot pass through C
            self.failure = self.failure or error
            self.interrupt.flag.value = 1

    def _note(self, _cookie: Any, text: Any) -> None:
        self.unused = _lib.text(text)

    def events(self) -> s.FitEvents:
        stop = c.cast(_lib.function("stop_when_set"), s.TrainEventsStop)
        train = s.TrainEvents(
            self.interrupt.pointer,
            s.TrainEventsBegin(),
            s.TrainEventsRow(),
            s.TrainEventsEnd(),
            stop,
            s.TrainEventsNote(self._note),
            c.cast(_lib.function("save_when_raised"), s.TrainEventsSave),
        )
        return s.FitEvents(None, s.FitEventsLooked(), s.FitEventsBegin(), s.FitEventsEnd(self._end), train)


def _verdict(found: s.Verdict) -> Dict[str, Any]:
    kind = _lib.text(_lib.plain("verdict_name", found.kind))
    return {"kind": kind, "text": _lib.text(found.text), "advice": _lib.text(found.advice)}


def _number(text: str) -> Union[float, str]:
    try:
        return float(text)
    except ValueError:
        return text


def _read_trials(folder: str) -> List[Dict[str, Any]]:
    with open(os.path.join(folder, "trials.csv"), encoding="utf-8", newline="") as file:
        return [{name: _number(value) for name, value in row.items()} for row in csv.DictReader(file)]


def _search(series: Series, base: Settings, opts: s.FitOpts, verbose: bool) -> s.FitResult:
    reports, result = _Reports(verbose), s.FitResult()
    opts.base = c.cast(base.pointer, c.POINTER(s.Settings))
    events = reports.events()
    with _lib.saving_on_signal(reports.interrupt):
        status, sentence = _lib.long_call(
            "fit", series.handle, c.byref(opts), c.byref(events), c.byref(result), interrupt=reports.interrupt
        )
    if reports.failure is not None:
        raise reports.failure
    if reports.unused:
        warnings.warn(reports.unused, UnusedWarning, stacklevel=4)
    if status not in (0, CancelledError.status):
        raise from_status(status, sentence)
    return result


def fit(
    X: Any,
    *,
    inputs: Any = None,
    minutes: float = 0.0,
    validation: float = 0.2,
    seed: int = 1,
    results: Union[str, "os.PathLike[str]", None] = None,
    name: str = "fit",
    dt: float = 0.0,
    device: str = "auto",
    threads: int = 0,
    around: Optional[Dict[str, Any]] = None,
    verbose: bool = True,
    time: Any = "auto",
    resample: Any = None,
) -> Fit:
    """From data to a model: train candidates, judge their free runs on held-back rows, refine the best.

    ``minutes`` is the budget (0: 2 with a GPU, 5 without); ``validation`` the share of each trajectory, at its end, on
    which models are judged. With ``results`` everything is kept in ``results/name``, and a fit that was stopped
    continues there. ``around``: settings; candidates are then these and variations of them. ``X``, ``time`` and
    ``resample`` are those of ``Reconstructor.fit``.

    >>> found = antler.fit(antler.simulate("lorenz63", 20_000), minutes=1)
    >>> orbit = found.model.generate(10_000)
    """
    reading = Reading(time, resample)
    driven = None if inputs is None else tables(inputs, "inputs", reading.beside())
    return fit_tables(
        tables(X, "X", reading), driven, minutes=minutes, validation=validation, seed=seed, results=results, name=name,
        dt=dt, device=device, threads=threads, around=around, verbose=verbose,
    )  # fmt: skip


def fit_tables(
    found: List[Table], driven: Optional[List[Table]], *, minutes: float, validation: float, seed: int, results: Any,
    name: str, dt: float, device: str, threads: int, verbose: bool, around: Optional[Dict[str, Any]] = None,
) -> Fit:  # fmt: skip
    """``fit`` of data that are tables already."""
    series = Series.of_tables(found, driven, dt=dt)
    base = Settings()
    chosen = dict(around or {}, seed=seed, experiment=name, device=device, threads=threads, dt=dt)
    for key, value in chosen.items():
        base.set(key, value)
    opts = s.FitOpts()
    _lib.plain("fit_opts_default", c.byref(opts))
    opts.around, opts.minutes, opts.validation = around is not None, minutes, validation
    with tempfile.TemporaryDirectory() as scratch:
        base.set("results", scratch if results is None else os.fspath(results))
        best = _search(series, base, opts, verbose)
        folder = _lib.text(best.folder)
        names = ("dstsp", "hellinger", "prediction_error")
        return Fit(
            model=Model.load(os.path.join(folder, "model.npz")),
            settings=Settings.load(os.path.join(folder, "settings.yaml")).as_dict(),
            run=best.run,
            measures={"score": best.score, **{key: getattr(best, key) for key in names}},
            floors={key: getattr(best, key + "_floor") for key in names},
            verdict=_verdict(best.verdict),
            look=_fields(best.look),
            trials=_read_trials(folder),
            folder=None if results is None else folder,
        )
