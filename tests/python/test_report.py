"""The report as a file: what is in the page, and what is said when something is missing."""

import base64
import gzip
import html
import json
import os
import re
import shlex
import shutil
import subprocess

import numpy as np
import pytest

import antler
from antler import curves, report, tables
from antler._linear import linear_model
from antler.report import page, payload


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    """Any text stands for plotly.js here."""
    path = tmp_path_factory.mktemp("library") / "plotly.js"
    path.write_text("/* plotly */ const Plotly = {};", encoding="utf-8")
    before = os.environ.get("ANTLER_PLOTLY_JS")
    os.environ["ANTLER_PLOTLY_JS"] = str(path)
    yield path
    os.environ.pop("ANTLER_PLOTLY_JS")
    if before is not None:
        os.environ["ANTLER_PLOTLY_JS"] = before


@pytest.fixture(scope="module")
def folder(tmp_path_factory, small):
    """Two values of the forcing strength, two runs each; the first is evaluated."""
    folder = tmp_path_factory.mktemp("report")
    np.save(folder / "train.npy", antler.simulate("lorenz63", 3000))
    for alpha in (0.1, 0.5):
        antler.train(
            {
                **small,
                "data": str(folder / "train.npy"),
                "results": str(folder / "Results"),
                "experiment": "e",
                "solver": "deer",
                "check_interval": 20,
                "name": f"a{alpha}",
                "gtf_alpha": alpha,
                "runs": 2,
            },
            verbose=False,
        )
    command("evaluate", str(folder / "Results/e/a0.5/001"), "--data", str(folder / "train.npy"), "--samples", "100")
    return folder


def command(*arguments, **more):
    return subprocess.run([os.environ["ANTLER"], *arguments], capture_output=True, text=True, check=False, **more)


def unpacked(page, identity):
    text = re.search(rf'id="{identity}">([^<]*)<', page).group(1)
    return gzip.decompress(base64.b64decode(text)).decode()


def content(page):
    return json.loads(unpacked(page, "payload"))


def test_a_run_has_its_measures_settings_provenance_and_numbers(folder):
    path = report.write(folder / "Results/e/a0.5/001")
    page = path.read_text(encoding="utf-8")
    assert path.name == "report.html"
    assert unpacked(page, "plotly").startswith("/* plotly */")
    run = antler.load_run(folder / "Results/e/a0.5/001")
    assert f"<b>{tables.measures(run)['rmse']:.4g}</b>" in page
    for expected in (
        "gtf_alpha",
        "check_interval",
        run.model.provenance,
        "<h2>Attractor</h2>",
        "<h2>The parallel solver</h2>",
    ):
        assert expected in page
    found = content(page)
    (one,) = found["runs"]
    assert one["status"] == "done" and one["solver"].startswith("Solver: deer. It took ")
    assert len(one["log"]["states_agree"]["value"]) == 3
    np.testing.assert_allclose(one["log"]["loss"], run.log["loss"], rtol=1e-4)
    truth = found["truths"][one["truth"]]
    np.testing.assert_allclose(
        truth["orbit"]["short"][2], np.load(folder / "train.npy")[: len(truth["orbit"]["short"][2]), 2], rtol=1e-4
    )
    free = run.model.generate(50, np.load(folder / "train.npy"), warmup=one["warmup"])
    np.testing.assert_allclose(np.array(one["orbit"]["short"])[:, :50].T, free, rtol=1e-4, atol=1e-4)


def test_validations_are_curves(tmp_path, folder, small):
    held = {**small, "updates": 40, "clipped": True, "validation": 0.2, "validation_interval": 20}
    (run,) = antler.train(held, np.load(folder / "train.npy"), results=str(tmp_path), verbose=False)
    (one,) = content(report.write(run.path).read_text(encoding="utf-8"))["runs"]
    for name in ("val_dstsp", "val_hellinger", "val_prediction_error"):
        assert one["log"][name]["update"] == [20, 40]
        np.testing.assert_allclose(one["log"][name]["value"], run.log[name][[2, 4]], rtol=1e-4)


