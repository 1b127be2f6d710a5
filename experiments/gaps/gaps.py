#!/usr/bin/env python3
"""gaps.py FOLDER - Lorenz-63 with missing values: D_stsp of models that are trained through gaps (spec 12).

Training data are 100,000 rows with 5 % noise, of which some are lost; the test orbit is clean and complete. Everything
is in double, with fixed seeds. FOLDER/gaps.csv gets one row per kind of loss and seed; what it has already is not
computed again. `parallel` is the largest relative difference between the gradients of `deer`, `sequential` and
`shooting` and those of plain loops, on windows of the same data.
"""

import argparse
import csv
import os
import statistics

import numpy as np

import antler

ROWS, TEST_ROWS = 100000, 10000
SEEDS = (1, 2, 3)
COLUMNS = ("loss", "seed", "missing", "dstsp", "hellinger", "prediction_error", "parallel")
SETTINGS = dict(
    latent_dim=5, hidden_dim=50, sequence_length=200, batch_size=16, gtf_alpha=0.5, start_lr=2e-3, end_lr=1e-6,
    precision="double", validation=0, device="cpu",
)  # fmt: skip


def full(x, rng):
    """Nothing is lost."""


def bursts(x, rng):
    """70 % of the rows, in bursts of 20 to 50 rows after 5 to 25 rows that stay; the Lyapunov time is 110 rows."""
    first = 0
    while first < len(x):
        first += rng.integers(5, 26)
        length = rng.integers(20, 51)
        x[first : first + length] = np.nan
        first += length


def overlapping(x, rng):
    """70 % of the rows, in bursts of 20 to 60 rows that begin anywhere: gaps of up to several Lyapunov times."""
    while np.isnan(x[:, 0]).mean() < 0.7:
        first = rng.integers(0, len(x))
        x[first : first + rng.integers(20, 61)] = np.nan


def dead(x, rng):
    """One variable of three for half of the time, in stretches of 500 rows."""
    for first in range(0, len(x), 1000):
        x[first : first + 500, 1] = np.nan


def values(x, rng):
    """30 % of all values, each by itself."""
    x[rng.random(x.shape) < 0.3] = np.nan


LOSSES = {"full": full, "bursts": bursts, "dead": dead, "values": values, "overlapping": overlapping}


def differences(model, x):
    """How far two parallel solvers are from plain loops, on windows of the standardised data."""
    x = (x - np.nanmean(x, 0)) / np.nanstd(x, 0)
    windows = np.stack([x[i : i + 301] for i in (200, 2500, 7100, 12345)])
    want = antler.solve(model, windows, solver="reference", gtf_alpha=0.5)
    found = []
    for solver in ("deer", "sequential", "shooting"):
        got = antler.solve(model, windows, solver=solver, gtf_alpha=0.5)
        size = max(np.abs(g).max() for g in want.gradient.values())
        found += [np.abs(got.gradient[k] - want.gradient[k]).max() / size for k in want.gradient]
    return max(found)


def measure(loss, seed, updates):
    x = antler.simulate("lorenz63", ROWS, noise=0.05, seed=seed)
    test = antler.simulate("lorenz63", TEST_ROWS, seed=1000 + seed)
    LOSSES[loss](x, np.random.default_rng(seed))
    model = antler.Reconstructor(**SETTINGS, updates=updates, random_state=seed, verbose=False).fit(x).model_
    found = model.evaluate(test, samples=5000, windows=50, lyapunov=False, verdict=False).summary()
    return [loss, seed, f"{np.isnan(x).mean():.3f}", *(f"{found[name]:.4g}" for name in COLUMNS[3:6]),
            f"{differences(model, x):.1e}"]  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder")
    parser.add_argument("--updates", type=int, default=20000)
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    options = parser.parse_args()
    path = os.path.join(options.folder, "gaps.csv")
    os.makedirs(options.folder, exist_ok=True)
    if not os.path.exists(path):
        with open(path, "w", newline="") as file:
            csv.writer(file).writerow(COLUMNS)
    with open(path, newline="") as file:
        done = {(row["loss"], row["seed"]) for row in csv.DictReader(file)}
    for seed in options.seeds:
        for loss in LOSSES:
            if (loss, str(seed)) not in done:
                row = measure(loss, seed, options.updates)
                with open(path, "a", newline="") as file:
                    csv.writer(file).writerow(row)
                print(*row, flush=True)
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    for loss in {row["loss"]: None for row in rows}:
        print(loss, "median D_stsp", statistics.median(float(r["dstsp"]) for r in rows if r["loss"] == loss))


if __name__ == "__main__":
    main()
