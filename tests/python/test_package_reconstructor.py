"""The estimator: repeatable, in user units, the same as the command line, and clear about what is wrong."""

import copy
import inspect
import os
import pickle
import pydoc
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import antler
from antler import exceptions


@pytest.fixture(scope="module")
def fitted(lorenz, small):
    return antler.Reconstructor(**small, random_state=3, verbose=False).fit(lorenz)


def arrays_equal(a, b):
    return all(np.array_equal(a.parameters[name], b.parameters[name]) for name in a.parameters)


def test_same_random_state_same_bits(lorenz, small, fitted):
    again = antler.Reconstructor(**small, random_state=3, verbose=False).fit(lorenz)
    other = antler.Reconstructor(**small, random_state=4, verbose=False).fit(lorenz)
    assert arrays_equal(fitted.model_, again.model_)
    assert not arrays_equal(fitted.model_, other.model_)
    np.testing.assert_array_equal(fitted.generate(50), again.generate(50))


def test_random_states_of_numpy(lorenz, small):
    models = [
        antler.Reconstructor(**small, random_state=state, verbose=False).fit(lorenz).model_
        for state in (np.random.RandomState(5), np.random.RandomState(5), np.random.default_rng(5), None, None)
    ]
    assert arrays_equal(models[0], models[1])
    assert not arrays_equal(models[1], models[2])
    assert not arrays_equal(models[3], models[4])
    with pytest.raises(exceptions.ArgumentError, match="random_state"):
        antler.Reconstructor(**small, random_state="three", verbose=False).fit(lorenz)


def test_same_numbers_as_the_command(tmp_path, monkeypatch, lorenz, small):
    command = os.environ.get("ANTLER")
    if command is None:
        pytest.skip("needs the command: set ANTLER to its path")
    np.save(tmp_path / "x.npy", lorenz)
    settings = {**small, "seed": 9, "data": "x.npy", "experiment": "e"}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    (tmp_path / "run.yaml").write_text("name: cli\n")
    subprocess.run([command, "train", "run.yaml", *words, "--quiet"], cwd=tmp_path, check=True)
    model = antler.Model.load(tmp_path / "Results" / "e" / "cli" / "001")
    ours = antler.Reconstructor(**small, random_state=9, verbose=False).fit(lorenz)
    assert arrays_equal(model, ours.model_)
    monkeypatch.chdir(tmp_path)
    antler.train("run.yaml", verbose=False, **{**settings, "name": "python"})
    files = [tmp_path / "Results" / "e" / name / "001" / "model.npz" for name in ("cli", "python")]
    assert files[0].read_bytes() == files[1].read_bytes()
    log = antler.load_run(files[0].parent).log
    for name in set(log) - {"seconds"}:
        np.testing.assert_array_equal(log[name], ours.log_[name])
    generate = [command, "generate", "Results/e/cli/001", "--steps", "30", "--quiet", "--device", "cpu", "--out"]
    subprocess.run([*generate, "end.npy"], check=True)
    np.testing.assert_array_equal(np.load("end.npy"), ours.generate(30))  # both go on after the last row
    subprocess.run([*generate, "start.npy", "--data", "x.npy"], check=True)
    np.testing.assert_array_equal(np.load("start.npy"), ours.generate(30, context=lorenz))  # both from the first rows


def test_values_go_in_and_come_out_in_user_units(lorenz, small):
    shift, factor = np.array([100.0, -5.0, 3.0]), np.array([10.0, 0.1, 2.0])
    plain = antler.Reconstructor(**small, random_state=1, verbose=False).fit(lorenz)
    scaled = antler.Reconstructor(**small, random_state=1, verbose=False).fit(lorenz * factor + shift)
    np.testing.assert_allclose(scaled.model_.scaling[1], lorenz.std(0) * factor, rtol=1e-12)
    # The first rows agree but for rounding, which the model's chaos has not yet blown up.
    np.testing.assert_allclose(scaled.generate(5), plain.generate(5) * factor + shift, rtol=1e-3)