def test_the_verdict_names_its_model(tmp_path, folder, small):
    held = {**small, "updates": 60, "clipped": True, "validation": 0.2, "validation_interval": 20, "seed": 4}
    (run,) = antler.train(held, np.load(folder / "train.npy"), results=str(tmp_path), verbose=False)
    best = antler.load_runs(run.path / "best.npz")[0]
    assert run.model_update == 60 and best.model_update == run.validation["update"]
    for one in (run, best):
        page = report.write(one.model_file, tmp_path / "page.html").read_text(encoding="utf-8")
        at = "" if one.model_update == 60 else f", of which the model has {one.model_update}"
        sizes = f"shplrnn (clipped): M = {small['latent_dim']}, L = {small['hidden_dim']}, N = 3"
        assert f"Model <code>{one.model_file}</code>, {sizes}, updates 60 of 60{at}, seed 4, run 1." in page


def test_an_update_that_is_none(tmp_path, folder, small):
    (run,) = antler.train({**small, "updates": 20}, np.load(folder / "train.npy"), results=str(tmp_path), verbose=False)
    with np.load(run.path / "model.npz") as found:
        arrays = dict(found)
    for update in (np.zeros(100_000, int), np.array("no"), np.zeros((2, 3))):  # of a damaged or foreign file
        np.savez_compressed(run.path / "model.npz", **{**arrays, "update": update})
        assert antler.load_run(run.path).model_update == 20


def test_the_page_asks_the_network_for_nothing(folder):
    page = report.write(folder / "Results/e/a0.5/001").read_text(encoding="utf-8")
    bare = re.sub(r'<script type="[^"]*" id="[^"]*">[^<]*</script>', "", page)
    assert not re.search(r"(src|href)\s*=|@import|url\(|fetch\(|https?://", bare)


def test_a_sweep_shows_all_runs_in_order_and_the_best_first(folder):
    page = report.write(folder / "Results/e", folder / "sweep.html").read_text(encoding="utf-8")
    found = content(page)
    assert [run["settings"]["gtf_alpha"] for run in found["runs"]] == [0.1, 0.1, 0.5, 0.5]
    assert found["varying"] == ["gtf_alpha"] and len(found["truths"]) == 1
    assert found["best"] == 2  # the only one with a D_stsp
    assert page.count('<tr class="pick"') == 4
    assert "4 runs" in page and 'id="thumbs"' in page and 'id="fig-strips"' in page


def test_a_diverged_run_is_counted_and_drawn_as_far_as_it_went(folder, tmp_path):
    shutil.copytree(folder / "Results/e/a0.5", tmp_path / "w")
    with np.load(tmp_path / "w/002/model.npz") as file:
        arrays = dict(file)
    arrays["A"], arrays["Abar"] = arrays["A"] * 0 + 0.999, arrays["Abar"] * 0 + np.float32(3.8)
    arrays["h"] = arrays["h"] + np.float32(1e6)
    np.savez(tmp_path / "w/002/model.npz", **arrays)
    (tmp_path / "w/002/diverged.txt").write_text("loss is not finite at update 60")
    page = report.write(tmp_path / "w", data=folder / "train.npy").read_text(encoding="utf-8")
    found = content(page)
    assert found["runs"][1]["diverged"] and found["runs"][1]["rows"] < 100
    assert "loss is not finite at update 60" in found["runs"][1]["status"]
    assert "2 runs, 1 diverged" in page


