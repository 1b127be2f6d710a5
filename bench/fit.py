#!/usr/bin/env python3
"""What training from Python costs beside the command, on the same settings, and how fast a model runs free.

    bench/fit.py [--rounds 7] [--updates 2000] [--antler build/antler]

Command and package train by turns, so that a change of the machine's load hits both; processor time, which does not
count what others do, stands beside the time on the clock. Both are whole: from nothing to a model, data and files
included. The last line is JSON.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HERE / "python"))

import numpy as np  # noqa: E402

import antler  # noqa: E402


def spent(action):
    """(seconds on the clock, seconds of all processors) of this process and its children."""
    begin = os.times()
    action()
    end = os.times()
    return end.elapsed - begin.elapsed, sum(end[:4]) - sum(begin[:4])


def precise(action):
    """The same for short actions of this process alone, with finer clocks."""
    begin = time.perf_counter(), time.process_time()
    action()
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def train_by_turns(options, folder):
    """Times of (command, package in memory, package on disk), one row per round."""
    x = antler.simulate("lorenz63", 20_000)
    np.save(folder / "x.npy", x)
    settings = dict(updates=options.updates, threads=options.threads, log_interval=100)
    settings.update(kappa=0.9995, gtf_alpha=0.15, start_lr=1e-3, validation=0.0)
    lines = ["data: x.npy", *(f"{name}: {value}" for name, value in settings.items())]
    (folder / "run.yaml").write_text("\n".join(lines) + "\n")
    command = [os.path.abspath(options.antler), "train", "run.yaml", "--quiet", "--overwrite"]
    model = antler.Reconstructor(**settings, verbose=False)
    disk = antler.Reconstructor(**settings, verbose=False, results=str(folder / "python"))
    found = []
    for turn in range(options.rounds + 1):
        times = (
            spent(lambda: subprocess.run(command, cwd=folder, check=True)),
            spent(lambda: model.fit(x)),
            spent(lambda: disk.fit(x, overwrite=True)),
        )
        found += [times] if turn > 0 else []  # the first warms caches
    same = antler.Model.load(folder / "Results" / "experiment" / "run" / "001")
    assert all(np.array_equal(same.parameters[name], model.model_.parameters[name]) for name in same.parameters)
    return found


def free_runs(options):
    """A contracting model of M = 5, L = 50: what a step costs does not depend on the parameters."""
    rng = np.random.default_rng(0)
    model = antler.Model.from_arrays(
        A=rng.uniform(0.5, 0.9, 5), W=1e-3 * rng.standard_normal((5, 50)), V=rng.standard_normal((50, 5)),
        b=rng.standard_normal(50), h=rng.standard_normal(5), B=np.eye(3, 5), mean=np.zeros(3), scale=np.ones(3),
    )  # fmt: skip
    return [precise(lambda: model.generate(options.steps)) for _ in range(options.rounds + 1)][1:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--antler", default=str(HERE / "build" / "antler"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rounds = train_by_turns(options, Path(folder))
    names = ("antler train", "Reconstructor.fit", "Reconstructor.fit, results on disk")
    clock, processor = (
        [statistics.median(one[which][kind] for one in rounds) for which in range(3)] for kind in range(2)
    )
    print(antler.build_info())
    print(f"{options.updates} updates on {options.threads} thread(s); median of {options.rounds} rounds, by turns")
    for name, wall, work in zip(names, clock, processor):
        more = f"{100 * (wall / clock[0] - 1):+6.1f} %", f"{100 * (work / processor[0] - 1):+6.1f} %"
        print(f"  {name:36} clock {wall:7.3f} s {more[0]}   processor {work:7.3f} s {more[1]}")
    runs = free_runs(options)
    wall, work = (statistics.median(one[kind] for one in runs) for kind in range(2))
    print(f"generate, {options.steps} steps, M = 5, L = 50: clock {wall:.3f} s, processor {work:.3f} s")
    print(json.dumps(dict(zip(("command", "fit", "fit_on_disk", "generate"), [*processor, work]))))


if __name__ == "__main__":
    main()