def test_without_a_context_the_run_goes_on_where_the_data_end(lorenz, small):
    model = antler.Reconstructor(**small, random_state=1, verbose=False).fit(lorenz)
    there = model.generate(20, context=lorenz[-101:], warmup="all")
    np.testing.assert_array_equal(model.generate(20), there)
    step = np.abs(model.generate(1)[0] - lorenz[-1])
    assert (step < 0.2 * lorenz.std(0)).all()


def test_lists_of_trajectories_and_inputs(small):
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((n, 2)).cumsum(0) for n in (80, 50)]
    S = [rng.standard_normal((n, 3)) for n in (80, 50)]
    model = antler.Reconstructor(**small, verbose=False).fit(X, inputs=S)
    assert model.model_.C.shape == (4, 3) and model.model_.input_dim == 3
    free = model.generate(10, future_inputs=rng.standard_normal((10, 3)))
    assert free.shape == (10, 2)
    with pytest.raises(exceptions.DataError, match=r"give future_inputs=, \(10, 3\), or a context with its inputs"):
        model.generate(10)
    zeros = model.generate(10, context=X[0], inputs=S[0], warmup=5)
    np.testing.assert_array_equal(zeros, model.generate(10, context=X[0], inputs=S[0], warmup=5))
    assert np.isfinite(model.lyapunov_spectrum(steps=200).exponents[0])


def test_several_runs_keep_the_best_and_all(lorenz, small):
    model = antler.Reconstructor(**{**small, "runs": 3}, verbose=False).fit(lorenz)
    last = [log["loss"][-1] for log in model.logs_]
    assert len(model.models_) == 3 and len(set(last)) == 3
    assert model.model_ is model.models_[int(np.argmin(last))]
    assert model.log_["loss"][-1] == min(last)


def test_training_on_disk_leaves_runs(tmp_path, lorenz, small):
    model = antler.Reconstructor(**small, results=str(tmp_path), experiment="e", name="n", verbose=False).fit(lorenz)
    (run,) = model.runs_
    assert run.path == tmp_path / "e" / "n" / "001" and run.finished
    assert arrays_equal(run.model, model.model_)
    other = antler.Reconstructor(**model.get_params())
    with pytest.raises(exceptions.ArgumentError, match="this run exists"):
        other.fit(lorenz)
    assert not hasattr(other, "model_")
    other.fit(lorenz, overwrite=True)
    # A new object goes on with the run of another.
    late = antler.Reconstructor(**model.get_params()).resume(lorenz)
    assert arrays_equal(late.model_, model.model_) and len(late.log_["loss"]) == len(model.log_["loss"])


def test_stop_and_resume_in_memory_leave_no_trace(lorenz, small):
    whole = antler.Reconstructor(**small, verbose=False).fit(lorenz)
    cut = antler.Reconstructor(**small, verbose=False).fit(lorenz, callback=lambda row: row["update"] == 20)
    assert cut.log_["update"].tolist() == [1, 10, 20] and not arrays_equal(cut.model_, whole.model_)
    cut.resume()
    assert arrays_equal(cut.model_, whole.model_)
    assert cut.log_["update"].tolist() == whole.log_["update"].tolist()
    with pytest.raises(exceptions.NotFittedError, match="nothing to resume"):
        antler.Reconstructor().resume()


def test_stop_and_resume_on_disk_leave_no_trace(tmp_path, lorenz, small):
    whole = antler.Reconstructor(**small, results=str(tmp_path), name="whole", verbose=False).fit(lorenz)
    cut = antler.Reconstructor(**small, results=str(tmp_path), name="cut", verbose=False)
    cut.fit(lorenz, callback=lambda row: row["update"] == 20)
    assert not cut.runs_[0].finished and len(cut.runs_[0].checkpoints) == 1
    with pytest.raises(exceptions.ArgumentError, match="give X"):
        cut.resume()
    cut.resume(lorenz)
    assert cut.runs_[0].finished and arrays_equal(cut.model_, whole.model_)
    assert cut.log_["update"].tolist() == whole.log_["update"].tolist()