def test_the_model_of_a_fit_is_shown_with_its_verdict(tmp_path, small):
    np.save(tmp_path / "x.npy", antler.simulate("lorenz63", 600, dt=0.05))
    where = {"cwd": tmp_path}
    (tmp_path / "Results/x").mkdir(parents=True)
    (tmp_path / "Results/x/plan.csv").write_text("trials,runs,updates\n1,1,20\n1,1,20\n1,1,20\n")
    done = command("fit", "x.npy", "--minutes", "0.0005", "--device", "cpu", "--threads", "1", **where)
    assert done.returncode == 0, done.stderr
    assert "antler report Results/x/model.npz" in done.stdout or "antler report" not in done.stdout
    model = tmp_path / "Results/x/model.npz"
    run = antler.load_runs(model)[0]
    assert np.array_equal(run.model.W, run.best.W) and run.metrics is None
    assert run.verdict["kind"] in done.stdout
    done = command("evaluate", str(model), "--data", "x.npy", "--no-lyapunov", "--samples", "100", **where)
    assert done.returncode == 0, done.stderr
    page_path = report.write(model)
    kept, planned = run.validation["update"], run.settings["updates"]
    at = "" if kept == planned else f", of which the model has {kept}"
    assert run.model_update == kept and f"Model <code>{model}</code>" in page_path.read_text(encoding="utf-8")
    assert f"updates {planned} of {planned}{at}, seed" in page_path.read_text(encoding="utf-8")
    assert page_path == model.parent / "report.html" and page_path.is_file()
    run = antler.load_runs(model)[0]
    assert run.metrics["run"].endswith("model.npz") and "D<sub>stsp" in page_path.read_text()
    best = antler.load_runs(run.path / "best.npz")[0]
    assert best.metrics is None and np.array_equal(best.model.W, run.model.W)
    shutil.copy(model, tmp_path / "alone.npz")
    with pytest.raises(antler.exceptions.NotFoundError, match="its run is not beside it"):
        antler.load_runs(tmp_path / "alone.npz")


def test_without_data_there_is_a_sentence(folder, tmp_path):
    shutil.copytree(folder / "Results/e/a0.1/001", tmp_path / "001")
    config = (tmp_path / "001/config.yaml").read_text()
    (tmp_path / "001/config.yaml").write_text(config.replace(str(folder / "train.npy"), "gone.npy"))
    page = report.write(tmp_path / "001").read_text(encoding="utf-8")
    assert "name them by --data" in content(page)["runs"][0]["note"]
    assert "has not been evaluated" in page
    absent = content(page)["runs"][0]["absent"]
    assert absent["fig-attractor"] == absent["fig-horizon"] == "the data are not here"
    assert absent["fig-lyapunov"] == "the run has not been evaluated" and "fig-training" not in absent


@pytest.mark.parametrize("part", ["_free_part", "_horizon_part"])
def test_data_that_cannot_be_read_are_no_reason_for_a_smaller_page(folder, tmp_path, monkeypatch, capsys, part):
    """Found by tests/torture/io_errors.py: a disk that failed made a page without free run, and exit code 0."""

    def fail(*_):
        raise antler.exceptions.MachineError("train.npy: cannot be read: Input/output error")

    monkeypatch.setattr(payload, part, fail)
    out = tmp_path / "page.html"
    assert report.main([str(folder / "Results/e/a0.1/001"), "--out", str(out)]) == 3
    assert capsys.readouterr().err == "antler: train.npy: cannot be read: Input/output error\n"
    assert not out.exists()


def test_a_page_that_cannot_be_looked_at_is_one_sentence(folder, monkeypatch, capsys):
    class Gone:
        def is_file(self):
            raise OSError(5, "Input/output error", "page.html")

    monkeypatch.setattr(report, "write", lambda *_, **__: Gone())
    assert report.main([str(folder)]) == 3
    assert capsys.readouterr().err == "antler: [Errno 5] Input/output error: 'page.html'\n"


def test_a_run_that_has_just_begun(folder, tmp_path):
    (tmp_path / "001").mkdir()
    shutil.copy(folder / "Results/e/a0.1/001/config.yaml", tmp_path / "001")
    page = report.write(tmp_path / "001").read_text(encoding="utf-8")
    assert "there is no model yet" in page
    assert content(page)["runs"][0]["status"] == "not finished"


