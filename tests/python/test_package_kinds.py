"""The kinds of models beside the shPLRNN: one setting, the same package."""

import numpy as np
import pytest

import antler
from antler import exceptions

STATES = {"lssm": 4, "mamba2": 3 * 40 + 8 * 16 + 3}


@pytest.mark.parametrize("kind", STATES)
def test_a_kind_trains_runs_and_is_measured(lorenz, small, kind, tmp_path):
    model = antler.train(dict(small, model=kind, warmup=5, results=str(tmp_path)), lorenz)[0].model
    assert model.kind == kind and model.state_dim == STATES[kind]
    orbit, states = model.generate(50, lorenz, latent=True)
    assert np.asarray(orbit).shape == (50, 3) and states.shape == (50, STATES[kind]) and np.isfinite(states).all()
    assert len(model.lyapunov_spectrum(steps=50, transient=5, exponents=2).exponents) == 2
    np.testing.assert_array_equal(model.generate(5, state=np.zeros(STATES[kind])), model.generate(5))


@pytest.mark.parametrize("kind", STATES)
def test_the_estimator_has_every_kind(lorenz, small, kind, tmp_path):
    model = antler.Reconstructor(model=kind, warmup=5, device="cpu", verbose=False, **small).fit(lorenz)
    assert model.model_.kind == kind and np.asarray(model.generate(20)).shape == (20, 3)
    model.save(tmp_path / "model.npz")
    again = antler.Reconstructor.load(tmp_path / "model.npz")
    assert again.model == kind
    np.testing.assert_array_equal(again.generate(20, context=lorenz), model.generate(20, context=lorenz))


@pytest.mark.parametrize("kind", ["shplrnn", *STATES])
def test_a_gpu_that_is_not_there_is_one_sentence(lorenz, small, kind, monkeypatch):
    monkeypatch.setenv("ANTLER_CUDA_DRIVER", "/nowhere/libcuda.so.1")
    with pytest.raises(exceptions.DeviceError, match="no NVIDIA driver.*compute on the CPU"):
        antler.Reconstructor(model=kind, warmup=5, device="cuda", verbose=False, **small).fit(lorenz)


def test_the_lssm_runs_as_a_shplrnn_of_low_rank(lorenz, small, tmp_path):
    model = antler.train(dict(small, model="lssm", kappa=0.8, start_lr=5e-3, results=str(tmp_path)), lorenz)[0].model
    p = model.parameters
    z = model.generate(30, lorenz, warmup=20, latent=True)[1]
    for before, after in zip(z, z[1:]):
        hidden = np.maximum(p["V"] @ before + p["b"], 0)
        np.testing.assert_allclose(after, p["A"] * before + p["U"] @ p["B"] @ hidden + p["h"], atol=1e-10)


def test_what_a_kind_does_not_have_is_refused(lorenz, small):
    with pytest.raises(exceptions.ArgumentError, match="gtf_alpha is 0.4, which does nothing with model: lssm"):
        antler.train(dict(small, model="lssm", gtf_alpha=0.4), lorenz)
