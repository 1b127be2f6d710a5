"""Systems, files, and the way from a user's array to the library and back."""

import datetime

import numpy as np
import pytest

import antler
from antler import exceptions, formats
from antler._containers import Reading
from antler._series import Series
from antler.convert import convert


def test_simulate_repeats_itself_and_takes_parameters():
    x = antler.simulate("lorenz63", 200)
    assert x.shape == (200, 3) and x.dtype == np.float64
    np.testing.assert_array_equal(x, antler.simulate("lorenz63", 200))
    assert not np.array_equal(x, antler.simulate("lorenz63", 200, seed=2))
    assert not np.array_equal(x, antler.simulate("lorenz63", 200, rho=24.0))
    start = antler.simulate("lorenz63", 5, initial=[1, 2, 3], transient=0.0)
    np.testing.assert_array_equal(start[0], [1, 2, 3])
    flat = antler.simulate("lorenz63", 500, standardise=True, noise=0.05)
    np.testing.assert_allclose(flat.std(0), 1.0, rtol=1e-12)


def test_simulate_refuses_with_sentences():
    with pytest.raises(exceptions.NotFoundError, match="did you mean 'lorenz63'"):
        antler.simulate("lorenz64")
    with pytest.raises(exceptions.NotFoundError, match="sigma"):
        antler.simulate("lorenz63", 10, sgma=3.0)
    with pytest.raises(exceptions.ArgumentError, match="initial has 2 numbers"):
        antler.simulate("lorenz63", 10, initial=[1, 2])
    with pytest.raises(ValueError, match="length"):
        antler.simulate("lorenz63", 0)


def test_systems_describe_themselves():
    system = antler.systems()["lorenz63"]
    assert system.variables == ("x", "y", "z") and system.dt == 0.01
    assert set(system.parameters) == {"sigma", "rho", "beta"} and "dx/dt" in system.equations.replace("'", "/dt")


def test_files_are_loaded_in_user_units(tmp_path):
    x = antler.simulate("lorenz63", 50)
    np.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(antler.load(tmp_path / "x.npy"), x)
    np.savetxt(tmp_path / "x.csv", x, delimiter=",", header="a,b,c", comments="")
    np.testing.assert_allclose(antler.load(tmp_path / "x.csv", columns="a,c"), x[:, [0, 2]])
    np.testing.assert_allclose(antler.load(tmp_path / "x.csv", columns="-2"), x[:, [0, 2]])
    values, inputs = antler.load(tmp_path / "x.csv", inputs="b")
    np.testing.assert_allclose(values, x[:, [0, 2]])
    np.testing.assert_allclose(inputs, x[:, [1]])
    np.savez(tmp_path / "x.npz", x_000=(x - 1) / 2, mean=np.ones(3), scale=np.full(3, 2.0))
    np.testing.assert_allclose(antler.load(tmp_path / "x.npz"), x)
    assert len(antler.load([tmp_path / "x.npy", tmp_path / "x.npy"])) == 2
    (tmp_path / "bad.csv").write_text("1,2\n3\n")
    with pytest.raises(exceptions.FormatError, match="bad.csv"):
        antler.load(tmp_path / "bad.csv")
    with pytest.raises(FileNotFoundError, match="none.npy"):
        antler.load(tmp_path / "none.npy")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u8", "?", ">f8", "f2"])
def test_number_types_are_read(dtype):
    x = (np.arange(60).reshape(20, 3) % 7).astype(dtype)
    np.testing.assert_array_equal(Series.of(x).read()[0], x.astype(float))


def test_masked_values_are_nan():
    x = np.ma.masked_equal(np.arange(60).reshape(20, 3), 31)
    read = Series.of(x).read()[0]
    assert np.isnan(read[10, 1]) and np.isnan(read).sum() == 1
    plain = np.ma.masked_equal(np.arange(60.0).reshape(20, 3), -1.0)
    assert np.shares_memory(Series.of(plain)._keep[0], plain.data)


