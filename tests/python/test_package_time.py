"""The time of rows: recognised, checked, and continued in what is generated."""

import datetime
import warnings

import numpy as np
import pytest

import antler
from antler import exceptions
from antler._containers import Reading
from antler._series import Series, tables
from antler._time import GapWarning, is_time_name

ROWS = 600


def rows_of_waves(rows=ROWS):
    t = 0.1 * np.arange(rows)
    return np.column_stack([np.sin(t), np.cos(1.3 * t)])


@pytest.fixture(scope="module")
def small_model():
    sizes = dict(latent_dim=2, hidden_dim=4, sequence_length=20, batch_size=4)
    return dict(sizes, updates=5, log_interval=5, validation=0.0, threads=1, verbose=False, random_state=0)


def fit(settings, X, **more):
    return antler.Reconstructor(**settings).fit(X, **more)


NAMES = ["time", "t", "Time [s]", "t_ms", "timestamp", "DATE", "time (s)", "datetime", "Date/Time", "Datum", "utc"]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_time(name):
    assert is_time_name(name)


@pytest.mark.parametrize("name", ["temperature", "t_outside", "times of day", "tt", "x", None, "time_lag"])
def test_other_names(name):
    assert not is_time_name(name)


def test_days_of_a_spreadsheet(small_model):
    """dt has its unit; the times stay numbers, so that a free run continues the frame."""
    pandas = pytest.importorskip("pandas")
    values = {name: column for name, column in zip("ab", rows_of_waves().T)}
    for days, dt, unit in ((np.arange(ROWS), 1.0, "d"), (np.round(np.arange(ROWS) / 24, 5), 1.0, "h")):
        frame = pandas.DataFrame({"Date": 45000 + days, **values})
        model = fit(small_model, frame)
        assert model.model_.dt == pytest.approx(dt, abs=1e-12) and model.time_.unit == unit
        wanted = 45000 + (ROWS + np.arange(3)) * (days[24] / 24)
        np.testing.assert_allclose(model.generate(3)["Date"], wanted, atol=1e-9)
    for name, first in (("date", 1000.0), ("time", 45000.0), ("date (s)", 45000.0)):
        frame = pandas.DataFrame({name: first + 0.02 * np.arange(ROWS), **values})
        assert fit(small_model, frame).model_.dt == pytest.approx(0.02)


def test_a_clock_that_goes_back(small_model):
    pandas = pytest.importorskip("pandas")
    local = pandas.date_range("2026-10-24 20:00", periods=ROWS, freq="5min", tz="Europe/Berlin")
    frame = pandas.DataFrame(rows_of_waves(), columns=["a", "b"], index=local.tz_localize(None))
    with pytest.raises(exceptions.DataError, match="row 85 .* an hour too early .*tz_localize"):
        fit(small_model, frame)
    again = frame.set_index(frame.index.tz_localize("Europe/Berlin", ambiguous="infer"))
    assert fit(small_model, again).model_.dt == 5.0
    frame.index = pandas.date_range("2026-10-21", periods=ROWS, freq="5min").insert(85, "2026-10-21 06:00")[:-1]
    with pytest.raises(exceptions.DataError, match="earlier than the row before"):  # not a night to a Sunday
        fit(small_model, frame)


def test_dates_in_text_of_a_frame(small_model):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(rows_of_waves(), columns=["a", "b"])
    frame.insert(0, "Datum", pandas.date_range("2024-01-01", periods=ROWS).strftime("%d.%m.%Y"))
    with pytest.raises(exceptions.DataError, match="column 'Datum' of X .*pandas.to_datetime, dayfirst=True"):
        fit(small_model, frame)


