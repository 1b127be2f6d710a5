"""The bare solver on arrays: the same answer from every solver, and an exact gradient."""

import numpy as np
import pytest

import antler
from antler import exceptions

M, L, N, T = 4, 7, 2, 40


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    parameters = dict(
        Abar=rng.uniform(0.2, 0.9, M), W=0.3 * rng.standard_normal((M, L)), V=0.5 * rng.standard_normal((L, M)),
        b=rng.standard_normal(L), h=0.1 * rng.standard_normal(M), B=rng.standard_normal((N, M)),
    )  # fmt: skip
    return parameters, rng.standard_normal((2, T + 1, N))


@pytest.mark.parametrize("solver", ["reference", "sequential", "deer", "quasi-deer", "shooting"])
def test_every_solver_gives_the_same_answer(case, solver):
    want = antler.solve(*case, solver="reference", gtf_alpha=0.3)
    got = antler.solve(*case, solver=solver, gtf_alpha=0.3)
    assert got.converged and got.states.shape == (2, T, M)
    np.testing.assert_allclose(got.states, want.states, atol=1e-8)
    np.testing.assert_allclose(got.loss, want.loss, rtol=1e-8)
    for name in case[0]:
        np.testing.assert_allclose(got.gradient[name], want.gradient[name], atol=1e-7)
    assert (got.iterations > 0) == (solver in ("deer", "quasi-deer"))


def holes(x):
    """Rows that lack everything, one variable, the other."""
    x = x.copy()
    x[:, 7:11] = np.nan
    x[0, 20:30, 0] = np.nan
    x[1, ::3, 1] = np.nan
    return x


@pytest.mark.parametrize("solver", ["sequential", "deer", "quasi-deer", "shooting"])
def test_nan_is_a_missing_value(case, solver):
    p, x = case[0], holes(case[1])
    got, want = (antler.solve(p, x, solver=s, gtf_alpha=0.3, warmup=5) for s in (solver, "reference"))
    z = np.linalg.pinv(p["B"][:1]) @ x[1, 0, :1]
    for t in range(T):
        a, o = 0.0 if t == 0 else 1.0 if t <= 5 else 0.3, ~np.isnan(x[1, t])
        z = z + a * np.linalg.pinv(p["B"][o]) @ (x[1, t, o] - p["B"][o] @ z)
        z = np.tanh(p["Abar"]) * z + p["W"] @ np.maximum(p["V"] @ z + p["b"], 0) + p["h"]
        np.testing.assert_allclose(got.states[1, t], z, atol=1e-8)
    assert got.loss == pytest.approx(np.nanmean((got.states @ p["B"].T - x[:, 1:])[:, 5:] ** 2), rel=1e-8)
    for name in p:
        np.testing.assert_allclose(got.gradient[name], want.gradient[name], atol=1e-7)


def test_the_gradient_with_missing_values_is_exact(case):
    p, x = case[0], holes(case[1])
    got, step = antler.solve(p, x, gtf_alpha=0.3), 1e-6
    for name, i in (("B", (0, 1)), ("B", (1, 3)), ("W", (2, 3)), ("Abar", (1,))):
        up, down = ({**p, name: p[name].copy()} for _ in range(2))
        up[name][i] += step
        down[name][i] -= step
        slope = (antler.solve(up, x, gtf_alpha=0.3).loss - antler.solve(down, x, gtf_alpha=0.3).loss) / (2 * step)
        assert got.gradient[name][i] == pytest.approx(slope, abs=1e-7)


def test_states_follow_the_forced_map(case):
    p, x = case
    got = antler.solve(p, x, gtf_alpha=0.3, warmup=5)
    pinv = np.linalg.pinv(p["B"])
    z = pinv @ x[0, 0]
    for t in range(T):
        a = 0.0 if t == 0 else 1.0 if t <= 5 else 0.3
        z = z + a * pinv @ (x[0, t] - p["B"] @ z)
        z = np.tanh(p["Abar"]) * z + p["W"] @ np.maximum(p["V"] @ z + p["b"], 0) + p["h"]
        np.testing.assert_allclose(got.states[0, t], z, atol=1e-9)
    errors = (got.states @ p["B"].T - x[:, 1:])[:, 5:]
    assert got.loss == pytest.approx(np.mean(errors**2), rel=1e-10)


