"""Ctrl-C, and other Python threads, while the library is at work."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import antler

PYTHON = Path(__file__).resolve().parents[2] / "python"


def run_and_interrupt(code, folder, signal_number=signal.SIGINT):
    """Run Python code; when it says "ready", send it a signal."""
    environment = dict(os.environ)
    if not environment.get("ANTLER_INSTALLED"):
        environment["PYTHONPATH"] = str(PYTHON)
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        cwd=folder, env=environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also where the tests run in the background
    )  # fmt: skip
    for line in process.stdout:
        if line.strip() == "ready":
            break
    process.send_signal(signal_number)
    try:
        out, errors = process.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, out, errors


def test_ctrl_c_in_memory_stops_keeps_the_model_and_resumes(tmp_path):
    code, out, errors = run_and_interrupt(
        """
        import antler, numpy as np
        x = antler.simulate("lorenz63", 2000)
        settings = dict(updates=10**9, latent_dim=4, hidden_dim=8, sequence_length=20, log_interval=50, verbose=False)
        settings.update(validation=0.0)
        model = antler.Reconstructor(**settings)
        try:
            model.fit(x, callback=lambda row: print("ready") if row["update"] == 50 else None)
        except KeyboardInterrupt:
            print("stopped", model.model_.W.shape, model.log_["update"][0])
            model.resume(callback=lambda row: True)
            print("resumed", model.log_["update"][-1] > 50)
        """,
        tmp_path,
    )
    assert (code, errors) == (0, "")
    assert out.splitlines() == ["stopped (4, 8) 1", "resumed True"]


def test_ctrl_c_on_disk_leaves_a_checkpoint(tmp_path):
    code, out, errors = run_and_interrupt(
        """
        import antler
        x = antler.simulate("lorenz63", 2000)
        settings = dict(updates=10**9, latent_dim=4, hidden_dim=8, sequence_length=20, log_interval=50)
        settings.update(runs=2, threads=2, validation=0.0)
        begun = set()
        def look(row):
            if row["run"] not in begun:
                begun.add(row["run"])
                if len(begun) == 2:  # a run that was stopped before it began has nothing to leave
                    print("ready")
        antler.train(settings, x, verbose=False, callback=look)
        """,
        tmp_path,
    )
    assert "KeyboardInterrupt" in errors and code != 0
    for run in antler.load_runs(tmp_path / "Results"):
        assert len(run.checkpoints) >= 1 and run.model.latent_dim == 4


@pytest.mark.parametrize(
    "call",
    [
        'antler.simulate("lorenz63", 10**8)',
        "model.generate(10**8)",
        "model.lyapunov_spectrum(steps=10**8)",
        "antler.measures.dstsp(x, x, samples=10**7)",
    ],
)
def test_ctrl_c_stops_every_long_call(tmp_path, call):
    code, out, errors = run_and_interrupt(
        f"""
        import antler, threading, time
        x = antler.simulate("lorenz63", 20_000)
        model = antler.Model.from_arrays([0.5] * 4, [[1e-3] * 40] * 4, [[0.1] * 4] * 40, [1] * 40, [0.1] * 4, [[1] * 4])
        threading.Timer(0.3, lambda: print("ready")).start()
        begin = time.monotonic()
        try:
            {call}
        except KeyboardInterrupt:
            print("stopped", time.monotonic() - begin < 30)
        """,
        tmp_path,
    )
    assert (code, errors) == (0, "")
    assert out.splitlines() == ["stopped True"]


def test_sigusr1_writes_a_checkpoint_and_goes_on(tmp_path):
    code, out, errors = run_and_interrupt(
        """
        import antler, os, signal, time
        x = antler.simulate("lorenz63", 2000)
        def watch(row):
            if row["update"] == 50:
                print("ready")
            if row["update"] > 50:
                time.sleep(0.01)
            return row["update"] > 50 and os.path.exists("r/e/n/001/model.npz")
        settings = dict(updates=10**6, checkpoint_interval=10**6, latent_dim=4, hidden_dim=8, sequence_length=20)
        settings.update(log_interval=50, validation=0.0, verbose=False, results="r", experiment="e", name="n")
        antler.Reconstructor(**settings).fit(x, callback=watch)
        print(signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL)
        """,
        tmp_path,
        signal.SIGUSR1,
    )
    assert (code, errors) == (0, "")
    assert out.splitlines() == ["True"]


def test_other_threads_run_while_the_library_works(lorenz, small):
    """With the GIL held, the counting thread would stand still until fit is done."""
    counted = [0]
    done = threading.Event()

    def count():
        while not done.is_set():
            counted[0] += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    seen = []
    try:
        settings = {**small, "updates": 10**9, "log_interval": 100}
        begin = time.monotonic()

        def enough(row):
            seen.append(counted[0])
            return counted[0] - seen[0] >= 50 or time.monotonic() - begin > 60

        antler.Reconstructor(**settings, verbose=False).fit(lorenz, callback=enough)
    finally:
        done.set()
        thread.join()
    assert seen[-1] - seen[0] >= 50


def test_two_fits_in_two_threads_are_those_of_one(lorenz, small):
    def fit(seed, models):
        models[seed] = antler.Reconstructor(**small, random_state=seed, verbose=False).fit(lorenz).model_

    alone, together = {}, {}
    for seed in (1, 2):
        fit(seed, alone)
    threads = [threading.Thread(target=fit, args=(seed, together)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for seed in (1, 2):
        for name, value in alone[seed].parameters.items():
            np.testing.assert_array_equal(value, together[seed].parameters[name])


def test_sentences_belong_to_their_thread(small):
    """Faults of two threads at once do not mix up."""
    wrong = []

    def work(name):
        for _ in range(200):
            try:
                antler.simulate(name, 5)
            except antler.exceptions.NotFoundError as error:
                if name not in str(error):
                    wrong.append(str(error))

    threads = [threading.Thread(target=work, args=(name,)) for name in ("lorenz64", "rosler")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