def test_a_grid_is_no_list_of_trajectories(small_model):
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(0).standard_normal((ROWS, 2, 3))
    grid = xarray.DataArray(values, dims=("time", "lat", "lon"))
    with pytest.raises(exceptions.DataError, match=r"X\.stack\(place=\('lat', 'lon'\)\)"):
        fit(small_model, grid)
    assert fit(small_model, grid.stack(place=("lat", "lon"))).n_features_in_ == 6
    trials = xarray.DataArray(values.swapaxes(0, 1), dims=("trial", "time", "channel"))
    assert fit(small_model, trials).n_features_in_ == 3


class TestArrays:
    def test_times_beside_an_array(self, small_model):
        x = rows_of_waves()
        model = fit(small_model, x, time=5.0 + 0.25 * np.arange(ROWS))
        assert model.model_.dt == pytest.approx(0.25) and model.time_.start == 5.0
        orbit = model.generate(3)
        assert orbit.first_row == ROWS
        np.testing.assert_allclose(orbit.time, 5.0 + 0.25 * (ROWS + np.arange(3)))
        inside = model.generate(4, context=x, warmup=9)
        assert inside.first_row == 10 and inside.time is None
        assert orbit[1:].first_row is None and (orbit + 0).time is None

    def test_dates_beside_an_array(self, small_model):
        stamps = np.datetime64("2021-03-01") + np.arange(ROWS) * np.timedelta64(10, "m")
        model = fit(small_model, rows_of_waves(), time=stamps)
        assert model.model_.dt == pytest.approx(10.0) and model.time_.unit == "min"
        np.testing.assert_array_equal(model.generate(2).time, stamps[-1] + np.array([1, 2]) * np.timedelta64(10, "m"))
        zone = datetime.timezone(datetime.timedelta(hours=2))
        days = np.datetime_as_string(stamps[0].astype("M8[D]") + np.arange(ROWS))
        digits = np.char.replace(days, "-", "").astype(int)
        (table,) = tables(rows_of_waves(), "X", Reading(digits))  # 20210301 is a day, and no number
        assert table.dt == 1.0 and table.time.unit == "d" and table.values.shape == (ROWS, 2)
        with pytest.raises(exceptions.DataError, match="row 2 .20210230. is earlier"):  # 20210230 is no day
            tables(rows_of_waves(), "X", Reading(np.where(digits == 20210302, 20210230, digits)))
        clock = [datetime.datetime(2021, 3, 1, tzinfo=zone) + datetime.timedelta(minutes=i) for i in range(ROWS)]
        (table,) = tables(rows_of_waves(), "X", Reading(np.array(clock)))
        assert table.dt == 1.0 and str(table.time.start) == "2021-02-28T22:00:00.000000000"

    @pytest.mark.parametrize(
        "change, sentence",
        [
            (lambda t: t[::-1], "time runs backward"),
            (lambda t: np.r_[t[:100], t[150], t[101:]], r"X: row 102 \(10.1\) is earlier"),
            (lambda t: np.r_[t[:100], t[99], t[101:]], r"X: row 101 \(9.9\d*\) has the time of the row before"),
            (lambda t: np.r_[t[:100], np.nan, t[101:]], "the time of row 101 is missing"),
            (lambda t: t**1.5, "not evenly spaced in time: steps from 0.0316.*resample="),
            (lambda t: t[:-1], r"time has shape \(599,\) and X 600 rows"),
        ],
    )
    def test_times_that_cannot_be_used(self, small_model, change, sentence):
        with pytest.raises(ValueError, match=sentence):
            fit(small_model, rows_of_waves(), time=change(0.1 * np.arange(ROWS)))

    def test_jitter_and_rounding_are_even(self):
        rng = np.random.default_rng(1)
        for stamps in (
            np.arange(ROWS) + 0.02 * rng.uniform(-1, 1, ROWS),
            (0.01 * np.arange(200_000)).astype(np.float32)[-ROWS:],
            np.round(np.arange(ROWS) / 0.3),  # whole seconds
        ):
            (table,) = tables(rows_of_waves(), "X", Reading(stamps))
            assert len(table.values) == ROWS
            assert table.dt == pytest.approx(np.ptp(stamps.astype(float)) / (ROWS - 1), rel=1e-3)

    def test_gaps_become_missing_rows(self):
        x, stamps = rows_of_waves(), 0.5 * np.arange(ROWS)
        there = np.r_[0:100, 140:300, 301:ROWS]
        with pytest.warns(GapWarning, match=r"40 rows are missing after row 100 \(49.5\) and in 1 more.*41 in all"):
            (table,) = tables(x[there], "X", Reading(stamps[there]))
        assert table.values.shape == (ROWS, 2) and table.dt == pytest.approx(0.5)
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(table.values[:, 0])), np.r_[100:140, 300])
        np.testing.assert_array_equal(table.values[there], x[there])
        with pytest.raises(exceptions.DataError, match="give the parts before and after as a list"):
            tables(x, "X", Reading(np.r_[0.0:100.0, 1e9 : 1e9 + 500]))

    def test_resampling(self):
        rng = np.random.default_rng(2)
        stamps = np.sort(rng.uniform(0, 60, 900))
        x = np.sin(stamps)
        for method, error in (("linear", 0.02), ("cubic", 0.02)):
            if method == "cubic":
                pytest.importorskip("scipy")
            (table,) = tables(x, "X", Reading(stamps, (0.1, method)))
            there = ~np.isnan(table.values[:, 0])
            even = stamps[0] + 0.1 * np.arange(len(table.values))
            np.testing.assert_allclose(table.values[there, 0], np.sin(even[there]), atol=error)
            assert table.dt == 0.1 and even[-1] <= stamps[-1] < even[-1] + 0.1
        hole = stamps[(stamps < 20) | (stamps > 30)]
        (table,) = tables(np.sin(hole), "X", Reading(hole, 0.1))
        inside = stamps[0] + 0.1 * np.arange(len(table.values))
        assert np.isnan(table.values[(inside > 20.2) & (inside < 29.8)]).all()
        with pytest.raises(ValueError, match="'linear' or 'cubic'"):
            tables(x, "X", Reading(stamps, (0.1, "best")))
        with pytest.raises(ValueError, match="above 0"):
            tables(x, "X", Reading(stamps, 0.0))