def test_names_are_escaped(folder, tmp_path):
    page = report.write(
        folder / "Results/e/a0.1/001", tmp_path / "r.html", title="<script>alert(1)</script>"
    ).read_text(encoding="utf-8")
    assert "<script>alert" not in page and "&lt;script&gt;alert" in page


def test_the_printed_command_is_quoted(folder, tmp_path):
    place = tmp_path / "it's $(touch pwned)" / "001"
    shutil.copytree(folder / "Results/e/a0.1/001", place)
    page = report.write(place, data=folder / "train.npy").read_text(encoding="utf-8")
    words = re.search(r"<code>(antler evaluate .*?) --data FILE</code>", page).group(1)
    assert shlex.split(html.unescape(words)) == ["antler", "evaluate", str(place)]


def test_the_verdict_is_on_top_and_floors_are_beside_measures(folder):
    text = report.write(folder / "Results/e/a0.5/001").read_text(encoding="utf-8")
    run = antler.load_run(folder / "Results/e/a0.5/001")
    assert 0 < text.index(html.escape(run.verdict["text"])) < text.index("<h2>Measures</h2>")
    floors = run.metrics["floors"]
    assert f"floor {floors['dstsp']:.4g}</span>" in text and f"naive forecast {floors['rmse']:.4g}</span>" in text
    sweep = report.write(folder / "Results/e", folder / "sweep.html").read_text(encoding="utf-8")
    assert re.search(r"4 runs: .*3 not judged", sweep)
    assert sweep.index(html.escape(run.verdict["text"])) < sweep.index("Median")
    assert f'<td class="n">{floors["dstsp"]:.4g}</td>' in re.search('<tr class="floors">.*', sweep).group()


def test_a_run_that_is_not_evaluated_says_so_on_top(folder):
    text = report.write(folder / "Results/e/a0.1/001", folder / "one.html").read_text(encoding="utf-8")
    assert 0 < text.index("This run has not been evaluated") < text.index("<h2>Measures</h2>")


@pytest.mark.parametrize(
    "value, error, word", [(0.01, 0.001, "positive: chaotic"), (-0.01, 0.001, "negative"), (0.001, 0.001, "zero")]
)
def test_an_exponent_is_called_what_it_is(value, error, word):
    assert page.exponent_reading(value, error).startswith(word)


def test_directions_without_forcing_are_named_beside_the_dimension(folder, tmp_path):
    place = tmp_path / "001"
    shutil.copytree(folder / "Results/e/a0.5/001", place)
    metrics = json.loads((place / "metrics.json").read_text())
    exponents = dict(exponents=[0.009, 0.0, -0.0004, -0.14], standard_error=[1e-4] * 4, spread=[1e-4] * 4, sum=-0.1314)
    unforced = [None, None, -0.0003, None]
    known = dict(kaplan_yorke=3.061, kaplan_yorke_reduced=2.064, unforced=unforced, steps=20000, dt=0.01)
    per_time = [0.9, 0.0, -0.04, -14.0]
    metrics["lyapunov"] = {**exponents, **known, "exponents_per_time": per_time}
    metrics["summary"].update(lyapunov_max=0.009, kaplan_yorke=3.061)
    (place / "metrics.json").write_text(json.dumps(metrics))
    text = report.write(place, data=folder / "train.npy").read_text(encoding="utf-8")
    assert "2.064 without a direction that the data do not force" in text and "positive: chaotic" in text
    assert "Without exponent 3: <b>2.064</b>" in text and "4 latent units for 3 variables" in text
    assert text.count("<td>not forced</td>") == 1
    metrics["lyapunov"].update(exponents=[-0.01, -0.02, -0.1, -0.14], unforced=[None] * 4, kaplan_yorke=0.0)
    metrics["summary"].update(lyapunov_max=-0.01, kaplan_yorke=0.0)
    (place / "metrics.json").write_text(json.dumps(metrics))
    text = report.write(place, data=folder / "train.npy").read_text(encoding="utf-8")
    assert "positive: chaotic" not in text and "negative: the free run settles" in text


