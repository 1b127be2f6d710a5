"""Measures on arrays, against formulas and known cases."""

import numpy as np
import pytest

import antler
from antler import exceptions, measures


def test_an_orbit_is_like_itself_and_unlike_noise(lorenz):
    noise = np.random.default_rng(0).standard_normal(lorenz.shape) * lorenz.std(0) + lorenz.mean(0)
    for variant in ("gmm", "gmm-silverman", "bins", "gmm-fixed"):
        same = measures.dstsp(lorenz, lorenz, variant=variant, samples=500)
        assert abs(same) < 1e-12 < measures.dstsp(lorenz, noise, variant=variant, samples=500)
    assert measures.hellinger(lorenz, lorenz) < 1e-7 < measures.hellinger(lorenz, noise)
    assert measures.dstsp_embedded(lorenz[:, :1], lorenz[:, :1], 3, 10, samples=200) == 0.0
    whole = measures.compare(lorenz, noise, samples=500)
    assert whole["dstsp"]["value"] == measures.dstsp(lorenz, noise, samples=500)
    assert whole["hellinger"]["value"] == pytest.approx(measures.hellinger(lorenz, noise), rel=1e-12)
    np.testing.assert_allclose(whole["true"]["mean"], lorenz.mean(0))
    with pytest.raises(exceptions.ArgumentError, match="gmm"):
        measures.dstsp(lorenz, noise, variant="gmn")
    with pytest.raises(exceptions.DivergedError, match="row"):
        measures.dstsp(lorenz, np.full_like(lorenz, np.nan), samples=10)
    with pytest.raises(exceptions.DataError, match="variables"):
        measures.compare(lorenz, lorenz[:, :2])


def numpy_smape(x, y):
    return 200 * np.mean(np.abs(x - y) / (np.abs(x) + np.abs(y) + 1e-10))


def numpy_mase(x, y, naive=None):
    naive = np.mean(np.abs(np.diff(x, axis=0))) if naive is None else naive
    return np.mean(np.abs(x - y)) / naive


def numpy_prediction_error(x, y):
    return np.mean((x[-1] - y[-1]) ** 2)


def numpy_valid_time(x, y):
    with np.errstate(invalid="ignore"):
        terms = np.mean(np.abs(x - y) / (np.abs(x) + np.abs(y) + 1e-10), axis=1)
    terms[np.argmin(np.isfinite(y).all(1)) if not np.isfinite(y).all() else len(y) :] = 1.0
    above = np.flatnonzero(200 * np.cumsum(terms) / np.arange(1, len(x) + 1) > 30)
    return above[0] + 1 if len(above) else len(x)


FORECASTS = {
    "smape": numpy_smape,
    "mase": numpy_mase,
    "prediction_error": numpy_prediction_error,
    "valid_time": numpy_valid_time,
}


@pytest.mark.parametrize("name", FORECASTS)
@pytest.mark.parametrize("rows, dim, error", [(2, 1, 0.1), (50, 3, 0.02), (400, 2, 0.3), (7, 5, 0.0), (60, 2, 1e9)])
def test_a_forecast_measure_is_that_of_numpy(name, rows, dim, error):
    generator = np.random.default_rng(rows)
    x = generator.standard_normal((rows, dim)) + 3 * (dim > 2)
    y = x + error * np.arange(rows)[:, None] / rows * generator.standard_normal((rows, dim))
    assert getattr(measures, name)(x, y) == pytest.approx(FORECASTS[name](x, y), rel=1e-12, abs=1e-14)