def test_a_callback_that_fails_stops_the_training_and_is_heard(lorenz, small):
    def fail(row):
        raise KeyError("of mine")

    model = antler.Reconstructor(**small, verbose=False)
    with pytest.raises(KeyError, match="of mine"):
        model.fit(lorenz, callback=fail)
    assert model.log_["update"].tolist() == [1]


def test_divergence_is_an_exception_with_advice(lorenz, small):
    wild = {**small, "start_lr": 10.0, "end_lr": 10.0, "gtf_alpha": 0.0, "gradient_clip": 0.0, "updates": 3000}
    wild.update(sequence_length=200, schedule="constant")
    model = antler.Reconstructor(**wild, verbose=False)
    with pytest.raises(exceptions.DivergedError, match="diverged at update") as caught:
        model.fit(lorenz)
    assert isinstance(caught.value.partial, antler.Model)


def test_a_free_run_that_diverges_keeps_its_rows():
    # z doubles at every step: x = z_1
    model = antler.Model.from_arrays(
        A=[0.0], W=[[2.0, -2.0]], V=[[1.0], [-1.0]], b=[0.0, 0.0], h=[0.0], B=[[1.0]]
    )
    with pytest.raises(exceptions.DivergedError, match="step 20 of 100") as caught:
        model.generate(100, state=[1.0])
    np.testing.assert_array_equal(caught.value.partial[:, 0], 2.0 ** np.arange(1, 20))


def test_every_kind_of_model_is_fitted(lorenz, small):
    for kind in antler._settings.table()["model"].choices:
        model = antler.Reconstructor(**{**small, "model": kind}, verbose=False).fit(lorenz)
        assert model.model_.kind == kind and model.generate(5).shape == (5, 3)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).generate(5), model.generate(5))
        orbit, states = model.generate(5, latent=True)
        assert states.shape == (5, model.model_.state_dim)


def test_save_and_load(tmp_path, fitted, lorenz):
    fitted.save(tmp_path / "model.npz")
    back = antler.Reconstructor.load(tmp_path / "model.npz")
    assert back.get_params()["latent_dim"] == 4 and back.random_state == 3
    np.testing.assert_array_equal(back.generate(30, context=lorenz), fitted.generate(30, context=lorenz))
    with pytest.raises(exceptions.ArgumentError, match="give a context"):
        back.generate(30)
    with np.load(tmp_path / "model.npz") as file:
        np.testing.assert_array_equal(file["W"], fitted.model_.W)