def test_a_free_diagonal_has_the_gradient_of_A(case):
    p, x = case
    free = {name: value for name, value in p.items() if name != "Abar"}
    free["A"] = np.tanh(p["Abar"])
    want, got = antler.solve(p, x), antler.solve(free, x, diagonal="free")
    np.testing.assert_allclose(got.states, want.states, atol=1e-12)
    np.testing.assert_allclose(got.gradient["A"] * (1 - free["A"] ** 2), want.gradient["Abar"], rtol=1e-9)
    model = antler.Model.from_arrays(**free, diagonal="free")
    np.testing.assert_allclose(antler.solve(model, x).loss, want.loss, rtol=1e-12)
    with pytest.raises(exceptions.ArgumentError, match="unknown: Abar|missing: A"):
        antler.solve(p, x, diagonal="free")


def test_the_gradient_is_the_derivative_and_the_adjoint_leads_to_it(case):
    p, x = case
    got = antler.solve(p, x, gtf_alpha=0.3)
    np.testing.assert_allclose(got.adjoint.sum((0, 1)), got.gradient["h"], atol=1e-12)
    for name, place in (("W", (1, 2)), ("V", (3, 1)), ("b", (4,)), ("B", (1, 3)), ("Abar", (2,))):
        step = 1e-6
        sides = []
        for sign in (1, -1):
            moved = {key: value.copy() for key, value in p.items()}
            moved[name][place] += sign * step
            sides.append(antler.solve(moved, x, gtf_alpha=0.3).loss)
        slope = (sides[0] - sides[1]) / (2 * step)
        assert got.gradient[name][place] == pytest.approx(slope, rel=1e-5, abs=1e-9)


def test_a_problem_is_solved_again_and_again(case):
    p, x = case
    problem = antler.Problem(N, latent_dim=M, hidden_dim=L, sequence_length=T, batch_size=2, precision="double")
    begun = problem.solve(x).loss
    problem.set_parameters(p)
    first, second = problem.solve(x), problem.solve(x, check=True)
    assert first.loss == second.loss != begun and "differs by" in second.choice
    flat = np.concatenate([np.asarray(p[name]).ravel() for name in problem.shapes])
    problem.set_parameters(flat)
    assert problem.solve(x).loss == first.loss and problem.bytes > 0
    np.testing.assert_array_equal(problem.split(flat)["V"], p["V"])


def test_a_model_can_be_solved(lorenz, small):
    model = antler.Reconstructor(**small, verbose=False).fit(lorenz).model_
    mean, scale = model.scaling
    assert antler.solve(model, (lorenz[:101] - mean) / scale).loss < 1.0


def test_misfits_are_named(case):
    p, x = case
    with pytest.raises(exceptions.ArgumentError, match="W has shape"):
        antler.solve({**p, "W": np.zeros((M, L + 1))}, x)
    with pytest.raises(exceptions.ArgumentError, match="missing: b"):
        antler.solve({name: value for name, value in p.items() if name != "b"}, x)
    with pytest.raises(exceptions.ArgumentError, match="unknown: Q"):
        antler.solve({**p, "Q": 1.0}, x)
    with pytest.raises(exceptions.ArgumentError, match="for the shplrnn"):
        antler.Problem(N, model="lssm")
    with pytest.raises(exceptions.DataError, match="x has shape"):
        antler.solve(p, x[0, 0])
    with pytest.raises(exceptions.NotConvergedError, match="did not converge within 1"):
        antler.solve(p, x, solver="deer", max_iterations=1, fallback=False)
    assert antler.solve(p, x, solver="deer", max_iterations=1).fallbacks == 2
