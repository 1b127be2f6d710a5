"""experiments/paper at its smallest scale: results, a second call, a stopped training, the page."""

import json
import math
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

PAPER = Path(__file__).resolve().parents[2] / "experiments" / "paper"
pytest.importorskip("matplotlib")
sys.path.insert(0, str(PAPER))

import paper  # noqa: E402
import sections  # noqa: E402
import tasks  # noqa: E402
import training  # noqa: E402

FIELDS = {"figure", "point", "run", "seed", "scale", "machine", "device", "commit", "date", "settings", "measures",
          "seconds", "runs_together"}  # fmt: skip
TITLES = ("Fig. 1A", "Fig. 1B", "Fig. 2", "Figs. 3A and A3", "The search", "Figs. 3B and A2", "Figs. 3C and A1",
          "Numbers of the text", "The floor", "a million steps", "adaptive strength", "scheduled sampling")  # fmt: skip


def call(folder, *arguments, figures=tuple(paper.MODULES)):
    command = [sys.executable, PAPER / "paper.py", *figures, "--scale", "smoke", *arguments]
    places = ["--results", folder / "results", "--work", folder / "work", "--page", folder / "page"]
    done = subprocess.run([*map(str, [*command, *places])], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """All figures, and what the call said."""
    folder = tmp_path_factory.mktemp("paper")
    line = "M=%4d T=%6d loss=0.0100 newton=%3d deer=%9.3f ms seq=%10.2f ms speedup=%8.1f graderr=1e-6"
    (folder / "bench_peer.py").write_text(
        "import os\n" + "for T in os.environ['TS'].split(','):\n"
        f"    print({line!r} % (int(os.environ['MS']), int(T), 4, 2.1, 728.0, 346.7))\n"
    )
    return folder, call(folder, "--peer", str(folder))


def results(folder):
    return sorted((folder / "results").glob("*/*/*.json"))


def test_every_task_leaves_a_result_with_all_fields(whole):
    folder, said = whole
    assert said.splitlines()[-1].endswith(" 0 are not")
    found = [json.loads(path.read_text()) for path in results(folder)]
    assert {result["figure"] for result in found} == set(paper.MODULES)
    for result in found:
        assert set(result) == FIELDS
        assert result["scale"] == "smoke" and result["seconds"] >= 0 and result["measures"]
    judged = [result["measures"] for result in found if "dstsp" in result["measures"]]
    assert len(judged) > 20 and all(float(measures["dstsp"]) == float(measures["dstsp"]) for measures in judged)


def test_a_second_call_computes_nothing_and_a_lost_task_alone_is_made_again(whole):
    folder, _ = whole
    before = {path: path.stat().st_mtime_ns for path in results(folder)}
    said = call(folder, "--no-page", "--peer", str(folder))
    assert not [line for line in said.splitlines() if line.endswith(" s")]
    assert {path: path.stat().st_mtime_ns for path in results(folder)} == before
    lost = next(path for path in before if path.parent.name == "floor")
    lost.unlink()
    assert len([line for line in call(folder, "--no-page").splitlines() if line.endswith(" s")]) == 1
    after = {path: path.stat().st_mtime_ns for path in results(folder)}
    assert {path for path in after if after[path] != before[path]} == {lost}


def test_the_page_has_every_figure_with_numbers(whole):
    folder, _ = whole
    markdown, html = ((folder / "page" / name).read_text() for name in ("index.md", "index.html"))
    for title in TITLES:
        assert title in markdown and title in html
    assert "no run yet" not in markdown and "Incomplete" not in markdown
    assert "This is the smoke scale" in markdown
    assert "**supported**" not in markdown and "**contradicted**" not in markdown  # this scale proves nothing
    assert "JAX lax.scan, same call" in html
    assert "0.27 ± 0.02" in markdown and "(8.7 ± 3.8)e-3" in markdown and "870" in markdown
    assert max(len(line) for line in markdown.splitlines() if line[:1] != "|") <= 120
    for name in ("fig1a", "fig1b", "fig2", "fig3a", "fig3b", "figA2", "fig3c", "floor", "scheduled"):
        assert f"({name}.svg)" in markdown and (folder / "page" / f"{name}.svg").stat().st_size > 5_000
    assert sum(path.stat().st_size for path in (folder / "page").iterdir()) < 3_000_000


def test_a_page_without_results_does_not_pretend(tmp_path):
    call(tmp_path, "--only-page", figures=("1a", "2", "3b", "text"))
    text = (tmp_path / "page" / "index.md").read_text()
    assert "Incomplete" in text and "no run yet" in text and "0 of 1" in text
    assert "**supported**" not in text and "**contradicted**" not in text


def context(folder, minutes=10.0):
    return tasks.Context(Path(os.environ["ANTLER"]), "smoke", folder / "work", folder / "results", minutes, 1, None)


def test_a_stopped_training_continues_to_the_same_bytes(tmp_path):
    settings = {"latent_dim": 3, "hidden_dim": 8, "sequence_length": 20, "batch_size": 2, "kappa": 0.9, "threads": 1,
                "start_lr": 1e-3, "updates": 100_000, "checkpoint_interval": 2500}  # fmt: skip
    task = tasks.Task("2", "stopped", settings, lambda c, p: [])
    whole, c = context(tmp_path / "whole"), context(tmp_path / "stopped")
    data = {"data": training.training_orbit(whole, "lorenz63")}
    (expected,) = training.train(whole, task, {**data, **settings})
    checkpoints = training.folder_of(c, task) / "Results/2/stopped/001/checkpoints"
    for seconds in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2):  # as slow as the machine needs
        c.end = time.monotonic() + seconds
        with pytest.raises(tasks.TimeIsOver):
            training.train(c, task, {**data, **settings})
        if checkpoints.exists() and list(checkpoints.iterdir()):
            break
    begun = (checkpoints.parent / "config.yaml").stat().st_mtime_ns
    c.end = time.monotonic() + 600
    (run,) = training.train(c, task, {**data, **settings})
    assert (run / "config.yaml").stat().st_mtime_ns == begun
    assert (run / "model.npz").read_bytes() == (expected / "model.npz").read_bytes()


