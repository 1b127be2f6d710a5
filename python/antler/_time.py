"""The time of rows: read from an index, a coordinate or a column, checked, and continued after the last row.

Rows are evenly spaced in time. Stamps out of order or doubled are refused with their place. A step that is a multiple
of the others is a gap: the rows that are not there become rows of NaN. Anything else is uneven, and is refused unless
it is resampled. Months, quarters and years of the calendar are even, and so are business days without a gap.
"""

from __future__ import annotations

import datetime
import re
import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Optional

import numpy as np

from ._extras import need
from .exceptions import ArgumentError, DataError

#: Names of a column or variable that is taken for the time, with or without a unit: "time", "t_ms", "Time [s]".
_NAME = re.compile(
    r"(?:time|times|t|date|datetime|date[ _/]time|timestamp|timestamps|datum|zeit|zeitstempel|fecha|utc|epoch)"
    r"(?:[\s_]*[\[(_ ]\s*(\w+)\s*[\])]?)?",
    re.I,
)
_UNITS = {"ns", "us", "ms", "s", "sec", "secs", "second", "seconds", "min", "minutes", "h", "hours", "d", "days", "utc"}

_LENGTHS = (("d", 86400.0), ("h", 3600.0), ("min", 60.0))  # units of dates in seconds
_CLOSE_STEP, _CLOSE_STAMP = 0.05, 0.25  # shares of the time step
_LARGEST_FILL = 10  # rows that gaps may add, in multiples of the rows that are there, beyond a million


class GapWarning(UserWarning):
    """Rows of the time axis are missing; they are NaN."""


def is_time_name(name: Any) -> bool:
    found = _NAME.fullmatch(str(name).strip())
    return found is not None and (found.group(1) is None or found.group(1).lower() in _UNITS)


@dataclass(frozen=True)
class Axis:
    """Evenly spaced times: row i is at ``start + i * step``."""

    kind: str  #: "number", "datetime", "timedelta", "cftime", "months", "calendar", "period", or "rows": counted
    name: Optional[str]  #: of the index, coordinate or column
    start: Any  #: number, datetime64, timedelta64, cftime, or the first stamp of a calendar; of months in ``zone``
    step: Any  #: the same, as a difference; the number of months; of a calendar the name of its frequency
    rows: int
    dt: float = 0.0  #: the step as a number, in units of ``unit``; 0: unknown
    unit: str = ""  #: "s", "min", "h", "d", "month" or "yr" for dates; that of the name for numbers, or ""
    zone: Any = None  #: time zone of a pandas index
    column: bool = False  #: it was a column of the table, and is one again in what is generated
    day: int = 0  #: of months: the day of each; 31: the last

    def at(self, first: int, count: int) -> Any:
        """Times of ``count`` rows from row ``first`` on; rows after the last continue."""
        if self.kind == "months":
            return _in_utc(self._months(first, count), self.zone)
        if self.kind == "calendar":
            return _calendar(self.start, self.step, first + count)[first:]
        if self.kind == "period":
            import pandas

            return pandas.period_range(self.start, periods=first + count, freq=self.step)[first:]
        if self.kind == "cftime":
            return np.array([self.start + i * self.step for i in range(first, first + count)], dtype=object)
        return self.start + np.arange(first, first + count) * self.step

    def cut(self, first: int) -> "Axis":
        """The axis from row ``first`` on."""
        start = (self._months if self.kind == "months" else self.at)(first, 1)[0]
        return replace(self, start=start, rows=self.rows - first)

    def _months(self, first: int, count: int) -> Any:
        return _after_months(self.start, self.day, np.arange(first, first + count) * self.step)

    def __str__(self) -> str:
        if self.kind == "rows":
            return "rows are counted"
        step = self.step if self.kind in ("calendar", "period") else f"{self.dt:.6g} {self.unit}".strip()
        return f"{self.name or 'index'}: {self.rows} rows from {self.start}, dt = {step}"