class TestTrajectories:
    def test_dictionaries_and_lists(self, small_model):
        x = rows_of_waves()
        parts = {"a": x[:200], "b": x[200:450], "c": x[450:]}
        model, same = fit(small_model, parts), fit(small_model, list(parts.values()))
        np.testing.assert_array_equal(model.model_.W, same.model_.W)
        assert Series.of(parts).count == 3 and model.generate(1).first_row == 150
        with pytest.raises(exceptions.DataError, match=r"X\['b'\] has 1 variables"):
            fit(small_model, {"a": x, "b": x[:, :1]})

    def test_each_has_its_own_times(self):
        x = rows_of_waves()
        found = tables([x[:300], x[300:]], "X", Reading([np.arange(300.0), 9 + np.arange(300.0)]))
        assert [table.time.start for table in found] == [0.0, 9.0]
        with pytest.raises(exceptions.DataError, match=r"X\[1\] has a row every 2.*resample="):
            tables([x[:300], x[300:]], "X", Reading([np.arange(300.0), 2 * np.arange(300.0)]))
        with pytest.raises(exceptions.DataError, match="2 trajectories and times for 1"):
            tables([x[:300], x[300:]], "X", Reading([np.arange(300.0)]))


class TestPandas:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.pandas = pytest.importorskip("pandas")

    def frame(self, index, rows=ROWS):
        return self.pandas.DataFrame(rows_of_waves(rows), columns=["a", "b"], index=index)

    @pytest.mark.parametrize(
        "frequency, dt", [("10min", 10.0), ("4ms", 0.004), ("MS", 1.0), ("QS", 3.0), ("B", 1.4), ("D", 1.0)]
    )
    def test_an_index_of_dates_continues(self, small_model, frequency, dt):
        index = self.pandas.date_range("2021-01-01", periods=ROWS, freq=frequency, name="when")
        model = fit(small_model, self.frame(index))
        assert model.model_.dt == pytest.approx(dt, rel=2e-3)
        more = self.pandas.date_range(index[-1], periods=6, freq=frequency)[1:]
        orbit = model.generate(5)
        assert list(orbit.index) == list(more) and orbit.index.name == "when" and orbit.attrs["first_row"] == ROWS
        inside = model.generate(5, context=self.frame(index), warmup=3)
        assert list(inside.index) == list(index[4:9])
        past = model.generate(5, context=self.frame(index), warmup="all")
        assert list(past.index) == list(more)

    @pytest.mark.parametrize("first, step, day", [("2001-01-31", 1, 31), ("2001-03-30", 1, 30), ("2001-11-15", 6, 15),
                                                  ("2004-02-29", 12, 31)])  # fmt: skip
    def test_months_keep_their_day(self, first, step, day):
        months = np.datetime64(first, "M") + step * np.arange(30)
        lengths = ((months + 1).astype("datetime64[D]") - months.astype("datetime64[D]")).astype(int)
        stamps = months.astype("datetime64[D]") + (np.minimum(day, lengths) - 1)
        (table,) = tables(self.frame(self.pandas.DatetimeIndex(stamps[:20]), 20))
        assert (table.time.dt, table.time.unit) == ((step / 12, "yr") if step % 12 == 0 else (step, "month"))
        np.testing.assert_array_equal(table.time.at(0, 30), stamps)
        np.testing.assert_array_equal(table.time.cut(7).at(0, 23), stamps[7:])
        with pytest.warns(GapWarning, match="3 rows are missing after row 5"):
            (gapped,) = tables(self.frame(self.pandas.DatetimeIndex(np.delete(stamps[:20], [5, 6, 7])), 17))
        np.testing.assert_array_equal(gapped.time.at(0, 30), stamps)
        assert np.isnan(gapped.values[5:8]).all() and np.isfinite(gapped.values[8])[0]

    def test_months_of_a_time_zone(self, small_model):
        index = self.pandas.date_range("1970-01-01", periods=ROWS, freq="MS", tz="Europe/Berlin")
        model = fit(small_model, self.frame(index))
        assert model.time_.unit == "month"
        assert list(model.generate(8).index) == list(self.pandas.date_range(index[-1], periods=9, freq="MS")[1:])

    @pytest.mark.parametrize("frequency, dt, unit", [("M", 1.0, "month"), ("Q", 3.0, "month"), ("Y", 1.0, "yr"),
                                                     ("W", 7.0, "d"), ("2h", 2.0, "h")])  # fmt: skip
    def test_periods_have_a_length(self, frequency, dt, unit):
        try:
            index = self.pandas.period_range("1990-01", periods=40, freq=frequency)
        except ValueError:  # "Y" in older versions
            index = self.pandas.period_range("1990-01", periods=40, freq="A")
        (table,) = tables(self.frame(index, 40))
        assert (table.time.dt, table.time.unit) == (dt, unit)
        assert list(table.time.at(40, 2)) == [index[-1] + 1, index[-1] + 2]

    def test_a_month_is_no_length(self, small_model):
        uneven = self.pandas.to_datetime("2021-01-01") + self.pandas.to_timedelta(np.arange(ROWS) ** 1.5, "h")
        with pytest.raises(exceptions.ArgumentError, match="'1M' is no fixed length of time"):
            fit(small_model, self.frame(uneven), resample="1M")

    def test_time_zones_periods_and_spans(self, small_model):
        zoned = self.pandas.date_range("2021-03-27", periods=ROWS, freq="h", tz="Europe/Berlin")  # summer time begins
        orbit = fit(small_model, self.frame(zoned)).generate(2)
        assert list(orbit.index) == list(self.pandas.date_range(zoned[-1], periods=3, freq="h")[1:])
        assert str(orbit.index.tz) == "Europe/Berlin"
        months = self.pandas.period_range("1990-01", periods=ROWS, freq="M")
        assert list(fit(small_model, self.frame(months)).generate(2).index) == [months[-1] + 1, months[-1] + 2]
        spans = self.pandas.timedelta_range("0s", periods=ROWS, freq="2s")
        model = fit(small_model, self.frame(spans))
        assert model.model_.dt == 2.0 and model.generate(1).index[0] == self.pandas.Timedelta(seconds=2 * ROWS)

    def test_numbers_as_index(self, small_model):
        model = fit(small_model, self.frame(0.1 * np.arange(ROWS)))
        assert model.model_.dt == pytest.approx(0.1) and model.generate(1).index[0] == pytest.approx(60.0)
        counted = fit(small_model, self.frame(None)[10:])
        assert counted.model_.dt == 0.0 and list(counted.generate(2).index) == [ROWS, ROWS + 1]
        years = fit(small_model, self.frame(self.pandas.Index(np.arange(ROWS), name="time")))
        assert years.model_.dt == 1.0

    def test_a_column_of_time(self, small_model):
        stamps = self.pandas.date_range("2021-01-01", periods=ROWS, freq="s")
        for column in (stamps, stamps.astype(str), 0.5 * np.arange(ROWS), stamps.tz_localize("UTC")):
            model = fit(small_model, self.frame(None).assign(time=column))
            orbit = model.generate(2)
            assert list(orbit.columns) == ["time", "a", "b"] and model.n_features_in_ == 2
            assert model.model_.dt == pytest.approx(0.5 if isinstance(column, np.ndarray) else 1.0)
        assert orbit["time"].iloc[0] == stamps[-1].tz_localize("UTC") + self.pandas.Timedelta("1s")
        falling = self.frame(None).assign(t=-np.arange(ROWS))
        assert fit(small_model, falling).n_features_in_ == 3  # a variable that is called t
        assert fit(small_model, self.frame(None).assign(t=np.arange(ROWS)), time="none").n_features_in_ == 3
        clock = self.frame(None).assign(clock=3.0 * np.arange(ROWS))
        assert fit(small_model, clock, time="clock").model_.dt == 3.0
        with pytest.raises(exceptions.ArgumentError, match="no column 'hour'; it has a, b, clock"):
            fit(small_model, clock, time="hour")

    def test_rows_out_of_place(self, small_model):
        index = self.pandas.date_range("2021-01-01", periods=ROWS, freq="min")
        frame = self.frame(index)
        with pytest.raises(exceptions.DataError, match=r"index of X: row \d+ \(2021.*is earlier.*such rows in all"):
            fit(small_model, frame.sample(frac=1.0, random_state=1))
        with pytest.raises(exceptions.DataError, match=r"row 301 .*has the time of the row before"):
            fit(small_model, self.pandas.concat([frame[:300], frame[299:]]))
        with pytest.warns(GapWarning, match=r"100 rows are missing after row 200 \(2021-01-01T03:19:00"):
            found = tables(frame.drop(frame.index[200:300]))
        assert len(found[0].values) == ROWS
        with pytest.warns(GapWarning, match="5 rows are missing after row 10"):
            found = tables(self.frame(None).drop(range(10, 15)))
        assert np.isnan(found[0].values[10:15]).all()
        uneven = self.frame(index[0] + self.pandas.to_timedelta(np.cumsum(1 + np.arange(ROWS) % 7 * 0.3), "s"))
        with pytest.raises(exceptions.DataError, match="not evenly spaced"):
            fit(small_model, uneven)
        model = fit(small_model, uneven, resample="2s")
        assert model.model_.dt == 2.0
        assert fit(small_model, uneven, resample=datetime.timedelta(seconds=2)).model_.dt == 2.0

    def test_times_that_are_not_there(self, small_model):
        index = self.pandas.date_range("2021-01-01", periods=ROWS, freq="min")
        for row in (0, 41):
            lost = index.where(np.arange(ROWS) != row)
            with pytest.raises(exceptions.DataError, match=f"the time of row {row + 1} is missing"):
                fit(small_model, self.frame(lost))
        for empty in (index[:0], self.pandas.period_range("2021", periods=0, freq="M"), index[:0].astype(str)):
            with pytest.raises(exceptions.DataError, match="no rows"):
                fit(small_model, self.frame(index)[:0].set_axis(empty, axis=0))

    def test_subjects(self, small_model):
        frame = self.frame(None)
        subjects = {"s1": frame[:200], "s2": frame[200:400].reset_index(drop=True), "s3": frame[400:]}
        model = fit(small_model, subjects)
        long = self.pandas.concat(subjects)
        np.testing.assert_array_equal(model.model_.W, fit(small_model, long).model_.W)
        with pytest.raises(exceptions.DataError, match=r"X\['s2'\] has the columns b, a and the first trajectory a, b"):
            fit(small_model, {"s1": frame, "s2": frame[["b", "a"]]})

    def test_nothing_is_said_of_good_data(self, small_model):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fit(small_model, self.frame(self.pandas.date_range("2021-01-01", periods=ROWS, freq="h")))


