"""antler.fit and Reconstructor(latent_dim="auto"): from data to a model without settings."""

import numpy as np
import pytest

import antler

TINY = dict(minutes=0.001, device="cpu", threads=2, verbose=False)
SMALL = {"latent_dim": 4, "hidden_dim": 20, "sequence_length": 40}


@pytest.fixture(scope="module")
def orbit():
    return np.asarray(antler.simulate("lorenz63", 1500, dt=0.03))


def test_look(orbit):
    found = antler.look(orbit)
    assert found["rows"] == 1500 and found["dim"] == 3
    assert not found["hidden"]
    assert antler.look(orbit[:, :1])["hidden"]
    t = np.arange(2000)
    assert abs(antler.look(np.sin(2 * np.pi * t / 50)[:, None])["period"] - 50) <= 1


def test_fit(orbit, tmp_path):
    (tmp_path / "tiny").mkdir()
    (tmp_path / "tiny" / "plan.csv").write_text("trials,runs,updates\n4,2,20\n1,2,40\n1,2,80\n")
    found = antler.fit(orbit, results=tmp_path, name="tiny", **TINY)
    assert found.model.dim == 3
    assert set(found.measures) == {"score", "dstsp", "hellinger", "prediction_error"}
    best = min(row["score"] for row in found.trials)
    assert found.measures["score"] == pytest.approx(best, rel=1e-6)
    assert (tmp_path / "tiny" / "settings.yaml").exists() and found.folder == str(tmp_path / "tiny")
    assert found.settings["latent_dim"] == found.model.latent_dim
    assert found.settings["validation"] == 0.2
    assert found.model.generate(50, orbit).shape == (50, 3)
    assert repr(found).startswith(f"<antler.Fit {found.verdict['kind']}: ") and len(repr(found)) < 1500


def test_fit_leaves_nothing_behind_without_results(orbit, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert antler.fit(orbit, around=SMALL, **TINY).folder is None
    assert list(tmp_path.iterdir()) == []


def test_fit_around_settings(orbit):
    found = antler.fit(orbit, around=SMALL, **TINY)
    first = [row for row in found.trials if row["rung"] == 1 and row["trial"] == 1]
    assert {(row["latent_dim"], row["hidden_dim"]) for row in first} == {(4, 20)}


def test_reconstructor_chooses_by_itself(orbit):
    made = antler.Reconstructor(latent_dim="auto", device="cpu", threads=2, verbose=False).fit(orbit, minutes=0.001)
    assert made.model_ is made.fit_.model
    assert made.generate(20).shape == (20, 3)


def test_faults(orbit):
    with pytest.raises(antler.AntlerError, match="held-back"):
        antler.fit(orbit[:60], **TINY)
    for nothing in (None, (row for row in orbit)):
        with pytest.raises(antler.exceptions.DataError, match="X is .*give a table of numbers"):
            antler.fit(nothing, **TINY)
    with pytest.raises(antler.AntlerError, match="validation"):
        antler.fit(orbit, validation=2.0, **TINY)
