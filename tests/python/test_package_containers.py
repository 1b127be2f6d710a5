"""pandas frames and xarray arrays go in, and come out with their names."""

import numpy as np
import pytest

import antler
from antler import exceptions
from antler._series import Series


def fit(small, X, **more):
    return antler.Reconstructor(**small, verbose=False).fit(X, **more)


class TestPandas:
    pandas = None

    @pytest.fixture(autouse=True)
    def _import(self):
        self.pandas = pytest.importorskip("pandas")

    def test_names_are_kept(self, lorenz, small):
        frame = self.pandas.DataFrame(lorenz, columns=["speed", "heat", "flow"])
        model = fit(small, frame)
        assert model.model_.names == ["speed", "heat", "flow"] and list(model.feature_names_in_) == list(frame.columns)
        orbit = model.generate(20)
        assert list(orbit.columns) == ["speed", "heat", "flow"] and len(orbit) == 20
        np.testing.assert_array_equal(orbit.to_numpy(), fit(small, lorenz).generate(20))
        with pytest.raises(exceptions.DataError, match="feature names should match"):
            model.generate(5, context=frame[["heat", "speed", "flow"]])
        for columns in ([0, 1, 2], self.pandas.MultiIndex.from_tuples([("u", 1), ("u", 2), ("v", 1)])):
            frame.columns = columns  # labels that are not text come back as they were
            assert list(fit(small, frame).generate(3).columns) == list(frame.columns)

    def test_a_frame_is_not_copied(self, lorenz):
        frame = self.pandas.DataFrame(np.asfortranarray(lorenz))
        series = Series.of(frame)
        assert np.shares_memory(series._keep[0], frame.to_numpy())

    def test_series_and_lists_of_frames(self, lorenz, small):
        one = fit(small, self.pandas.Series(lorenz[:, 0], name="speed"))
        assert one.model_.names == ["speed"] and one.model_.dim == 1
        frame = self.pandas.DataFrame(lorenz)
        two = fit(small, [frame[:1000], frame[1000:]])
        assert two.n_features_in_ == 3

    def test_columns_that_are_no_numbers_are_named(self, lorenz, small):
        frame = self.pandas.DataFrame(lorenz, columns=list("abc"))
        frame["day"] = "monday"
        with pytest.raises(exceptions.DataError, match="column 'day'"):
            fit(small, frame)
        holes = frame[list("abc")].copy()
        holes.iloc[11, 2] = np.nan
        with pytest.raises(exceptions.DataError, match=r"NaN in row 12, column 3 \(c\)"):
            fit({**small, "missing": "refuse"}, holes)
        nullable = frame[list("abc")].astype("Float64")
        np.testing.assert_array_equal(Series.of(nullable).read()[0], lorenz)
        np.testing.assert_array_equal(Series.of(frame[list("abc")].astype(object)).read()[0], lorenz)
        with pytest.raises(exceptions.DataError, match="'a' of X .* or convert it with pandas.to_numeric"):
            fit(small, frame[list("abc")].astype(str))


class TestXarray:
    xarray = None

    @pytest.fixture(autouse=True)
    def _import(self):
        self.xarray = pytest.importorskip("xarray")

    def test_time_comes_first_and_names_and_dt_are_kept(self, lorenz, small):
        array = self.xarray.DataArray(
            lorenz.T,
            dims=("variable", "time"),
            coords={"variable": ["x", "y", "z"], "time": 0.01 * np.arange(len(lorenz))},
        )
        model = fit(small, array)
        assert model.model_.names == ["x", "y", "z"] and model.model_.dt == pytest.approx(0.01)
        orbit = model.generate(10)
        assert orbit.dims == ("time", "variable") and list(orbit.coords["variable"].values) == ["x", "y", "z"]
        np.testing.assert_array_equal(orbit.values, fit(small, lorenz).generate(10))

    def test_simulated_systems_carry_their_time(self):
        orbit = antler.simulate("lorenz63", 50, container="xarray")
        assert float(orbit.time[1]) == pytest.approx(0.01) and orbit.shape == (50, 3)