class TestXarray:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.xarray = pytest.importorskip("xarray")

    def test_coordinates_continue(self, small_model):
        stamps = np.datetime64("2000-01-01", "ns") + np.arange(ROWS) * np.timedelta64(1, "D")
        array = self.xarray.DataArray(
            rows_of_waves(), dims=("day", "place"), coords={"day": stamps, "place": ["north", "south"]}
        )
        model = fit(small_model, array)
        orbit = model.generate(3)
        assert orbit.dims == ("day", "place") and list(orbit.place.values) == ["north", "south"]
        np.testing.assert_array_equal(orbit.day.values, stamps[-1] + np.arange(1, 4) * np.timedelta64(1, "D"))
        assert orbit.attrs["first_row"] == ROWS and model.model_.dt == 1.0 and model.time_.unit == "d"
        turned = model.generate(3, context=array.transpose("place", "day"), warmup=1)
        np.testing.assert_array_equal(turned.day.values, stamps[2:5])
        with pytest.raises(exceptions.DataError, match="coordinate 'day' of X: row"):
            fit(small_model, array.isel(day=np.r_[0:300, 200:600]))
        with pytest.warns(GapWarning, match="20 rows are missing after row 50"):
            assert len(tables(array.isel(day=np.r_[0:50, 70:ROWS]))[0].values) == ROWS

    def test_several_trajectories(self):
        x = np.stack([rows_of_waves(), -rows_of_waves(), 2 * rows_of_waves()])
        coords = {"time": 0.5 * np.arange(ROWS), "k": ["a", "b"]}
        array = self.xarray.DataArray(x, dims=("trial", "time", "k"), coords=coords)
        for turned in (array, array.transpose("time", "trial", "k"), array.transpose("trial", "k", "time")):
            found = tables(turned)
            assert [table.dt for table in found] == [0.5] * 3 and found[0].names == ("a", "b")
            np.testing.assert_array_equal([table.values for table in found], x)
        with pytest.warns(GapWarning):
            found = tables(array.isel(time=np.r_[0:100, 110:ROWS]))
        assert all(np.isnan(table.values[100:110]).all() and len(table.values) == ROWS for table in found)

    def test_units_of_numbers(self, small_model):
        coordinate = ("time", 0.01 * np.arange(ROWS), {"units": "ms"})
        array = self.xarray.DataArray(rows_of_waves(), dims=("time", "k"), coords={"time": coordinate})
        model = fit(small_model, array)
        assert model.time_.unit == "ms" and model.generate(1).time.attrs["units"] == "ms"

    def test_datasets(self, small_model):
        x, months = rows_of_waves(), np.datetime64("1950-01", "M") + np.arange(ROWS)
        data = self.xarray.Dataset(
            {"sst": ("time", x[:, 0]), "wind": (("time", "uv"), x), "area": 3.0},
            coords={"time": months.astype("datetime64[ns]"), "uv": ["u", "v"]},
        )
        model = fit(small_model, data)
        assert list(model.feature_names_in_) == ["sst", "wind_u", "wind_v"]
        orbit = model.generate(2)
        assert set(orbit.data_vars) == {"sst", "wind_u", "wind_v"}
        assert str(orbit.time.values[0])[:10] == str(months[-1] + 1) + "-01"
        with pytest.raises(exceptions.DataError, match="variable 'sst' of X has the axes time, lat, lon"):
            fit(small_model, self.xarray.Dataset({"sst": (("time", "lat", "lon"), np.ones((9, 2, 2)))}))

    def test_calendars_of_climate_models(self, small_model):
        pytest.importorskip("cftime")
        stamps = self.xarray.date_range("0001-01-01", periods=ROWS, freq="MS", calendar="noleap", use_cftime=True)
        array = self.xarray.DataArray(rows_of_waves(), dims=("time", "k"), coords={"time": stamps})
        model = fit(small_model, array)
        orbit = model.generate(2)
        assert [(t.year, t.month, t.day) for t in orbit.time.values] == [(51, 1, 1), (51, 2, 1)]
        assert (model.time_.dt, model.time_.unit) == (1.0, "month")
        with pytest.warns(GapWarning, match="4 rows are missing after row 6"):
            (gapped,) = tables(array.isel(time=np.r_[0:6, 10:ROWS]))
        assert list(gapped.time.at(0, ROWS)) == list(stamps)