def test_every_run_has_its_own_provenance(folder):
    found = content(report.write(folder / "Results/e", folder / "sweep.html").read_text(encoding="utf-8"))
    for run in found["runs"]:
        assert f"<td class=\"wrap\">e/{run['name']}</td>" in run["parts"]["provenance"]
        assert run["provenance"]["run"] == f"e/{run['name']}"
        assert str(run["settings"]["gtf_alpha"]) in run["parts"]["settings"]


def test_marginals_autocorrelation_and_correlations_are_those_of_all_rows(folder):
    one = folder / "Results/e/a0.5/001"
    found = content(report.write(one).read_text(encoding="utf-8"))
    true, (run,) = np.load(folder / "train.npy"), found["runs"]
    free = antler.load_run(one).model.generate(run["rows"], true, warmup=run["warmup"], inputs_end="repeat")
    truth = found["truths"][0]
    for x, statistics in ((true, truth["statistics"]), (free, run["statistics"])):
        np.testing.assert_allclose(statistics["correlations"], np.corrcoef(x.T), atol=1e-3)
        for i in range(3):
            middle, share = np.array(truth["axes"]["bins"][i]), np.array(statistics["marginals"][i])
            width = middle[1] - middle[0]
            inside = np.mean((x[:, i] > middle[0] - width / 2) & (x[:, i] < middle[-1] + width / 2))
            assert abs(share.sum() - 100 * inside) < 0.2
            assert abs(share[20] - 100 * np.mean(np.abs(x[:, i] - middle[20]) < width / 2)) < 0.2
    lags = np.rint(np.array(truth["axes"]["lags"]) / (truth["dt"] or 1)).astype(int)
    y = true[:, 1] - true[:, 1].mean()
    for k in (0, 7, len(lags) - 1):
        expected = np.mean(y[: len(y) - lags[k]] * y[lags[k] :]) / y.var()
        assert abs(truth["statistics"]["autocorrelation"][1][k] - expected) < 2e-3


def test_autocorrelation_leaves_gaps_out():
    x = np.cumsum(np.random.default_rng(3).normal(size=(400, 2)), axis=0)
    x[50:80, 0] = np.nan
    found = curves.autocorrelation(x, 30)
    deviation = x[:, 0] - np.nanmean(x[:, 0])
    expected = np.nanmean(deviation[:-9] * deviation[9:]) / np.nanmean(deviation**2)
    np.testing.assert_allclose(found[9, 0], expected, rtol=1e-9)
    assert np.isnan(curves.autocorrelation(np.ones((50, 1)), 5)).all()


def forecast_error(model, x, n, warmup):
    """PE(n) of a model and of the last row repeated, over 100 windows, in the model's units, step by step."""
    mean, scale = model.scaling
    starts = np.floor((len(x) - warmup - n - 1) * np.linspace(0, 1, 100) + 0.5).astype(int)
    model_errors, last_errors = [], []
    for start in starts:
        rows = x[start : start + warmup + 1]
        truth = (x[start + warmup + n] - mean) / scale
        forecast = (model.generate(n, rows, warmup=warmup)[-1] - mean) / scale
        model_errors.append(np.mean((forecast - truth) ** 2))
        last_errors.append(np.mean(((rows[-1] - mean) / scale - truth) ** 2))
    return np.mean(model_errors), np.mean(last_errors)


def test_the_error_against_the_horizon_is_that_of_free_runs(folder):
    found = content(report.write(folder / "Results/e/a0.5/001").read_text(encoding="utf-8"))["runs"][0]["horizon"]
    run, x = antler.load_run(folder / "Results/e/a0.5/001"), np.load(folder / "train.npy")
    linear, lags = linear_model(x, run.model.scaling)
    assert found["fitted"] == "train.npy" and found["lags"] == lags
    for n in (1, 16, 128):
        at = found["steps"].index(n)
        model_error, last_error = forecast_error(run.model, x, n, found["warmup"])
        np.testing.assert_allclose(found["model"][at], model_error, rtol=1e-3)
        np.testing.assert_allclose(found["persistence"][at], last_error, rtol=1e-3)
        np.testing.assert_allclose(found["linear"][at], forecast_error(linear, x, n, found["warmup"])[0], rtol=1e-2)
    assert found["linear"][0] < found["persistence"][0]


