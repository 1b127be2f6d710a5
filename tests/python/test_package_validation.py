"""Held-back rows from Python: the choice among runs, the best models, and the columns of the log."""

import copy
import warnings

import numpy as np
import pytest

import antler
from antler import exceptions
from antler._training import Watch

COLUMNS = ("val_dstsp", "val_hellinger", "val_prediction_error")


@pytest.fixture(scope="module")
def settings(small):
    wide = dict(small, hidden_dim=20, updates=300, log_interval=25, start_lr=1e-2, clipped=True, kappa=0.9)
    return dict(wide, runs=4, validation=0.2, validation_interval=50, random_state=2, verbose=False)


@pytest.fixture(scope="module")
def fitted(lorenz, settings):
    return antler.Reconstructor(**settings).fit(lorenz)


def arrays_equal(a, b):
    return all(np.array_equal(a.parameters[name], b.parameters[name]) for name in a.parameters)


def test_choice_by_validation(fitted):
    best = int(np.argmin([found["score"] for found in fitted.validations_]))
    assert fitted.model_ is fitted.models_[best] and fitted.log_ is fitted.logs_[best]


@pytest.mark.parametrize("best", range(4))
def test_the_training_loss_has_no_say(fitted, best):
    """Whichever run has the lowest score is chosen; of equal scores the lower prediction error decides."""
    other = copy.copy(fitted)
    other.validations_ = [dict(found, score=float(k != best)) for k, found in enumerate(fitted.validations_)]
    other._choose(fitted.models_, fitted.logs_, Watch(False))
    assert other.model_ is fitted.models_[best]
    errors = [float(k != best) for k in range(4)]
    other.validations_ = [dict(v, score=0.0, prediction_error=e) for v, e in zip(fitted.validations_, errors)]
    other._choose(fitted.models_, fitted.logs_, Watch(False))
    assert other.model_ is fitted.models_[best]


def test_log_has_the_validations(fitted):
    for log, found in zip(fitted.logs_, fitted.validations_):
        due = log["update"] % 50 == 0
        assert due.sum() == 6
        for name in COLUMNS:
            assert not np.isnan(log[name][due]).any() and np.isnan(log[name][~due]).all()
        row = int(np.flatnonzero(log["update"] == found["update"])[0])
        assert [log[name][row] for name in COLUMNS] == [found[name[4:]] for name in COLUMNS]


def test_best_model_is_not_the_last(lorenz, settings, fitted):
    """Training to the update of the best model, without its last part, gives the same parameters."""
    cut = {**settings, "validation": 0.0, "validation_interval": 0}
    last = antler.Reconstructor(**cut).fit(lorenz[:2400])
    assert "validations_" not in vars(last)
    for number, found in enumerate(fitted.validations_):
        same = arrays_equal(fitted.models_[number], last.models_[number])
        assert same == (found["update"] == 300)


def test_without_validation_the_lowest_loss(lorenz, small):
    model = antler.Reconstructor(**small, runs=3, verbose=False).fit(lorenz)
    assert model.model_ is model.models_[int(np.argmin([log["loss"][-1] for log in model.logs_]))]
    assert all(np.isnan(model.log_[name]).all() for name in COLUMNS)


def test_on_disk_the_same(tmp_path, lorenz, settings, fitted):
    model = antler.Reconstructor(**settings, results=str(tmp_path)).fit(lorenz)
    assert model.validations_ == fitted.validations_
    assert arrays_equal(model.model_, fitted.model_)
    for run, log in zip(model.runs_, fitted.logs_):
        for name in COLUMNS:
            np.testing.assert_array_equal(run.log[name], log[name])
    run = model.runs_[0]
    assert arrays_equal(run.best, antler.Model.load(run.path / "best.npz"))
    assert arrays_equal(run.model, antler.Model.load(run.path))
    with np.load(run.path / "best.npz") as file:
        assert int(file["update"]) == run.validation["update"] and int(file["run"]) == 1


def test_stopped_before_a_validation(lorenz, settings):
    """The training loss decides only where nothing was validated; then fit goes on to the same choice."""
    stopped = antler.Reconstructor(**{**settings, "runs": 2})
    stopped.fit(lorenz, callback=lambda row: row["update"] >= 25)
    assert stopped.validations_ == [None, None] and stopped.model_ is not None
    stopped.resume()
    whole = antler.Reconstructor(**{**settings, "runs": 2}).fit(lorenz)
    assert stopped.validations_ == whole.validations_ and arrays_equal(stopped.model_, whole.model_)


def test_a_run_that_diverges_late_keeps_its_best_model(lorenz, settings):
    wild = {**settings, "runs": 2, "start_lr": 10.0, "end_lr": 10.0, "schedule": "constant", "clipped": False,
            "gradient_clip": 0.0, "validation_interval": 1, "log_interval": 1, "gtf_alpha": 0.0}  # fmt: skip
    model = antler.Reconstructor(**wild)
    with warnings.catch_warnings(), pytest.raises(exceptions.DivergedError):
        warnings.simplefilter("ignore")
        model.fit(lorenz)
    assert all(found["update"] >= 1 for found in model.validations_)


def test_faults(lorenz, small):
    with pytest.raises(exceptions.ArgumentError, match="30 rows of the longest trajectory, and 106 are needed"):
        antler.Reconstructor(**{**small, "validation": 0.01}, verbose=False).fit(lorenz)
    with pytest.raises(exceptions.ArgumentError, match="validation=0.2 holds back"):
        antler.Reconstructor(**small, validation_data="x.npy")