def test_arrays_are_looked_at_and_not_copied():
    x = np.random.default_rng(0).standard_normal((100, 6))
    for view in (x, x.astype(np.float32), np.asfortranarray(x), x[::-2, 1::2], x.T.copy().T):
        series = Series.of(view)
        assert series._keep[0].__array_interface__["data"] == view.__array_interface__["data"]
        assert np.shares_memory(series._keep[0], view)
        view[3, 1] += 1.0  # the library sees the change, because it looks at the same memory
        np.testing.assert_array_equal(series.read()[0], view.astype(float))


def test_a_series_keeps_its_arrays_alive():
    series = Series.of(np.arange(3000.0).reshape(1000, 3))
    for _ in range(10):
        np.zeros((1000, 3)).fill(-1.0)
    np.testing.assert_array_equal(series.read()[0], np.arange(3000.0).reshape(1000, 3))


def test_one_and_three_axes():
    assert Series.of(np.arange(10.0)).dim == 1
    assert Series.of(list(range(10))).dim == 1
    assert Series.of([[1, 2], [3, 4], [5, 6]]).dim == 2
    many = Series.of(np.random.default_rng(0).standard_normal((4, 10, 2)))
    assert many.count == 4 and many.dim == 2
    assert Series.of([np.zeros(5), np.zeros(9)]).count == 2


def test_sentences_name_arguments_and_no_options(tmp_path):
    """Where the command would say --columns, Python says what a Python user can do."""
    (tmp_path / "text.csv").write_text("a,b\n1,2\n2,x\n")
    with pytest.raises(exceptions.FormatError, match="leave the column out with columns='-2'$"):
        antler.load(tmp_path / "text.csv")
    (tmp_path / "one.csv").write_text("a,b\n1,2\n2,3\n")
    with pytest.raises(exceptions.ArgumentError, match="once in columns=, inputs=, time= and "):
        antler.load(tmp_path / "one.csv", columns="a,a")
    x, fit = antler.simulate("lorenz63", 300), antler.Reconstructor(updates=1, validation=0.0, verbose=False).fit
    with pytest.raises(exceptions.DataError, match=r"use X\.T$"):
        fit(x.T)
    with pytest.raises(exceptions.DataError, match=r"leave it out with X\[:, columns\]$"):
        fit(x * [1.0, 0.0, 1.0])
    settings = dict(updates=1, sequence_length=20, validation=0.0, results=str(tmp_path))
    antler.train(settings, x, verbose=False)
    with pytest.raises(exceptions.ArgumentError, match=r"; resume\(\) continues it, overwrite=True replaces it"):
        antler.train(settings, x, verbose=False)


_TINY = {"latent_dim": 3, "hidden_dim": 4, "sequence_length": 20, "batch_size": 4, "updates": 3, "validation": 0.0}