def test_results_are_kept_by_machine_and_seed(tmp_path):
    stand_in = tmp_path / "antler"
    row = "%6d  %-28s %10d.%d %8d %12.1f %12.1f" % (0, "NVIDIA H200", 9, 0, 132, 150.1, 149.0)
    stand_in.write_text(f"#!/bin/sh\n[ $1 = info ] && echo '{row}' || echo 'antler 0.1.0 (0123abc), GNU'\n")
    stand_in.chmod(0o755)
    c = tasks.Context(stand_in, "full", tmp_path, tmp_path / "results", 1.0, 2, None)
    assert (c.device, c.machine, c.commit) == ("cuda", "NVIDIA H200", "0123abc")
    assert c.store.folder.name == "nvidia-h200-seed2"
    assert context(tmp_path).store.folder.name.startswith(("nvidia", f"{len(os.sched_getaffinity(0))}-cores-of"))


def test_trainings_that_need_the_cpu_run_beside_those_of_a_gpu(tmp_path):
    c = context(tmp_path)
    c.gpu, c.device = "a GPU", "cuda"
    met = threading.Barrier(2, timeout=30)  # neither task ends before the other has begun

    def work(c, task):
        met.wait()
        return [{"met": True}]

    plans = {"2": [tasks.Task("2", "on-gpu", {}, work), tasks.Task("2", "on-cpu", {"adjoint": "diagonal"}, work)]}
    assert paper.compute(c, plans) == 0 and len(results(tmp_path)) == 2

    def stopped(c, task):
        raise KeyboardInterrupt

    def endless(c, task):
        c.call("sleep", "600")

    by_cpu = tasks.Task("2", "endless", {"adjoint": "diagonal"}, endless)
    plans = {"2": [tasks.Task("2", "stopped", {}, stopped), by_cpu]}
    with pytest.raises(KeyboardInterrupt):
        paper.compute(c, plans)
    assert len(results(tmp_path)) == 2


