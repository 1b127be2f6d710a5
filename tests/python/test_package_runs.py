"""Runs on disk: trained, stopped, resumed and read back."""

import numpy as np
import pytest

import antler


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_run_is_trained_and_read_back(here, lorenz, small):
    (run,) = antler.train(small, lorenz, experiment="e", name="n", verbose=False)
    again = antler.load_run(here / "Results" / "e" / "n" / "001")
    assert run.name == again.name == "e/n/001" and again.number == 1 and again.finished
    assert again.settings["latent_dim"] == 4 and again.settings["gtf_alpha"] == 0.15
    assert again.log["update"].tolist() == [1, 10, 20, 30, 40, 50, 60]
    assert again.log["loss"].dtype == float and set(again.log["solver"]) != {""}
    assert again.model.W.shape == (4, 8) and again.model.dim == 3
    assert again.metrics is None and again.diverged is None
    assert [path.name for path in again.checkpoints] == ["update-0000000060.npz"]


def test_a_callback_stops_and_resume_goes_on_as_if_nothing_had_happened(here, lorenz, small):
    antler.train(small, lorenz, name="whole", verbose=False)
    antler.train(small, lorenz, name="cut", verbose=False, callback=lambda row: row["update"] == 20)
    cut = antler.load_run("Results/experiment/cut/001")
    assert not cut.finished and cut.log["update"][-1] == 20
    with pytest.raises(antler.exceptions.DataError, match="other data"):
        antler.resume(cut.path, lorenz[::-1], verbose=False)
    (done,) = antler.resume(cut.path, lorenz, verbose=False)
    whole = antler.load_run("Results/experiment/whole/001")
    assert (done.path / "model.npz").read_bytes() == (whole.path / "model.npz").read_bytes()
    for column in set(whole.log) - {"seconds"}:
        np.testing.assert_array_equal(done.log[column], whole.log[column])


def test_an_existing_run_is_refused_unless_overwritten(here, lorenz, small):
    antler.train(small, lorenz, verbose=False)
    with pytest.raises(antler.exceptions.ArgumentError, match="this run exists"):
        antler.train(small, lorenz, verbose=False)
    antler.train(small, lorenz, overwrite=True, verbose=False)
    assert len(antler.load_runs("Results")) == 1


def test_what_is_no_run_is_named(here):
    with pytest.raises(FileNotFoundError, match="holds no run"):
        antler.load_run(here)
    with pytest.raises(antler.exceptions.NotFoundError, match="holds no run"):
        antler.load_runs(here)
    with pytest.raises(antler.exceptions.NotFoundError, match="did you mean 'latent_dim'"):
        antler.train({"latent_dims": 3}, np.zeros((10, 2)))


def test_regularisers_of_the_field_are_those_of_numpy(here, lorenz, small):
    """Learning rates near 0 leave the model where the terms of the log were computed."""
    weights = dict(latent_lambda=2.0, observation_lambda=3.0, condition_lambda=0.5)
    settings = dict(small, updates=1, start_lr=1e-14, end_lr=0.0, precision="double", initialisation="standard", seed=5)
    settings.update(initialise_B="kaiming", latent_dim=2, rank=2)
    (run,) = antler.train(dict(settings, **weights), lorenz, verbose=False)
    m = run.model
    terms = [m.parameters[name] for name in ("V", "h", "b")] + [1 - m.parameters["A"], m.WL @ m.WR]
    np.testing.assert_allclose(run.log["mar"][-1], 2 * sum(np.mean(x**2) for x in terms), rtol=1e-9)
    np.testing.assert_allclose(run.log["readout"][-1], 3 * np.mean(m.B**2), rtol=1e-9)
    sigma = np.linalg.svd(m.B, compute_uv=False)
    np.testing.assert_allclose(run.log["singular"][-1], (1 - sigma[0] / sigma[-1]) ** 2 / 2, rtol=1e-9)
    assert sigma[0] > 1.01 * sigma[-1]
    total = sum(run.log[name][-1] for name in ("loss", "mar", "readout", "singular"))
    np.testing.assert_allclose(run.log["total"][-1], total, rtol=1e-12)
