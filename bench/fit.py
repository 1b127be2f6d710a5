#!/usr/bin/env python3
"""What training from Python costs beside the command, on the same settings, and how fast a model runs free.

    bench/fit.py [--rounds 7] [--updates 2000] [--antler build/antler]

Command and package train by turns, so that a change of the machine's load hits both. Both times are whole: from
nothing to a model, data and files included. The last line is JSON.
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


def seconds(action):
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def train_both(options, folder):
    """Pairs of times, in seconds: (command, package in memory, package on disk)."""
    x = antler.simulate("lorenz63", 20_000)
    np.save(folder / "x.npy", x)
    settings = dict(updates=options.updates, threads=options.threads, log_interval=100)
    lines = ["data: x.npy", *(f"{name}: {value}" for name, value in settings.items())]
    (folder / "run.yaml").write_text("\n".join(lines) + "\n")
    command = [os.path.abspath(options.antler), "train", "run.yaml", "--quiet", "--overwrite"]
    model = antler.Reconstructor(**settings, verbose=False)
    disk = antler.Reconstructor(**settings, verbose=False, results=str(folder / "python"))
    found = []
    for turn in range(options.rounds + 1):
        times = (
            seconds(lambda: subprocess.run(command, cwd=folder, check=True)),
            seconds(lambda: model.fit(x)),
            seconds(lambda: disk.fit(x, overwrite=True)),
        )
        found += [times] if turn > 0 else []  # the first warms caches
    same = antler.Model.load(folder / "Results" / "experiment" / "run" / "001")
    assert all(np.array_equal(same.parameters[name], model.model_.parameters[name]) for name in same.parameters)
    return found, model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--updates", type=int, default=2000)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--antler", default=str(HERE / "build" / "antler"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        times, model = train_both(options, Path(folder))
    command, memory, disk = (statistics.median(column) for column in zip(*times))
    runs = [seconds(lambda: model.generate(options.steps)) for _ in range(options.rounds)]
    print(antler.build_info())
    print(f"{options.updates} updates on {options.threads} thread(s); median of {options.rounds} rounds, by turns")
    print(f"  antler train                       {command:8.3f} s")
    print(f"  Reconstructor.fit                  {memory:8.3f} s   {100 * (memory / command - 1):+.1f} %")
    print(f"  Reconstructor.fit, results on disk {disk:8.3f} s   {100 * (disk / command - 1):+.1f} %")
    middle = statistics.median(runs)
    print(f"generate, {options.steps} steps, M = 5, L = 50: best {min(runs):.3f} s, median {middle:.3f} s")
    print(json.dumps(dict(command=command, fit=memory, fit_on_disk=disk, generate=min(runs))))


if __name__ == "__main__":
    main()
