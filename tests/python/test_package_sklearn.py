"""scikit-learn's manners: its own checks, clones, and searches over parameters."""

import inspect

import numpy as np
import pytest

import antler

pytest.importorskip("sklearn")

from sklearn.base import clone  # noqa: E402
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit  # noqa: E402
from sklearn.utils import estimator_checks  # noqa: E402
from sklearn.utils.validation import check_is_fitted  # noqa: E402

NOT_APPLICABLE = {
    "check_fit1d": "one axis is a series of one variable, which is what most users begin with",
    "check_do_not_raise_errors_in_init_or_set_params": "it sets a parameter called 'settings', after the keywords that "
    "pass settings on, and a name that is no setting is refused at once, with the nearest one",
}


@pytest.mark.filterwarnings("ignore")
def test_the_estimator_checks_hold_where_they_apply_to_sequences():
    if "expected_failed_checks" not in inspect.signature(estimator_checks.check_estimator).parameters:
        pytest.skip("needs scikit-learn 1.6 or newer")
    tiny = dict(latent_dim=3, hidden_dim=4, sequence_length=4, batch_size=2, updates=3, threads=1, verbose=False)
    tiny.update(validation=0.0)  # a check has some ten rows
    found = estimator_checks.check_estimator(
        antler.Reconstructor(**tiny), expected_failed_checks=NOT_APPLICABLE, on_fail="raise"
    )
    passed = [check["check_name"] for check in found if check["status"] == "passed"]
    assert len(passed) > 30
    assert {check["check_name"] for check in found if check["status"] == "xfail"} <= set(NOT_APPLICABLE)


def test_clones_have_the_parameters_and_nothing_else(lorenz, small):
    model = antler.Reconstructor(**small, verbose=False).fit(lorenz)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "model_")
    check_is_fitted(model)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(fresh)


def test_a_grid_search_finds_the_better_setting(lorenz, small):
    model = antler.Reconstructor(**{**small, "updates": 200, "start_lr": 5e-3}, verbose=False)
    search = GridSearchCV(model, {"updates": [1, 200]}, cv=TimeSeriesSplit(2), scoring=None, error_score=-np.inf)
    search.fit(lorenz)
    assert search.best_params_["updates"] in (1, 200)
    assert search.best_estimator_.generate(10).shape == (10, 3)