def test_the_linear_model_is_a_regression():
    rng = np.random.default_rng(5)
    x = np.zeros((3000, 2))
    for t in range(2, 3000):
        past = 0.9 * x[t - 1] + np.array([[0.0, 0.15], [-0.15, 0.0]]) @ x[t - 2]
        x[t] = past + 0.1 * rng.normal(size=2)
    mean, scale = np.array([0.5, -0.2]), np.array([2.0, 3.0])
    model, lags = linear_model(x, (mean, scale))
    assert lags == 2
    forecast = model.generate(1, x[:10], warmup=9)[0]
    design = np.hstack([x[1:-1], x[:-2], np.ones((2998, 1))])
    weights = np.linalg.lstsq(design, x[2:], rcond=None)[0]
    np.testing.assert_allclose(forecast, np.concatenate([x[9], x[8], [1.0]]) @ weights, atol=1e-3)
    assert linear_model(x[:3])[1] == 1  # too few rows for anything but the last row


def test_an_attractor_is_drawn_to_its_end():
    """An orbit that leaves for another place in its last tenth is seen there."""
    t = np.arange(50_000) * 0.05
    x = np.column_stack([np.sin(t), np.cos(t), np.sin(0.3 * t)])
    x[45_000:] += 1.5
    rows = np.concatenate(curves.pieces(len(x), 1200, 4))
    assert len(rows) <= 1200 and rows[0] == 0 and rows[-1] == len(x) - 1
    assert np.mean(rows > 45_000) > 0.05 and np.all(np.diff(rows) > 0)
    assert [list(piece) for piece in curves.pieces(10, 1200, 4)] == [[0, 4, 8]]
    look = payload.Look.at(tables.Orbit(x, ["a", "b", "c"]))
    picture = np.array(list(payload._picture(x, ["a", "b", "c"], look)), dtype=int).reshape(payload.PICTURE[::-1])
    assert picture[:20, 80:].any() and not picture[60:, 80:].any()
    part = payload._orbit_parts(x, ["a", "b", "c"], look, 1200)
    assert max(value for value in part["solid"][0] if value is not None) > 2 and None in part["solid"][0]


def test_a_picture_counts_every_row_and_joins_them():
    x = np.array([[0.5, 0.5], [9.5, 0.5], [np.nan, 1.0], [2.5, 7.5], [99.0, 7.5]])
    counts = curves.occupancy(x, (0.0, 10.0), (0.0, 8.0), 10, 8)
    assert counts.shape == (8, 10) and (counts[7] > 0).all() and counts[0, 2] >= 1 and counts[1:7].sum() == 0


def test_many_channels_are_maps_and_a_page_stays_small(tmp_path, small):
    rng = np.random.default_rng(1)
    x = antler.simulate("lorenz63", 4000) @ rng.normal(size=(3, 64)) + 0.1 * rng.normal(size=(4000, 64))
    np.save(tmp_path / "many.npy", x)
    changes = dict(small, latent_dim=64, data=str(tmp_path / "many.npy"), results=str(tmp_path / "Results"))
    (run,) = antler.train(changes, verbose=False)
    text = report.write(run.path).read_text(encoding="utf-8")
    found = content(text)
    one, truth = found["runs"][0], found["truths"][0]
    assert np.shape(one["statistics"]["correlations"]) == (64, 64)
    assert np.shape(truth["statistics"]["marginal_map"]) == (64, 40)
    assert len(one["statistics"]["autocorrelation_map"]) == 64 and len(truth["names"]) == 12
    np.testing.assert_allclose(truth["statistics"]["correlations"], np.corrcoef(x.T), atol=1e-3)
    packed = re.search(r'id="payload">([^<]*)<', text).group(1)
    assert len(packed) < 1_500_000 and len(re.sub(r">[^<]{10000,}<", "><", text)) < 150_000


