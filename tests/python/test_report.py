"""The report as a file: what is in the page, and what is said when something is missing."""

import base64
import gzip
import json
import os
import re
import shutil
import subprocess

import numpy as np
import pytest

import antler
from antler import report, tables
from antler.report import payload


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


def test_without_data_there_is_a_sentence(folder, tmp_path):
    shutil.copytree(folder / "Results/e/a0.1/001", tmp_path / "001")
    config = (tmp_path / "001/config.yaml").read_text()
    (tmp_path / "001/config.yaml").write_text(config.replace(str(folder / "train.npy"), "gone.npy"))
    page = report.write(tmp_path / "001").read_text(encoding="utf-8")
    assert "name them by --data" in content(page)["runs"][0]["note"]
    assert "has not been evaluated" in page and 'id="fig-attractor"' not in page and 'id="fig-training"' in page


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
