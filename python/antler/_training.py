"""A training under way: what it reports, how it is shown, how it is stopped."""

from __future__ import annotations

import ctypes as c
import threading
from typing import Any, Callable, Dict, List, Optional, Tuple

import numpy as np

from . import _lib
from . import _structs as s
from .exceptions import CancelledError, DivergedError, from_status

#: Columns of log.csv, in its order, and the type of their values.
LOG_COLUMNS = {
    field[0]: {c.c_size_t: int, c.c_char_p: str}.get(field[1], float)
    for field in s.TrainRow._fields_
    if field[0] not in ("run", "updates")
}


def log_arrays(rows: List[Tuple[Any, ...]]) -> Dict[str, np.ndarray]:
    """Rows of a log as one array per column."""
    columns = list(zip(*rows)) if rows else [()] * len(LOG_COLUMNS)
    return {name: np.array(column, dtype=kind) for (name, kind), column in zip(LOG_COLUMNS.items(), columns)}


class _Bar:
    """One progress bar for all runs of a training; tqdm's, or none when tqdm is not installed."""

    def __init__(self, wanted: bool) -> None:
        self._make: Optional[Callable[..., Any]] = None
        self._bar: Any = None
        self._done: Dict[int, int] = {}
        if wanted:
            try:
                from tqdm.auto import tqdm

                self._make = tqdm
            except ImportError:
                pass

    def begin(self, note: s.TrainNote) -> None:
        if self._make is not None and self._bar is None:
            # disable=None: silent where the output is no terminal
            self._bar = self._make(total=note.updates * note.runs, unit="update", disable=None, leave=False)
        self._move(note.run, note.update)

    def _move(self, run: int, update: int) -> None:
        if self._bar is not None:
            self._bar.update(update - self._done.get(run, 0))
        self._done[run] = update

    def row(self, row: s.TrainRow) -> None:
        self._move(row.run, row.update)
        if self._bar is not None:
            self._bar.set_postfix(loss=f"{row.loss:.3g}", refresh=False)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


class UnusedWarning(UserWarning):
    """Trajectories that are shorter than a window do not contribute."""


class Watch:
    """Takes the reports of one training, from whichever thread they come."""

    def __init__(self, verbose: bool, callback: Optional[Callable[[Dict[str, Any]], Any]] = None) -> None:
        self.interrupt = _lib.Interrupt()
        self.rows: Dict[int, List[Tuple[Any, ...]]] = {}
        self.endings: Dict[int, Tuple[int, str]] = {}
        self.choices: Dict[int, str] = {}
        self.failure: Optional[BaseException] = None
        self._bar = _Bar(verbose)
        self._callback = callback
        self._lock = threading.Lock()

    def _guarded(self, action: Callable[..., None]) -> Callable[..., None]:
        """An exception cannot pass through C: it stops the training and is raised when that has ended."""

        def report(_cookie: Any, pointer: Any) -> None:
            try:
                with self._lock:
                    action(pointer.contents)
            except BaseException as error:
                self.failure = self.failure or error
                self.interrupt.flag.value = 1

        return report

    def _begin(self, note: s.TrainNote) -> None:
        self.choices[note.run] = _lib.text(note.text)
        self._bar.begin(note)

    def _row(self, row: s.TrainRow) -> None:
        raw = [getattr(row, name) for name in LOG_COLUMNS]
        values = tuple(_lib.text(value) if isinstance(value, bytes) else value for value in raw)
        self.rows.setdefault(row.run, []).append(values)
        self._bar.row(row)
        if self._callback is not None and self._callback({"run": row.run, **dict(zip(LOG_COLUMNS, values))}):
            self.interrupt.flag.value = 1

    def _end(self, note: s.TrainNote) -> None:
        self.endings[note.run] = (note.status, _lib.text(note.text))

    def run(self, name: str, *arguments: Any) -> s.TrainResult:
        """Train. Diverged runs are left to the caller; everything else that is not OK is raised."""
        stop = c.cast(_lib.function("stop_when_set"), s.TrainEventsStop)
        events = s.TrainEvents(
            self.interrupt.pointer,
            s.TrainEventsBegin(self._guarded(self._begin)),
            s.TrainEventsRow(self._guarded(self._row)),
            s.TrainEventsEnd(self._guarded(self._end)),
            stop,
            s.TrainEventsNote(),
            c.cast(_lib.function("save_when_raised"), s.TrainEventsSave),
        )
        result = s.TrainResult()
        try:
            with _lib.saving_on_signal(self.interrupt):
                status, sentence = _lib.long_call(
                    name, *arguments, c.byref(events), c.byref(result), interrupt=self.interrupt
                )
        finally:
            self._bar.close()
        if self.failure is not None:
            raise self.failure
        if status not in (0, DivergedError.status, CancelledError.status):
            raise from_status(status, sentence)
        return result