def test_what_is_not_shown_has_a_reason(tmp_path, small):
    np.save(tmp_path / "x.npy", antler.simulate("lorenz63", 90)[:, :1])
    changes = dict(small, sequence_length=20, data=str(tmp_path / "x.npy"), results=str(tmp_path / "Results"))
    (run,) = antler.train(changes, verbose=False)
    (one,) = content(report.write(run.path).read_text(encoding="utf-8"))["runs"]
    assert one["absent"]["fig-correlations"] == "the data have a single variable"
    assert "200 rows" in one["absent"]["fig-spectra"] and one["absent"]["fig-lyapunov"]
    assert not set(one["absent"]) & {"fig-attractor", "fig-series", "fig-training", "fig-horizon"}


def test_a_link_is_followed_where_it_is_named_and_a_pipe_is_kept(folder, tmp_path):
    run = tmp_path / "001"
    shutil.copytree(folder / "Results/e/a0.1/001", run)
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "link.html").symlink_to("target.html")
    (run / "report.html").symlink_to(tmp_path / "precious")
    report.write(run, tmp_path / "link.html", data=folder / "train.npy")
    assert (tmp_path / "link.html").is_symlink() and "<html" in (tmp_path / "target.html").read_text()
    report.write(run, data=folder / "train.npy")
    assert (tmp_path / "precious").read_text() == "precious" and not (run / "report.html").is_symlink()
    page = command("report", str(run), "--data", str(folder / "train.npy"), "--out", "/dev/stdout")
    assert page.returncode == 0 and page.stdout.lower().startswith("<!doctype html>") and os.path.exists("/dev/stdout")
    model = antler.load_run(run).model
    (tmp_path / "link.npz").symlink_to("model.npz")
    model.save(tmp_path / "link.npz")
    assert (tmp_path / "link.npz").is_symlink() and (tmp_path / "model.npz").is_file()


def test_control_characters_do_not_reach_the_terminal(tmp_path):
    failed = command("report", str(tmp_path / "a\033[31mb\n"))
    assert failed.returncode == 2 and "\033" not in failed.stderr and failed.stderr.count("\n") == 1


def test_one_and_two_variables_are_unfolded_by_delays():
    x = np.arange(40.0)[:, None]
    space, names = payload.solid(x, ["x"], 5)
    assert names == ["x", "x(t − 5)", "x(t − 10)"] and list(space[0]) == [10, 5, 0]
    space, names = payload.solid(np.hstack([x, -x]), ["x", "y"], 5)
    assert names == ["x", "y", "x(t − 5)"] and list(space[0]) == [10, -10, 5]


def test_numbers_are_json():
    assert payload.numbers([1.23456789, np.nan, -np.inf]) == [1.2346, None, None]


def test_the_command(folder, tmp_path, library):
    out = tmp_path / "page.html"
    done = command("report", str(folder / "Results/e"), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{out}: ") and out.stat().st_size > 10000
    assert "RUN|SWEEP" in command("report", "--help").stdout
    for arguments, sentence in (
        (["nowhere"], "holds no run"),
        ([str(folder / "Results/e"), "--data", "no.npy"], "no.npy"),
    ):
        failed = command("report", *arguments)
        assert failed.returncode == 2 and failed.stderr.startswith("antler: ") and sentence in failed.stderr
        assert failed.stderr.count("\n") == 1
    missing = command(
        "report", str(folder / "Results/e"), env={**os.environ, "ANTLER_PLOTLY_JS": str(tmp_path / "none.js")}
    )
    assert (
        missing.returncode == 2 and "plotly.js" in missing.stderr and "apt-get install python3-plotly" in missing.stderr
    )
    assert not (tmp_path / "none.html").exists() and [path.name for path in tmp_path.iterdir()] == ["page.html"]