def test_forecast_measures_of_awkward_rows():
    x = np.array([[1.0, 2.0]])
    y = np.array([[1.5, 1.0]])
    assert measures.smape(x, y) == pytest.approx(numpy_smape(x, y))
    assert measures.prediction_error(x, y) == pytest.approx(numpy_prediction_error(x, y))
    assert measures.valid_time(x, y) == 1 and measures.valid_time(x, x) == 1
    assert measures.mase(x, y, naive=0.5) == pytest.approx(numpy_mase(x, y, 0.5))
    assert measures.smape(np.zeros((3, 1)), np.zeros((3, 1))) == 0.0
    for rows in (x, np.ones((5, 2))):  # a single row, and a constant: MASE has nothing to divide by
        with pytest.raises(exceptions.DataError, match="MASE is not defined"):
            measures.mase(rows, rows)
    for name in FORECASTS:
        with pytest.raises(exceptions.DataError, match="infinite value in row 2"):
            getattr(measures, name)(np.array([[1.0], [np.inf], [2.0]]), np.ones((3, 1)))
        with pytest.raises(exceptions.DataError, match="shape"):
            getattr(measures, name)(np.ones((3, 1)), np.ones((4, 1)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_diverged_forecast_is_infinite_and_its_valid_time_ends(bad):
    x = np.sin(np.arange(40.0))[:, None] + 2
    y = x.copy()
    y[25:] = bad
    for name in ("smape", "mase", "prediction_error"):
        assert getattr(measures, name)(x, y) == np.inf
    assert measures.valid_time(x, y) == numpy_valid_time(x, y) == 30  # row 30 lifts the mean of 200s above 30


def numpy_windows(model, x, measure, *, steps, windows, warmup, horizon):
    """The mean of a measure over windows that are spread evenly, each run by `generate`."""
    starts = np.floor(np.linspace(0, len(x) - warmup - steps - 1, windows) + 0.5).astype(int)
    found = []
    for first in starts:
        y = model.generate(steps, context=x[first : first + warmup + 1], warmup=warmup)
        found.append(measure(x[first + warmup + 1 :][:horizon], y[:horizon]))
    return np.mean(found)


def test_evaluations_have_the_forecast_measures_of_numpy(lorenz, small):
    model = antler.Reconstructor(**small, verbose=False).fit(lorenz).model_
    x = antler.simulate("lorenz63", 500, seed=2)
    options = dict(samples=10, n=25, windows=7, warmup=9, lyapunov=False, steps=50, user_units=True)
    found = model.evaluate(x, horizon={"valid_time": 25}, **options)
    naive = np.mean(np.abs(np.diff(x, axis=0)))  # of all neighbouring rows of the true series
    for name, formula in FORECASTS.items():
        measure = formula if name != "mase" else lambda x, y: numpy_mase(x, y, naive)
        horizon = 20 if name == "prediction_error" else 25
        want = numpy_windows(model, x, measure, steps=25, windows=7, warmup=9, horizon=horizon)
        assert found[name]["value"] == pytest.approx(want, rel=1e-6), name
        assert found.summary()[name] == found[name]["value"]
        assert (found[name]["n"], found[name]["windows"], found[name]["units"]) == (horizon, 7, "user")
    assert found["valid_time"]["unit"] == "rows"

    # Lyapunov times: the exponent is per unit of time, and dt is 0.01.
    with pytest.raises(exceptions.ArgumentError, match="per unit of time"):
        antler.Reconstructor(**small, verbose=False).fit(np.asarray(lorenz)).model_.evaluate(
            np.array(x), exponent=0.9, **options
        )
    # By default valid time is searched for in half of the series, and PE(20) has windows of its own.
    short = model.evaluate(x[:60], **{**options, "n": 5, "windows": 3})
    assert (short["valid_time"]["n"], short["prediction_error"]["n"], short["smape"]["n"]) == (30, 20, 5)
    none = model.evaluate(x[:25], **{**options, "n": 3, "windows": 3})
    assert none["prediction_error"] == {"value": pytest.approx(np.nan, nan_ok=True), "n": 20, "windows": 0}
    assert np.isnan(none.summary()["prediction_error"]) and none.summary()["smape"] > 0
    with pytest.raises(exceptions.ArgumentError, match="not a forecast measure"):
        model.evaluate(x, horizon={"dstsp": 3}, **options)


def test_the_table_of_measures():
    table = measures.table()
    assert [m.name for m in table.values() if m.better > 0] == ["valid_time"] and table["valid_time"].worst == -np.inf
    assert table["dstsp_embedded"].html == "D<sub>stsp</sub><sup>DE</sup>"
    assert table["dstsp_embedded"].tex == "$D_{stsp}^{DE}$" and table["rmse"].tex == "RMSE"
    assert table["lyapunov_max"].found({"lyapunov": {"exponents": [0.5, 0.1]}}) == 0.5
    assert table["rmse"].found({"rmse": {}}) is None and table["rmse"].found({}) is None
    assert all(m.meaning and m.digits > 0 and m.json for m in table.values())


@pytest.mark.parametrize("variance", [1.0, 0.3, 1e-6])
@pytest.mark.parametrize("embed", [None, (2, 3)])
def test_gmm_fixed_is_that_of_numpy(variance, embed):
    generator = np.random.default_rng(5)
    x, y = generator.standard_normal((300, 2)), 0.8 * generator.standard_normal((200, 2)) + 0.2
    found = measures.compare(x, y, dstsp="gmm-fixed", variance=variance, samples=4000, embed=embed)["dstsp"]
    p, q = (x, y) if embed is None else (measures.embed(x, *embed), measures.embed(y, *embed))
    noise = np.sqrt(variance) * generator.standard_normal((4000, p.shape[1]))
    samples = p[generator.integers(len(p), size=4000)] + noise

    def log_density(points):
        squares = ((samples[:, None, :] - points[None]) ** 2).sum(-1)
        return np.logaddexp.reduce(-squares / (2 * variance), axis=1) - np.log(len(points))

    ratios = log_density(p) - log_density(q)
    error = np.hypot(ratios.std() / np.sqrt(4000), found["standard_error"])
    assert abs(found["value"] - ratios.mean()) < 5 * error
    assert found["variant"] == "gmm-fixed" and found["bandwidth"] == variance
    assert abs(measures.dstsp(x, x, variant="gmm-fixed", variance=variance, samples=100)) < 1e-12


def test_gmm_fixed_of_an_evaluation_is_in_the_units_of_its_report(lorenz, small):
    model = antler.Reconstructor(**small, verbose=False).fit(lorenz).model_
    options = dict(dstsp="gmm-fixed", samples=2000, steps=600, warmup=5, lyapunov=False, rmse=False)
    x = antler.simulate("lorenz63", 600, seed=2)
    y = model.generate(600, context=x, warmup=5)
    mean, scale = model.scaling
    standard = model.evaluate(x, **options)["dstsp"]["value"]
    same = measures.dstsp((x - mean) / scale, (y - mean) / scale, variant="gmm-fixed", samples=2000)
    assert standard == pytest.approx(same, rel=1e-6)
    user = model.evaluate(x, user_units=True, **options)["dstsp"]["value"]
    assert user == pytest.approx(measures.dstsp(x, y, variant="gmm-fixed", samples=2000), rel=1e-6)
    with pytest.raises(exceptions.ArgumentError, match="variance"):
        model.evaluate(x, variance=-1.0, **options)


def test_delay_vectors():
    x = np.arange(12.0).reshape(6, 2)
    found = measures.embed(x, 3, 2)
    assert found.shape == (2, 6)
    np.testing.assert_array_equal(found[0], [8, 9, 4, 5, 0, 1])
    with pytest.raises(exceptions.ArgumentError):
        measures.embed(x, 0, 2)
    with pytest.raises(antler.AntlerError):
        measures.embed(x, 4, 2)


def test_spectra_are_normalised_and_find_the_line():
    t = np.arange(1000)
    waves = np.column_stack([np.sin(2 * np.pi * t / 20), np.cos(2 * np.pi * t / 50)])
    found = measures.power_spectrum(waves, smoothing=0)
    assert found.shape == (501, 2)
    np.testing.assert_allclose(found.sum(0), 1.0)
    assert found.argmax(0).tolist() == [50, 20]


def test_rmse_and_statistics():
    assert measures.rmse(np.zeros((4, 2)), np.ones((4, 2))) == pytest.approx(np.sqrt(2))
    with pytest.raises(exceptions.DataError, match="shape"):
        measures.rmse(np.zeros((4, 2)), np.ones((5, 2)))
    found = measures.statistics([1.0, 2.0, 6.0, np.inf, np.nan])
    assert (found.measured, found.diverged, found.median, found.mean) == (4, 1, 4.0, 3.0)


def test_log_density_is_that_of_the_mixture():
    x, samples, variance = np.array([[0.0], [2.0]]), np.array([[1.0], [50.0]]), np.array([0.5])
    want = np.logaddexp.reduce(-((samples - x.T) ** 2) / (2 * 0.5), axis=1) - np.log(2 * np.sqrt(2 * np.pi * 0.5))
    np.testing.assert_allclose(measures.log_density(x, samples, variance=variance), want, rtol=1e-12)