def counted(first: int, rows: int, step: int = 1, name: Optional[str] = None) -> Axis:
    """An axis that numbers rows and has no time."""
    return Axis("rows", name, first, step, rows)


def even(rows: int, dt: float, start: float = 0.0, unit: str = "") -> Axis:
    """An axis of numbers from a time between rows; where that is 0, of counted rows."""
    return Axis("number", "time", start, dt, rows, dt, unit) if dt > 0 else counted(0, rows)


def _after_months(start: Any, day: int, months: np.ndarray) -> Any:
    """The stamps so many months after ``start``, on this day of the month or the last one."""
    if hasattr(start, "calendar"):
        made = []
        for total in start.year * 12 + start.month - 1 + months:
            opening = start.replace(year=int(total // 12), month=int(total % 12) + 1, day=1)
            made.append(opening.replace(day=min(day, opening.daysinmonth)))
        return np.array(made, dtype=object)
    opening = start.astype("datetime64[M]") + months
    lengths = ((opening + 1).astype("datetime64[D]") - opening.astype("datetime64[D]")).astype(int)
    days = opening.astype("datetime64[D]") + (np.minimum(day, lengths) - 1)
    return days + (start - start.astype("datetime64[D]"))


def _in_zone(stamps: np.ndarray, zone: Any) -> np.ndarray:
    """Stamps in UTC by the clocks of a time zone."""
    if zone is None:
        return stamps
    import pandas

    return np.asarray(pandas.DatetimeIndex(stamps).tz_localize("UTC").tz_convert(zone).tz_localize(None))


def _in_utc(stamps: np.ndarray, zone: Any) -> np.ndarray:
    if zone is None:
        return stamps
    import pandas

    index = pandas.DatetimeIndex(stamps)
    there = index.tz_localize(zone, ambiguous=np.ones(len(index), bool), nonexistent="shift_forward")
    return np.asarray(there.tz_convert("UTC").tz_localize(None))


def _month_places(stamps: np.ndarray) -> Any:
    """(months, day) of stamps that have the same clock time and the same day of the month, or its last; else None."""
    if stamps.dtype.kind == "O":
        months = np.array([stamp.year * 12 + stamp.month - 1 for stamp in stamps])
        days = np.array([stamp.day for stamp in stamps])
        lengths = np.array([stamp.daysinmonth for stamp in stamps])
        clock = {(stamp.hour, stamp.minute, stamp.second, stamp.microsecond) for stamp in stamps}
    else:
        opening, whole = stamps.astype("datetime64[M]"), stamps.astype("datetime64[D]")
        months = opening.astype(int)
        days = (whole - opening.astype("datetime64[D]")).astype(int) + 1
        lengths = ((opening + 1).astype("datetime64[D]") - opening.astype("datetime64[D]")).astype(int)
        clock = set((stamps - whole).tolist())
    day = 31 if np.all(days == lengths) else int(days.max())
    fits = len(clock) == 1 and np.all(np.diff(months) > 0) and np.all(days == np.minimum(day, lengths))
    return (months - months[0], day) if fits else None


def month_axis(name: Optional[str], start: Any, step: int, rows: int, day: int, **known: Any) -> Axis:
    """An axis of every ``step`` months; dt counts years where that is whole."""
    dt, unit = (step / 12, "yr") if step % 12 == 0 else (float(step), "month")
    return Axis("months", name, start, step, rows, dt, unit, day=day, **known)


def _month_grid(stamps: _Stamps, what: str, name: Optional[str], known: Any) -> Optional[Grid]:
    """The axis of stamps that follow the months of the calendar; None when they do not."""
    wall = _in_zone(stamps.raw, known.get("zone"))
    found = _month_places(wall) if len(wall) > 2 else None
    if found is None:
        return None
    months, day = found
    step = int(np.gcd.reduce(np.diff(months)))
    multiples = np.diff(months) // step
    if np.mean(multiples == 1) < 0.5:
        return None
    places = months // step
    rows = int(places[-1]) + 1
    if rows > len(wall):
        _say_gaps(multiples, stamps.raw, what, rows)
    axis = month_axis(name, wall[0], step, rows, day, **known)
    return Grid(axis, places if rows > len(wall) else None)


def _calendar(start: Any, frequency: str, count: int) -> Any:
    if hasattr(start, "calendar"):
        import xarray

        return xarray.date_range(start, periods=count, freq=frequency, use_cftime=True).values
    import pandas

    return pandas.date_range(start, periods=count, freq=frequency).values


class Resampling(NamedTuple):
    """Interpolation from given times to the rows of an axis."""

    numbers: np.ndarray  #: given times, as numbers from the first one on
    step: float
    method: str  #: "linear" or "cubic"

    def values(self, values: np.ndarray, rows: int) -> np.ndarray:
        """Values (T, ...) at ``rows`` even times; NaN inside steps that are longer than three usual ones."""
        times = np.arange(rows) * self.step
        if self.method == "cubic":
            interpolate = need("scipy.interpolate", "matlab", "resample=(dt, 'cubic')")
            made = interpolate.CubicSpline(self.numbers, values, axis=0)(times)
        else:
            flat = values.reshape(len(values), -1).astype(float)
            made = np.column_stack([np.interp(times, self.numbers, column) for column in flat.T])
            made = made.reshape(rows, *values.shape[1:])
        steps = np.diff(self.numbers)
        before = np.clip(np.searchsorted(self.numbers, times, side="right") - 1, 0, len(steps) - 1)
        inside = (times > self.numbers[before]) & (times < self.numbers[before + 1])
        made[inside & (steps[before] > 3.0 * max(float(np.median(steps)), self.step))] = np.nan
        return np.asarray(made)


class Grid(NamedTuple):
    """An axis, and what the given rows are on it."""

    axis: Axis
    places: Optional[np.ndarray] = None  #: the row of each given row, where some are missing
    resampling: Optional[Resampling] = None

    @property
    def whole(self) -> bool:
        """Whether the given rows are those of the axis."""
        return self.places is None and self.resampling is None

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Values (T, ...) on the axis: the array itself where no row is missing."""
        if self.resampling is not None:
            return self.resampling.values(values, self.axis.rows)
        if self.places is None:
            return values
        kind = values.dtype if values.dtype.kind == "f" else np.dtype(float)
        filled = np.full((self.axis.rows, *values.shape[1:]), np.nan, dtype=kind)
        filled[self.places] = values
        return filled


def _place(row: int, stamps: np.ndarray) -> str:
    stamp = f"{stamps[row]:.10g}" if stamps.dtype.kind == "f" else str(stamps[row])
    return f"row {row + 1} ({stamp})"


class _Stamps(NamedTuple):
    """Stamps as numbers in one unit."""

    raw: np.ndarray  #: as they were given
    numbers: np.ndarray  #: from the first one on, in units of ``unit``
    kind: str
    unit: str
    length: float  #: of the unit in seconds; 1 for numbers

    @classmethod
    def of(cls, raw: np.ndarray, name: Optional[str]) -> "_Stamps":
        if raw.dtype.kind not in "MmO":
            numbers = raw.astype(float)
            return cls(raw, numbers - numbers[0], "number", _unit_in(name), 1.0)
        kind = {"M": "datetime", "m": "timedelta", "O": "cftime"}[raw.dtype.kind]
        if kind == "cftime":
            seconds = np.array([(stamp - raw[0]).total_seconds() for stamp in raw])
        else:
            seconds = (raw - raw[0]) / np.timedelta64(1, "s")
        usual = float(np.median(np.diff(seconds))) if len(raw) > 1 else 1.0
        # The largest unit that is not longer than the usual step, as the library has it for dates in files.
        unit, length = next((pair for pair in _LENGTHS if usual >= pair[1]), ("s", 1.0))
        return cls(raw, seconds / length, kind, unit, length)

    @property
    def resolution(self) -> float:
        """How far a difference may be off because of the type that the stamps are stored in."""
        if self.raw.dtype.kind != "f":
            return 0.0
        return 4.0 * float(np.finfo(self.raw.dtype).eps) * float(np.max(np.abs(self.raw)))


def _unit_in(name: Optional[str]) -> str:
    """The unit in the name of a column: "s" of "time [s]"; "" without one."""
    found = _NAME.fullmatch((name or "").strip())
    return found.group(1) if found is not None and (found.group(1) or "").lower() in _UNITS else ""


def _check_clock(given: _Stamps, steps: np.ndarray, what: str) -> None:
    """A clock that went back in the night to a Sunday: the first step out of order is an hour too short."""
    rows = np.flatnonzero(steps <= 0)
    if given.kind != "datetime" or not rows.size or rows[0] == 0:
        return
    row = rows[0] + 1
    night = (given.raw[row] - np.datetime64("1970-01-04")) / np.timedelta64(1, "h") % 168  # hours of the week
    early = (steps[0] - steps[row - 1]) * given.length
    if night <= 3 and abs(early - 3600.0) < 1.0:
        raise DataError(
            f"{what}: {_place(row, given.raw)} comes an hour too early after the row before; where the clocks went "
            "back to winter time, say so: index.tz_localize('Europe/Berlin', ambiguous='infer')"
        )


def _check_order(given: _Stamps, what: str) -> None:
    numbers, stamps = given.numbers, given.raw
    lost = np.flatnonzero(~np.isfinite(numbers))
    if lost.size:
        raise DataError(f"{what}: the time of row {lost[0] + 1} is missing; drop the row, or give its time")
    steps = np.diff(numbers)
    _check_clock(given, steps, what)
    if steps.size and np.all(steps < 0):
        raise DataError(f"{what}: time runs backward, from {stamps[0]} to {stamps[-1]}; turn the rows round: X[::-1]")
    for wrong, sentence in (
        (steps < 0, "is earlier than the row before; sort the rows by time"),
        (steps == 0, "has the time of the row before; drop one of them, or give trajectories as a list"),
    ):
        rows = np.flatnonzero(wrong)
        if rows.size:
            more = f"; {rows.size} such rows in all" if rows.size > 1 else ""
            raise DataError(f"{what}: {_place(rows[0] + 1, stamps)} {sentence}{more}")


def _multiples(stamps: _Stamps) -> Optional[np.ndarray]:
    """How many time steps each step is; None when the stamps are uneven.

    Even: each step is within 5 % of a multiple of the time step, or each stamp within 25 % of a grid; and at least half
    of the steps are single.
    """
    steps = np.diff(stamps.numbers)
    usual = float(np.median(steps))
    near = steps[(steps > 0.5 * usual) & (steps < 1.5 * usual)]
    step = float(np.mean(near)) if near.size else usual
    for _ in range(2):
        turns = np.maximum(np.rint(steps / step), 1)
        step = float(stamps.numbers[-1] / turns.sum())
    by_steps = np.all(np.abs(steps - turns * step) <= _CLOSE_STEP * step + stamps.resolution)
    by_grid = np.all(np.abs(stamps.numbers[1:] - np.cumsum(turns) * step) <= _CLOSE_STAMP * step + stamps.resolution)
    even = (by_steps or by_grid) and np.mean(turns == 1) >= 0.5
    return turns.astype(np.int64) if even else None


def _frequency(stamps: np.ndarray) -> Optional[str]:
    """The frequency of a calendar that the stamps follow without a gap, as pandas or xarray names it."""
    if len(stamps) < 4:
        return None
    if stamps.dtype.kind == "O":
        xarray: Any = need("xarray", "frames", "a calendar of its own")
        found = xarray.infer_freq(xarray.DataArray(stamps, dims="time"))
    else:
        try:
            import pandas
        except ImportError:
            return None
        with warnings.catch_warnings():  # pandas 3 announces that this will be an object
            warnings.simplefilter("ignore")
            found = pandas.infer_freq(pandas.DatetimeIndex(stamps))
    return None if found is None else str(getattr(found, "freqstr", found))


def _uneven(stamps: _Stamps, what: str) -> DataError:
    steps = np.diff(stamps.numbers)
    low, middle, high = (float(value) for value in np.quantile(steps, (0.05, 0.5, 0.95)))
    unit = f" {stamps.unit}" if stamps.unit else ""
    return DataError(
        f"{what}: the rows are not evenly spaced in time: steps from {steps.min():.4g} to {steps.max():.4g}{unit}, "
        f"nine of ten from {low:.4g} to {high:.4g}, median {middle:.4g}; resample={middle:.4g} interpolates them to "
        "even times"
    )


def grid(raw: Any, what: str, name: Any = None, *, resample: Any = None, **known: Any) -> Grid:
    """The axis of these stamps (T), one per row."""
    label = None if name is None else str(name)
    if len(raw) == 0:
        return Grid(counted(0, 0, 1, label))
    stamps = _Stamps.of(np.asarray(raw), label)
    _check_order(stamps, what)
    if resample is not None:
        return _resampled(stamps, what, label, resample, known)
    kind, first, rows = stamps.kind, stamps.raw[0], len(stamps.raw)
    if rows < 2:
        return Grid(Axis(kind, label, first, first - first, rows, **known))
    months = _month_grid(stamps, what, label, known) if kind in ("datetime", "cftime") else None
    if months is not None:
        return months
    multiples = _multiples(stamps)
    if kind in ("datetime", "cftime") and (multiples is None or multiples.max() > 1 or stamps.unit == "d"):
        frequency = _frequency(stamps.raw)
        if frequency is not None:
            mean = float(stamps.numbers[-1]) / (rows - 1)
            return Grid(Axis("calendar", label, first, frequency, rows, mean, stamps.unit, **known))
    if multiples is None:
        raise _uneven(stamps, what)
    places = np.concatenate([[0], np.cumsum(multiples)])
    filled = int(places[-1]) + 1
    if filled > rows:
        _say_gaps(multiples, stamps.raw, what, filled)
    dt = _shortest(float(stamps.numbers[-1]) / (filled - 1), stamps, places)
    axis = Axis(kind, label, first, _step(stamps, filled - 1, dt), filled, dt, stamps.unit, **known)
    if _are_serial_days(stamps, label):
        axis = _of_serial_days(axis, float(stamps.numbers[-1]) / (filled - 1))
    return Grid(axis, places if filled > rows else None)


_DATE = re.compile("date|datum|fecha", re.I)
_FIRST_DAY, _LAST_DAY = 25569, 73050  # 1970 and 2100, in days since 1899-12-30


def _are_serial_days(stamps: _Stamps, name: Optional[str]) -> bool:
    """Numbers below the name of a date that can be days since 1899-12-30, as spreadsheets store dates."""
    named = _DATE.search(name or "") is not None and not stamps.unit and stamps.kind == "number"
    return named and bool(np.all((stamps.raw >= _FIRST_DAY) & (stamps.raw <= _LAST_DAY)))


def _of_serial_days(axis: Axis, mean: float) -> Axis:
    """dt in a unit of time; the times stay numbers of days. A step of about whole seconds is one."""
    seconds = 86400.0 * mean
    whole = max(round(seconds), 1)
    seconds = float(whole) if abs(seconds - whole) < 1e-4 * seconds else seconds
    unit, length = next((pair for pair in _LENGTHS if seconds >= pair[1]), ("s", 1.0))
    step = axis.step if axis.step == round(axis.step) else seconds / 86400.0
    return replace(axis, step=step, dt=seconds / length, unit=unit)


def _shortest(step: float, stamps: _Stamps, places: np.ndarray) -> float:
    """The shortest decimal number that fits the stamps as well: 0.01 instead of 0.0100000000000003."""
    allowed = float(np.max(np.abs(stamps.numbers - places * step))) + stamps.resolution + 1e-12 * stamps.numbers[-1]
    for digits in range(1, 16):
        short = float(f"{step:.{digits}g}")
        if np.all(np.abs(stamps.numbers - places * short) <= allowed):
            return short
    return step


def _step(stamps: _Stamps, steps: int, dt: float) -> Any:
    """The step of the axis in the type of its stamps."""
    span = stamps.raw[-1] - stamps.raw[0]
    if stamps.kind == "cftime":
        return span / steps
    if stamps.kind == "number":
        return int(dt) if stamps.raw.dtype.kind in "iu" and dt == int(dt) else dt
    if span.astype(np.int64) % steps == 0:
        return span // steps
    return span.astype("timedelta64[ns]") // steps


def _say_gaps(multiples: np.ndarray, stamps: np.ndarray, what: str, rows: int) -> None:
    gaps = np.flatnonzero(multiples > 1)
    added, first = rows - len(stamps), gaps[0]
    if added > _LARGEST_FILL * len(stamps) + 1_000_000:
        longest = int(np.argmax(multiples))
        raise DataError(
            f"{what}: {multiples[longest] - 1} rows are missing after {_place(longest, stamps)}, more than can be "
            "filled in; give the parts before and after as a list of trajectories"
        )
    others = f" and in {gaps.size - 1} more places, {added} in all" if gaps.size > 1 else ""
    missing = int(multiples[first]) - 1
    rows_are = f"{missing} row{'s are' if missing > 1 else ' is'}"
    warnings.warn(
        f"{what}: {rows_are} missing after {_place(first, stamps)}{others}; they count as missing values (NaN)",
        GapWarning,
        stacklevel=2,
    )


def length_text(step: Any) -> str:
    """A step as the library reads it: a number in the unit of the stamps, or with a unit, "10min"."""
    if isinstance(step, np.timedelta64):
        return f"{float(step / np.timedelta64(1, 's'))!r}s"
    return f"{step.total_seconds()!r}s" if hasattr(step, "total_seconds") else str(step)


def _length(step: Any, stamps: _Stamps) -> float:
    """A step as a number in the unit of the stamps; time spans have their own."""
    if isinstance(step, str) and stamps.kind != "number":
        pandas = need("pandas", "frames", f"resample={step!r}")
        try:
            step = pandas.Timedelta(step)
        except ValueError:
            raise ArgumentError(f"resample={step!r} is no fixed length of time; give '10min' or '30D'") from None
    if isinstance(step, np.timedelta64):
        return float(step / np.timedelta64(1, "s")) / stamps.length
    return float(step.total_seconds() / stamps.length if hasattr(step, "total_seconds") else step)


def _resampled(stamps: _Stamps, what: str, name: Optional[str], resample: Any, known: Any) -> Grid:
    """An even axis over the same time, and how values get there."""
    given, method = resample if isinstance(resample, tuple) else (resample, "linear")
    if method not in ("linear", "cubic"):
        raise ArgumentError(f"resample is {resample!r}; the method is 'linear' or 'cubic'")
    step, span = _length(given, stamps), float(stamps.numbers[-1])
    if not 0 < step <= span:
        raise ArgumentError(f"resample is {given!r}; give a time above 0 and below that of all of {what}")
    typed: Any = step
    if stamps.kind == "cftime":
        typed = datetime.timedelta(seconds=step * stamps.length)
    elif stamps.kind != "number":
        typed = np.timedelta64(int(round(step * stamps.length * 1e9)), "ns")
    rows = int(span / step * (1 + 1e-12)) + 1
    axis = Axis(stamps.kind, name, stamps.raw[0], typed, rows, step, stamps.unit, **known)
    return Grid(axis, None, Resampling(stamps.numbers, step, method))
