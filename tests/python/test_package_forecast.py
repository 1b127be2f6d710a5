"""Forecasts with bands and skill, and how objects are shown in a notebook."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import antler
from antler import exceptions, forecasting
from antler._linear import Autoregression, autoregression

PERIOD = 25


def waves(rows=1500):
    t = 2 * np.pi * np.arange(rows) / PERIOD
    return np.column_stack([np.sin(t), np.cos(t)])


@pytest.fixture(scope="module")
def rotation():
    """A model that turns by one step of the waves: its forecasts are exact."""
    angle = 2 * np.pi / PERIOD
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    W, V = np.hstack([turn, -turn]), np.vstack([np.eye(2), -np.eye(2)])  # z = relu(z) - relu(-z)
    return antler.Model.from_arrays(np.zeros(2), W, V, np.zeros(4), np.zeros(2), np.eye(2))


def test_an_exact_model(rotation):
    found = rotation.forecast(50, 8, context=waves())
    assert found.members.shape == (8, 50, 2) and found.first_row == 1500 and found.diverged == 0
    np.testing.assert_allclose(found.median, waves(1550)[1500:], atol=1e-6)
    assert np.all(np.asarray(found.lower) <= found.median) and np.all(found.median <= np.asarray(found.upper))
    skill = found.skill
    assert skill.windows == 40 and skill.source == "rows of the context" and len(skill.model) == 50
    assert skill.model.max() < 1e-6  # and so is a linear forecast of these waves, but not persistence
    assert skill.linear.max() < 1e-6 and skill.persistence[PERIOD // 2] > 1.5
    assert skill.persistence[PERIOD - 1] == pytest.approx(0.0, abs=1e-9)


def test_errors_and_skill_are_those_of_the_formula(rotation):
    """Against plain loops, on rows with noise, where no forecast is exact."""
    x = waves() + 0.1 * np.random.default_rng(3).standard_normal((1500, 2))
    skill = rotation.forecast(10, 2, context=x, windows=7).skill
    sd = x.std(0)
    starts = np.unique(np.linspace(750, 1500 - 1 - 10, 7).astype(int))
    errors = [(np.asarray(rotation.generate(10, x[s : s + 1], warmup=0)) - x[s + 1 : s + 11]) / sd for s in starts]
    np.testing.assert_allclose(skill.model, np.sqrt(np.mean(np.square(errors), axis=(0, 2))), rtol=1e-9)
    naive = [(x[s] - x[s + 1 : s + 11]) / sd for s in starts]
    np.testing.assert_allclose(skill.persistence, np.sqrt(np.mean(np.square(naive), axis=(0, 2))), rtol=1e-9)
    np.testing.assert_allclose(skill.value, 1 - skill.model / np.minimum(skill.persistence, skill.linear))
    assert 0.05 < skill.linear[0] < 0.25


def test_the_linear_forecast_finds_a_linear_map():
    rng = np.random.default_rng(1)
    step = np.array([[0.9, 0.2], [-0.3, 0.7]])
    x = np.zeros((400, 2))
    for t in range(1, 400):
        x[t] = 0.5 + x[t - 1] @ step.T + rng.standard_normal(2)
    linear = autoregression(x)
    assert linear.lags == 1  # by the BIC
    np.testing.assert_allclose(linear.matrix, step, atol=0.1)
    np.testing.assert_allclose(linear.constant, [0.5, 0.5], atol=0.35)
    by_hand = list(x)
    for _ in range(3):
        by_hand.append(linear.constant + linear.matrix @ by_hand[-1])
    np.testing.assert_allclose(linear.forecast(x, 3), by_hand[-3:])


def test_the_linear_forecast_takes_several_rows():
    """Coefficients by hand: x_{t+1} = 1 + x_t / 2 - x_{t-1} / 4."""
    linear = Autoregression(np.array([[0.5, -0.25]]), np.array([1.0]))
    np.testing.assert_allclose(linear.forecast(np.array([[9.0], [4.0], [2.0]]), 3), [[1.0], [1.0], [1.25]])


def test_bands_come_from_one_step_errors(rotation):
    x = waves() + 0.1 * np.random.default_rng(3).standard_normal((1500, 2))
    past = forecasting.Past(x, None, 750, "")
    errors = forecasting.one_step_errors(rotation, past)
    np.testing.assert_allclose(errors, 0.1 * np.sqrt(2), rtol=0.35)
    found = rotation.forecast(5, 400, context=x, windows=0, level=0.8)
    assert found.skill is None
    width = np.asarray(found.upper - found.lower)[0]
    np.testing.assert_allclose(width, 2 * 1.2816 * errors, rtol=0.25)
    np.testing.assert_array_equal(found.members, rotation.forecast(5, 400, context=x, windows=0).members)
    assert not np.array_equal(found.members, rotation.forecast(5, 400, context=x, windows=0, seed=2).members)


@pytest.fixture(scope="module")
def model(lorenz):
    settings = dict(latent_dim=4, hidden_dim=8, sequence_length=30, batch_size=4, updates=60, log_interval=20)
    return antler.Reconstructor(**settings, threads=1, runs=2, verbose=False, random_state=0).fit(lorenz)


class TestEstimator:
    def test_all_runs_take_part(self, model):
        found = model.forecast(20, 4)
        tail = model._recent
        for member, run in zip(found.members, model.models_):
            np.testing.assert_array_equal(member, run.generate(20, tail[-101:], warmup=100))
        assert found.first_row == 3000 and found.skill.source == "rows that were held back"
        again = pickle.loads(pickle.dumps(model)).forecast(20, 4)
        np.testing.assert_array_equal(again.members, found.members)

    def test_containers(self, model, lorenz):
        pandas = pytest.importorskip("pandas")
        index = pandas.date_range("2020-01-01", periods=3000, freq="s")
        frame = pandas.DataFrame(lorenz, index=index, columns=["x1", "x2", "x3"])
        found = model.forecast(3, 2, context=frame, windows=0)
        assert list(found.upper.index) == list(pandas.date_range(index[-1], periods=4, freq="s")[1:])

    def test_too_short_to_test(self, model, lorenz):
        assert model.forecast(200, 2, context=lorenz[:250]).skill is None

    def test_bad_arguments(self, model, lorenz):
        for wrong in (dict(horizon=0), dict(horizon=5, n=0), dict(horizon=5, level=1.0)):
            with pytest.raises(exceptions.ArgumentError, match="give at least 1"):
                model.forecast(**wrong)
        with pytest.raises(exceptions.ArgumentError, match="give the rows up to now as context"):
            model.model_.forecast(5)

    def test_html(self, model, lorenz, tmp_path):
        settings = dict(updates=2, sequence_length=20, validation=0.0, latent_dim=3, results=str(tmp_path))
        (run,) = antler.train(settings, lorenz, verbose=False)
        evaluation = model.evaluate(lorenz, samples=500, lyapunov=False)
        for thing, words in (
            (model, ["Reconstructor", "latent_dim", "score on held-back rows"]),
            (antler.Reconstructor(name="<script>"), ["&lt;script&gt;"]),
            (model.model_, ["Model", "shplrnn", "latent units M"]),
            (model.forecast(5, 2), ["Forecast", "error 1 ahead", "persistence"]),
            (model.lyapunov_spectrum(steps=200), ["Kaplan-Yorke"]),
            (evaluation, ["verdict", "D_stsp"]),
            (evaluation.verdict, ["advice"]),
            (run, ["Run", "2 of 2"]),
        ):
            shown = thing._repr_html_()
            assert shown.startswith("<div>") and "<script>" not in shown
            assert all(word in shown for word in words), (type(thing), shown)


def test_models_with_inputs():
    rng = np.random.default_rng(0)
    s = rng.standard_normal((600, 1))
    x = np.column_stack([np.convolve(s[:, 0], [0.5, 0.3, 0.2])[:600], s[:, 0]])
    settings = dict(latent_dim=2, hidden_dim=6, sequence_length=20, batch_size=4, updates=5, log_interval=5)
    model = antler.Reconstructor(**settings, validation=0.0, threads=1, verbose=False, random_state=0).fit(x, inputs=s)
    rest = np.zeros((6, 1))
    found = model.forecast(6, 3, future_inputs=rest)
    np.testing.assert_allclose(found.members[0], model.generate(6, future_inputs=rest), rtol=1e-6, atol=1e-6)
    assert found.skill.source == "rows of the training"


def test_missing_matplotlib_is_a_sentence():
    code = "import sys; sys.modules['matplotlib'] = None\nimport antler\nantler.plot.training"
    code = f"import sys; sys.path[:] = {sys.path!r}\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert b"ExtraError: antler.plot needs matplotlib: pip install 'antler-dsr[plot]'" in done.stderr