class TestPolars:
    @pytest.fixture(autouse=True)
    def _import(self):
        self.polars = pytest.importorskip("polars")

    def test_in_and_out(self, small_model):
        x = rows_of_waves()
        start = datetime.datetime(2021, 1, 1)
        stamps = [start + datetime.timedelta(seconds=30 * i) for i in range(ROWS)]
        frame = self.polars.DataFrame({"when": stamps, "a": x[:, 0], "b": x[:, 1]})
        model = fit(small_model, frame)
        np.testing.assert_array_equal(model.model_.W, fit(small_model, x).model_.W)
        orbit = model.generate(2)
        assert isinstance(orbit, self.polars.DataFrame) and orbit.columns == ["when", "a", "b"]
        assert orbit["when"][0] == stamps[-1] + datetime.timedelta(seconds=30)
        zoned = frame.with_columns(self.polars.col("when").dt.replace_time_zone("Europe/Berlin"))
        assert str(fit(small_model, zoned).generate(1)["when"].dtype.time_zone) == "Europe/Berlin"
        with pytest.raises(exceptions.DataError, match="column 'word' of X"):
            fit(small_model, frame.with_columns(self.polars.lit("x").alias("word")))

    def test_containers_by_name(self):
        orbit = antler.simulate("lorenz63", 5, container="polars")
        assert orbit.columns == ["time", "x", "y", "z"] and orbit["time"][1] == pytest.approx(0.01)
        np.testing.assert_array_equal(Series.of(orbit).read()[0], antler.simulate("lorenz63", 5))


def test_unknown_containers_are_refused():
    with pytest.raises(exceptions.ArgumentError, match="'spark'; it is one of numpy, pandas, polars, xarray"):
        antler.simulate("lorenz63", 5, container="spark")


def test_a_missing_library_is_a_sentence(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ImportError, match=r"container='polars' needs polars: pip install 'antler-dsr\[polars\]'"):
        antler.simulate("lorenz63", 5, container="polars")