class TestTimesOfFiles:
    """Files that the library reads keep their times, and honour the options that other formats have."""

    def write(self, folder, stamps, name="x.csv"):
        with open(folder / name, "w", encoding="utf-8") as file:
            file.write("time,a,b\n")
            file.writelines(f"{stamp},{i},{np.sin(0.1 * i):.6f}\n" for i, stamp in enumerate(stamps))
        return folder / name

    def test_dates_continue(self, tmp_path):
        stamps = np.datetime64("2020-01-01T00:00", "m") + 10 * np.arange(200)
        path = self.write(tmp_path, stamps)
        (table,) = formats.read(path)
        assert table.names == ("a", "b") and table.time.dt == 10.0 and table.time.unit == "min"
        np.testing.assert_array_equal(table.time.at(0, 200), stamps)
        model = antler.Reconstructor(**_TINY).fit(path)
        np.testing.assert_array_equal(model.generate(2).time, stamps[-1] + 10 * np.arange(1, 3))

    def test_months_and_gaps(self, tmp_path):
        months = (np.datetime64("2001-01", "M") + 1 + np.arange(60)).astype("datetime64[D]") - 1
        with pytest.warns(antler.GapWarning, match="4 rows are missing"):
            (table,) = formats.read(self.write(tmp_path, np.delete(months, [10, 11, 12, 13])))
        assert (table.time.dt, table.time.unit) == (1.0, "month") and len(table.values) == 60
        np.testing.assert_array_equal(table.time.at(0, 60), months)

    def test_none_name_and_stamps(self, tmp_path):
        path = self.write(tmp_path, 0.5 * np.arange(100))
        assert antler.load(path).shape == (100, 2) and antler.load(path, time="none").shape == (100, 3)
        assert antler.load(path, time="a").shape == (100, 2)  # then "time" is a variable
        (table,) = formats.read(path, reading=Reading(3.0 * np.arange(100)))
        assert table.time.dt == 3.0 and table.values.shape == (100, 3)
        with pytest.raises(exceptions.ArgumentError, match="give one number or date for each"):
            antler.load(path, time=np.arange(7))

    def test_resampled(self, tmp_path):
        path = self.write(tmp_path, np.arange(100) + 0.3 * (np.arange(100) % 3))
        with pytest.raises(exceptions.DataError, match="not evenly spaced.*resample="):
            antler.load(path)
        linear, cubic = antler.load(path, resample=0.5), antler.load(path, resample=(0.5, "cubic"))
        assert len(linear) == 199 and len(cubic) == 199 and np.abs(linear - cubic).max() > 0
        with pytest.raises(exceptions.ArgumentError, match="'linear' or 'cubic'"):
            antler.load(path, resample=(0.5, "best"))
        dated = self.write(tmp_path, np.datetime64("2020-01-01", "D") + np.arange(30), "days.csv")
        for step in ("12h", np.timedelta64(12, "h"), datetime.timedelta(hours=12), 0.5):
            assert len(antler.load(dated, resample=step)) == 59

    def test_containers(self, tmp_path):
        pandas = pytest.importorskip("pandas")
        stamps = np.datetime64("2020-01-01", "D") + np.arange(30)
        frame = antler.load(self.write(tmp_path, stamps), container="pandas")
        assert list(frame.columns) == ["time", "a", "b"] and frame["time"].iloc[-1] == pandas.Timestamp("2020-01-30")

    def test_keys_of_archives(self, tmp_path):
        np.savez(tmp_path / "x.npz", train=np.arange(60.0).reshape(20, 3), test=np.ones((5, 3)))
        with pytest.raises(exceptions.DataError, match="train.*test.*key="):
            antler.load(tmp_path / "x.npz")
        assert antler.load(tmp_path / "x.npz", key="test").shape == (5, 3)
        with pytest.raises(exceptions.ArgumentError, match="this file holds one table"):
            antler.load(self.write(tmp_path, np.arange(20)), key="a")

    def test_converted_archives_keep_times(self, tmp_path):
        months = (np.datetime64("2001-01", "M") + np.arange(40)).astype("datetime64[D]")
        path = self.write(tmp_path, months)
        convert(path, tmp_path / "x.npz")
        convert([path, path], tmp_path / "two.npz")
        (table,) = formats.read(tmp_path / "x.npz")
        assert table.time.unit == "month" and table.names == ("a", "b")
        np.testing.assert_array_equal(table.time.at(0, 41)[:40], months)
        assert [t.time.dt for t in formats.read(tmp_path / "two.npz")] == [1.0, 1.0]


def test_short_trajectories_are_named(tmp_path):
    x = antler.simulate("lorenz63", 400, standardise=True)
    with pytest.warns(antler.UnusedWarning, match=r"1 of 2 trajectories does not contribute.*trajectory 2 \(9 rows\)"):
        antler.Reconstructor(**_TINY).fit([x, x[:9]])
    with pytest.warns(antler.UnusedWarning, match="trajectory 2"):
        (tmp_path / "short").mkdir()
        (tmp_path / "short" / "plan.csv").write_text("trials,runs,updates\n1,1,20\n1,1,20\n1,1,20\n")
        antler.fit([x, x[:20]], results=tmp_path, name="short", minutes=0.001, device="cpu", verbose=False)
