"""Models as arrays: views, letters of other tools, and runs that NumPy can repeat."""

import gc
import pickle

import numpy as np
import pytest

import antler
from antler import exceptions


def random_model(M=4, N=2, L=6, K=0, clipped=False, seed=0):
    rng = np.random.default_rng(seed)
    arrays = dict(A=rng.uniform(0, 0.5, M), W=0.2 * rng.standard_normal((M, L)), V=rng.standard_normal((L, M)))
    arrays.update(b=rng.standard_normal(L), h=rng.standard_normal(M), B=rng.standard_normal((N, M)))
    if K:
        arrays["C"] = rng.standard_normal((M, K))
    return antler.Model.from_arrays(**arrays, clipped=clipped, mean=[5.0] * N, scale=[2.0] * N, dt=0.5), arrays


def numpy_orbit(a, steps, z, clipped=False, inputs=None):
    rows = []
    for t in range(steps):
        hidden = a["V"] @ z
        phi = np.maximum(hidden + a["b"], 0) - (np.maximum(hidden, 0) if clipped else 0)
        z = a["A"] * z + a["W"] @ phi + a["h"] + (a["C"] @ inputs[t] if inputs is not None else 0)
        rows.append(z)
    return np.array(rows)


@pytest.mark.parametrize("clipped", [False, True])
@pytest.mark.parametrize("K", [0, 3])
def test_a_free_run_is_what_numpy_computes(K, clipped):
    model, arrays = random_model(K=K, clipped=clipped)
    inputs = np.random.default_rng(1).standard_normal((30, K)) if K else None
    z0 = np.array([0.1, -0.2, 0.3, 0.4])
    x, z = model.generate(30, state=z0, inputs=inputs, latent=True)
    want = numpy_orbit(arrays, 30, z0, clipped, inputs)
    np.testing.assert_allclose(z, want, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(x, want @ arrays["B"].T * 2.0 + 5.0, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.generate(30, state=z0, inputs=inputs, user_units=False), want @ arrays["B"].T)


def test_warm_up_follows_the_data():
    model, a = random_model(M=4, N=2)
    context = 5.0 + 2.0 * np.random.default_rng(3).standard_normal((6, 2))
    rows, pinv = (context - 5.0) / 2.0, np.linalg.pinv(a["B"])
    z = pinv @ rows[0]
    for row in rows[1:4]:
        z = numpy_orbit(a, 1, z)[0]
        z = z + pinv @ (row - a["B"] @ z)
    np.testing.assert_allclose(
        model.generate(3, context, warmup=3, user_units=False), numpy_orbit(a, 3, z) @ a["B"].T, rtol=1e-10
    )


def test_parameters_are_read_only_views_that_outlive_the_model():
    model, arrays = random_model()
    np.testing.assert_allclose(model.A, arrays["A"], rtol=1e-15)
    W = model.W
    assert W.__array_interface__["data"] == model.parameters["W"].__array_interface__["data"] and not W.flags.owndata
    with pytest.raises(ValueError):
        W[0, 0] = 1.0
    del model
    gc.collect()
    np.testing.assert_array_equal(W, arrays["W"])


def test_letters_of_gtf_and_back():
    model, a = random_model(clipped=True)
    letters = model.to_gtf()
    assert set(letters) == {"A", "W1", "W2", "h1", "h2", "B"}
    for theirs, ours in (("W1", "W"), ("W2", "V"), ("h1", "h"), ("h2", "b"), ("B", "B")):
        np.testing.assert_array_equal(letters[theirs], a[ours])
    np.testing.assert_array_equal(np.diag(model.to_gtf(diagonal=True)["A"]), letters["A"])
    letters["W1"][0, 0] = 9.0  # a copy of its own
    assert model.W[0, 0] == a["W"][0, 0]
    again = antler.Model.from_gtf(model.to_gtf(diagonal=True), clipped=True)
    np.testing.assert_array_equal(
        again.generate(20, user_units=False), model.generate(20, user_units=False)
    )


def test_a_low_rank_model_is_multiplied_out(lorenz, small):
    model = antler.Reconstructor(**{**small, "rank": 2}, verbose=False).fit(lorenz).model_
    assert model.rank == 2 and set(model.parameters) >= {"WL", "WR"}
    np.testing.assert_allclose(model.to_gtf()["W1"], model.WL @ model.WR)


def test_what_a_model_knows():
    model, _ = random_model()
    assert (model.kind, model.dim, model.latent_dim, model.hidden_dim) == ("shplrnn", 2, 4, 6)
    assert model.names == ["x1", "x2"] and model.dt == 0.5 and model.settings == {}
    assert "N=2, M=4, L=6" in repr(model)
    with pytest.raises(AttributeError, match="'Q'"):
        _ = model.Q


def test_misfits_are_named():
    _, a = random_model()
    with pytest.raises(exceptions.FormatError, match="array W"):
        antler.Model.from_arrays(**{**a, "W": np.zeros((4, 5))})
    with pytest.raises(exceptions.ArgumentError, match="between -1 and 1"):
        antler.Model.from_arrays(**{**a, "A": np.ones(4)})
    model, _ = random_model()
    with pytest.raises(exceptions.ArgumentError, match="at least 1"):
        model.generate(0)
    with pytest.raises(exceptions.ArgumentError, match="state has shape"):
        model.generate(3, state=[1.0])
    with pytest.raises(exceptions.ArgumentError, match="not both"):
        model.generate(3, np.zeros((5, 2)), state=np.zeros(4))
    with pytest.raises(exceptions.ArgumentError, match="inputs_end"):
        model.generate(3, inputs_end="never")
    with pytest.raises(exceptions.DataError, match="warm-up of 9 rows"):
        model.generate(3, np.zeros((5, 2)), warmup=9)
    with pytest.raises(exceptions.DataError, match="infinite in row 2"):
        model.generate(3, np.array([[0, 0], [np.inf, 0], [0, 0]]), warmup=2)


def test_a_free_diagonal_may_be_any_number(tmp_path):
    _, a = random_model()
    a["A"] = np.array([1.01, -1.2, 0.5, 0.0])
    with pytest.raises(exceptions.ArgumentError, match="'tanh' or 'free', not 'none'"):
        antler.Model.from_arrays(**a, diagonal="none")
    model = antler.Model.from_arrays(**a, diagonal="free")
    model.save(tmp_path / "model.npz")
    for m in (model, antler.Model.load(tmp_path / "model.npz"), pickle.loads(pickle.dumps(model))):
        assert m.diagonal == "free" and "free diagonal" in repr(m)
        np.testing.assert_array_equal(m.A, a["A"])
        z = np.array([0.1, -0.2, 0.3, 0.0])
        np.testing.assert_allclose(m.generate(5, state=z, latent=True)[1], numpy_orbit(a, 5, z), rtol=1e-12)
    with np.load(tmp_path / "model.npz") as file:
        assert str(file["diagonal"]) == "free" and "Abar" not in file
    assert random_model()[0].diagonal == "tanh"


def test_lyapunov_exponents_of_a_linear_map_are_known():
    model = antler.Model.from_arrays(
        A=[0.5, 0.25], W=np.zeros((2, 1)), V=np.zeros((1, 2)), b=[0.0], h=[0.0, 0.0], B=np.eye(2), dt=0.1
    )
    found = model.lyapunov_spectrum(steps=100, transient=10)
    np.testing.assert_allclose(found.exponents, np.log([0.5, 0.25]), rtol=1e-12)
    np.testing.assert_allclose(found.per_time, np.log([0.5, 0.25]) / 0.1, rtol=1e-12)
    assert found.kaplan_yorke == 0.0 and found.steps == 100
