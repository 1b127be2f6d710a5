"""The verdict on a model, the floors behind it, and what the report shows of it."""

import json
from pathlib import Path

import numpy as np
import pytest

import antler
from antler import exceptions, measures
from antler.report import page

QUICK = dict(samples=500, n=20, lyapunov=False)
LOG = {"update": np.arange(1, 41) * 100.0, "loss": np.exp(-0.05 * np.arange(40)), "lr": np.full(40, 1e-3)}


@pytest.fixture(scope="module")
def fitted(lorenz):
    few = antler.Reconstructor(
        latent_dim=3, hidden_dim=10, sequence_length=30, batch_size=4, updates=30, log_interval=1, device="cpu",
        kappa=0.9995, gtf_alpha=0.15, start_lr=1e-3, validation=0.0,
    )  # fmt: skip
    return few.fit(lorenz)


def test_a_reconstructor_says_that_it_is_undertrained(fitted, lorenz):
    found = fitted.evaluate(lorenz, **QUICK)
    assert isinstance(found.verdict, antler.Verdict) and found.verdict.kind == "undertrained"
    assert found["verdict"]["figure"] in ("travel", "loss_fall") and found.verdict.value == found["verdict"]["value"]
    assert str(found.verdict).startswith("undertrained: ") and "updates" in found.verdict.advice
    for name, measure in measures.table().items():
        if measure.better and name != "dstsp_embedded":
            assert found["floors"][name] >= 0
    assert found["rmse"]["persistence"] > 0 and found["skill"]["steps"] in (1, 2, 4, 8, 16)
    json.dumps(found)


def test_without_a_log_no_model_is_undertrained(fitted, lorenz):
    model = fitted.model_
    assert model.evaluate(lorenz, **QUICK).verdict.kind not in ("undertrained", "good")
    assert model.evaluate(lorenz, training=LOG, **QUICK).verdict.figure == "loss_fall"
    with pytest.raises(exceptions.ArgumentError, match="'lr'"):
        model.evaluate(lorenz, training={"update": [1], "loss": [1]}, **QUICK)
    with pytest.raises(exceptions.ArgumentError, match="lengths"):
        model.evaluate(lorenz, training={**LOG, "lr": [1.0]}, **QUICK)
    silent = model.evaluate(lorenz, verdict=False, **QUICK)
    assert "verdict" not in silent and "floors" not in silent
    with pytest.raises(KeyError):
        silent.verdict  # noqa: B018


def test_a_run_that_leaves_the_range_has_diverged(fitted, lorenz):
    found = fitted.evaluate(lorenz, range_factor=1e-3, **QUICK)
    assert found.diverged and found["free_run"]["left_range"] and found.verdict.kind == "left_range"
    assert np.isinf(found.summary()["dstsp"]) and found.verdict.value == found["free_run"]["reach"]


class Judged:
    """As much of a run as the page's verdict needs."""

    diverged = None
    has_model = False
    path = Path("nowhere")

    def __init__(self, kind):
        self.metrics = {"verdict": {"kind": kind, "text": "a < b", "advice": "Do & see."}, "floors": {"dstsp": 0.25}}

    @property
    def verdict(self):
        return (self.metrics or {}).get("verdict")


def test_the_report_shows_it():
    good, left = page.verdict(Judged("good")), page.verdict(Judged("left_range"))
    assert 'class="verdict good"' in good and "a &lt; b" in good and "Do &amp; see." in good
    assert 'class="verdict bad"' in left and ">left range<" in left
    assert "floor 0.25" in page._floor(Judged("good"), "dstsp") and page._floor(Judged("good"), "rmse") == ""
    nothing = Judged("good")
    nothing.metrics = None
    assert ">no verdict<" in page.verdict(nothing) and "There is no model yet." in page.verdict(nothing)
    nothing.diverged = "loss is not finite"
    assert 'class="verdict bad"' in page.verdict(nothing) and "loss is not finite" in page.verdict(nothing)


def test_the_verdict_of_training_until_there_is_an_evaluation(tmp_path):
    held_back = {"kind": "close", "text": "on held-back rows", "advice": "more"}
    (tmp_path / "verdict.json").write_text(json.dumps(held_back))
    assert antler.Run(tmp_path, {}).verdict == held_back
    assert "on held-back rows" in page.verdict(antler.Run(tmp_path, {}))
    tested = {"kind": "good", "text": "on test rows", "advice": ""}
    (tmp_path / "metrics.json").write_text(json.dumps({"verdict": tested}))
    assert antler.Run(tmp_path, {}).verdict == tested
    assert "on test rows" in page.verdict(antler.Run(tmp_path, {}))