def test_a_task_that_fails_is_reported_and_the_others_are_made(tmp_path, capsys):
    c = context(tmp_path)
    bad = tasks.Task("2", "bad", {}, lambda c, task: c.run("simulate", "lorenz36"))
    good = tasks.Task("2", "good", {}, lambda c, task: [{"fine": True}], order=1)
    assert paper.compute(c, {"2": [bad, good]}) == 1 and len(results(tmp_path)) == 1
    assert "2 bad: Failed: " in capsys.readouterr().err


def test_results_of_other_settings_and_seeds_do_not_count(tmp_path):
    c = context(tmp_path)
    task = tasks.Task("2", "point", {"updates": 10}, lambda c, p: [], runs=2)
    c.store.keep(c, task, [{"dstsp": 1.0}, {"dstsp": math.inf}], 3.0)
    assert c.store.done(task) and c.store.find(task, 2)["measures"]["dstsp"] == math.inf
    assert not c.store.done(tasks.Task("2", "point", {"updates": 20}, lambda c, p: [], runs=2))
    assert not c.store.done(tasks.Task("2", "point", {"updates": 10}, lambda c, p: [], runs=2, seed=2))
    assert not c.store.done(tasks.Task("2", "point", {"updates": 10}, lambda c, p: [], runs=3))


def test_statistics_count_diverged_runs_and_verdicts_need_five(tmp_path):
    assert sections.median([1.0, math.inf, 3.0]) == 3.0 and sections.median([1.0, math.inf]) == math.inf
    assert sections.mad([1.0, 2.0, 4.0]) == 1.0 and sections.spread([math.inf, math.inf, 1.0]) == "diverged"
    c = context(tmp_path)
    c.scale = "full"
    for runs, expected in ((4, None), (5, True)):
        task = tasks.Task("2", f"of{runs}", {}, lambda c, p: [], runs=10)
        part = tasks.Task("2", f"of{runs}", {}, lambda c, p: [], runs=runs)
        c.store.keep(c, part, [{"dstsp": 1.0}] * runs, 1.0)
        view = sections.View(c, [task], tmp_path)
        assert view.verdict([f"of{runs}"], True) is expected and view.runs(f"of{runs}") == f"{runs} of 10"
    c.scale = "quick"
    assert view.verdict(["of5"], True) is None


def test_values_at_and_below_zero_are_drawn(tmp_path):
    figure, ((axes,),) = sections.new_figure()
    for values in ([-1e-4, -2e-4], [0.0, 0.0], [1.0, math.inf], [math.inf], []):
        sections.strip(axes, 0, values, "k", sections.top_of(values))
        sections.logarithmic(axes)
    figure.savefig(tmp_path / "strip.svg")


def test_every_setting_of_the_full_scale_is_accepted(tmp_path):
    """By antler train --check, with short windows; exit code 3: there is no GPU here."""
    c = context(tmp_path)
    c.scale = "full"
    import importlib

    kinds = {}
    for name in paper.MODULES.values():
        for task in importlib.import_module(name).tasks(c):
            if "hidden_dim" in task.settings:
                known = {k: v for k, v in task.settings.items() if k not in ("solve_length", "alphas", "wide")}
                kinds.setdefault(json.dumps({**known, "sequence_length": 20, "warmup": 0}, sort_keys=True), known)
    data = training.orbit(SimpleNamespace(work=tmp_path, run=context(tmp_path).run), "lorenz96", 1, 200)
    assert len(kinds) > 30
    for text in kinds:
        settings = {**json.loads(text), "batch_size": 1, "data": data, "validation": 0}
        (tmp_path / "run.yaml").write_text("".join(f"{k}: {training.yaml(v)}\n" for k, v in settings.items()))
        c.run("train", "run.yaml", "--check", "--quiet", cwd=tmp_path)
        device = training.device_of(SimpleNamespace(device="cuda"), settings)
        c.run("train", "run.yaml", "--check", "--quiet", "--set", f"device={device}", cwd=tmp_path, accept=(0, 3))