def test_a_corrupt_model_file_is_named(tmp_path, fitted):
    path = tmp_path / "model.npz"
    fitted.save(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(exceptions.FormatError, match="model.npz"):
        antler.Reconstructor.load(path)
    path.write_bytes(b"not a zip")
    with pytest.raises(ValueError, match="model.npz"):
        antler.Model.load(path)
    with pytest.raises(FileNotFoundError):
        antler.Model.load(tmp_path / "missing.npz")


def test_pickle_and_copies(fitted, lorenz):
    back = pickle.loads(pickle.dumps(fitted))
    assert back.get_params() == fitted.get_params()
    np.testing.assert_array_equal(back.generate(30), fitted.generate(30))
    assert pickle.loads(pickle.dumps(antler.Reconstructor())).get_params() == antler.Reconstructor().get_params()
    np.testing.assert_array_equal(copy.deepcopy(fitted).generate(30), fitted.generate(30))


def test_parameters():
    model = antler.Reconstructor(latent_dim=7)
    assert model.get_params()["latent_dim"] == 7
    assert model.set_params(hidden_dim=9, clipped=True) is model
    assert repr(model) == "Reconstructor(latent_dim=7, hidden_dim=9, clipped=True)"
    with pytest.raises(exceptions.NotFoundError, match="did you mean 'latent_dim'"):
        antler.Reconstructor(latentdim=3)
    with pytest.raises(exceptions.ArgumentError, match="random_state"):
        antler.Reconstructor(seed=3)
    with pytest.raises(exceptions.ArgumentError, match="fit"):
        model.set_params(data="x.npy")


def test_the_parameters_are_those_of_the_settings_table():
    """The generated file is what the library's table gives; run scripts/parameters.py after a change of the table."""
    script = Path(__file__).resolve().parents[2] / "scripts" / "parameters.py"
    if not script.exists():
        pytest.skip("needs the source tree")
    assert Path(antler._parameters.__file__).read_text() == runpy.run_path(str(script))["text"]()


def test_the_signature_has_the_defaults_of_the_settings_table():
    table = antler._settings.table()
    own = antler.Reconstructor().get_params()
    for name, value in own.items():
        if name not in ("random_state", "verbose", "results"):
            assert value == table[name].default and type(value) is type(table[name].default), name
    assert own["random_state"] == table["seed"].default
    assert set(table) - set(own) == set(antler._estimator.ELSEWHERE)


def test_every_parameter_is_in_the_signature_and_described():
    signature = inspect.signature(antler.Reconstructor).parameters
    assert list(signature)[:4] == ["model", "latent_dim", "hidden_dim", "rank"] and len(signature) > 40
    assert signature["hidden_dim"].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    assert signature["rank"].kind is inspect.Parameter.KEYWORD_ONLY
    shown = pydoc.plain(pydoc.render_doc(antler.Reconstructor))
    for name, parameter in signature.items():
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            assert re.search(rf"^ .* {name} : .*, default .*\n.* [A-Z].*\.?$", shown, re.M), name
    assert "gtf_alpha : float in [0, 1], default 0.1" in shown
    assert "epsilon : float in (0, 1], default 1e-08" in shown
    assert "device : {'auto', 'cpu', 'cuda'}, default 'auto'" in shown
    assert "initialisation : {'memory', 'standard', 'auto'}, default 'auto'" in shown


def test_settings_beside_the_signature_are_taken_by_name(monkeypatch):
    """As a newer library has them."""
    table = antler._settings.table()
    newer = {**table, "extra": table["rank"]._replace(name="extra")}
    monkeypatch.setattr(antler._settings, "table", lambda: newer)
    model = antler.Reconstructor(extra=3)
    assert model.get_params()["extra"] == 3 and repr(model) == "Reconstructor(extra=3)"


def test_the_import_loads_no_library():
    code = "import antler; antler.Reconstructor(latent_dim=3).get_params(); print(antler._lib._library)"
    environment = {**os.environ, "ANTLER_LIBRARY": "/nowhere/libantler.so"}
    package = str(Path(antler.__file__).resolve().parents[1])
    environment["PYTHONPATH"] = os.pathsep.join([package, environment.get("PYTHONPATH", "")])
    said = subprocess.run([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, check=True, text=True)
    assert said.stdout.strip() == "None"


@pytest.mark.parametrize(
    "change, sentence",
    [
        (dict(latent_dim=0), "latent_dim"),
        (dict(gtf_alpha=1.5), "gtf_alpha"),
        (dict(solver="fast"), "solver"),
        (dict(rank=99), "rank"),
        (dict(warmup=30), "warmup"),
        (dict(updates="many"), "updates"),
        (dict(updates=None), "updates"),
    ],
)
def test_bad_settings_are_named(lorenz, small, change, sentence):
    with pytest.raises(exceptions.ArgumentError, match=sentence):
        antler.Reconstructor(**{**small, **change}, verbose=False).fit(lorenz)


def bad_data():
    good = np.random.default_rng(1).standard_normal((60, 2))
    nan, inf = good.copy(), good.copy()
    nan[17, 1], inf[3, 0] = np.nan, np.inf
    objects = good.astype(object)
    objects[5, 1] = "seven"
    return [
        (inf, "infinite in row 4, column 1"),
        (objects, "dtype object.*'seven' in row 6, column 2"),
        (good.astype(str), "dtype <U"),
        (good + 1j, "complex"),
        (np.zeros((2, 2, 2, 2)), "4 axes"),
        (np.zeros((60, 0)), "0 feature"),
        (np.zeros((0, 2)), "no rows"),
        (good[:10], "rows"),
        (good.T, "transposed|more columns than rows"),
        (np.ones((60, 2)), "constant"),
        ([good, good[:, :1]], r"X\[1\] has 1 variables and the first trajectory 2"),
        ([[1, 2], [3]], "not a table of numbers|object"),
        ({"a": good[:, 0], "b": good[:, 1]}, "dictionary of columns"),
    ]


def test_missing_values_are_left_out(lorenz, small):
    holes = lorenz.copy()
    holes[100:140] = np.nan
    holes[::7, 1] = np.nan
    found = antler.Reconstructor(**small, verbose=False).fit(holes)
    assert np.isfinite(found.model_.parameters["B"]).all()
    assert np.isfinite(found.generate(20)).all()
    with pytest.raises(exceptions.DataError, match="NaN in row 101, column 1"):
        antler.Reconstructor(**{**small, "missing": "refuse"}, verbose=False).fit(holes)


@pytest.mark.parametrize("data, sentence", bad_data(), ids=lambda value: value if isinstance(value, str) else "")
def test_bad_data_are_named_with_their_place(small, data, sentence):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match=f"(?s){sentence}") as caught:
            antler.Reconstructor(**small, verbose=False).fit(data)
    assert isinstance(caught.value, antler.AntlerError)


def test_bad_inputs_are_named(small):
    X, S = np.random.default_rng(2).standard_normal((2, 60, 2))
    with pytest.raises(exceptions.DataError, match="60 rows and its inputs 59"):
        antler.Reconstructor(**small, verbose=False).fit(X, inputs=S[1:])
    with pytest.raises(exceptions.DataError, match="2 trajectories and inputs for 1"):
        antler.Reconstructor(**small, verbose=False).fit([X, X], inputs=S)


def test_a_failed_fit_leaves_the_old_model(fitted, lorenz):
    model = copy.deepcopy(fitted)
    with pytest.raises(exceptions.DataError):
        model.fit(np.full((60, 3), np.nan))
    np.testing.assert_array_equal(model.generate(5), fitted.generate(5))


def test_other_columns_than_those_of_fit_are_refused(fitted, lorenz):
    with pytest.raises(exceptions.DataError, match="2 features, but Reconstructor is expecting 3 features"):
        fitted.evaluate(lorenz[:, :2])
    with pytest.raises(exceptions.DataError, match="expecting 3"):
        fitted.generate(10, context=lorenz[:, :2])


def test_nothing_works_before_fit():
    model = antler.Reconstructor()
    for action in (lambda: model.generate(3), lambda: model.evaluate(np.eye(3)), lambda: model.save("x.npz")):
        with pytest.raises(exceptions.NotFittedError, match="not fitted"):
            action()


def test_evaluation_and_score(fitted, lorenz):
    truth = antler.simulate("lorenz63", 2000, seed=5)
    found = fitted.evaluate(truth, samples=500, embed=(2, 3), n=10, windows=20, lyapunov_steps=500)
    assert set(found) >= {"variables", "diverged", "free_run", "rmse", "lyapunov", "antler"}
    summary = found.summary()
    assert list(summary)[:6] == ["dstsp", "dstsp_embedded", "hellinger", "rmse", "lyapunov_max", "kaplan_yorke"]
    assert list(summary) == list(antler.measures.table())
    assert summary["rmse"] == fitted.model_.rmse(truth, steps=10, windows=20)
    assert fitted.score(truth, samples=500) == -summary["dstsp"]
    assert np.isnan(fitted.evaluate(truth, samples=10, only_embedded=True, lyapunov=False).summary()["dstsp"])
