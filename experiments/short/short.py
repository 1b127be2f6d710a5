#!/usr/bin/env python3
"""short.py FOLDER - forecasts of 300 rows from 512 rows of chaotic flows; valid prediction time (spec 13).

Rows lie 1/30 of a Lyapunov time apart. Every method gets the same 512 rows, standardised by their own mean and
deviation, and returns the 300 rows that follow. FOLDER/forecasts.csv gets one row per method, flow and start; what it
has already is not computed again.
"""

import argparse
import csv
import os
import statistics
import sys
import time
import warnings

import numpy as np

import antler
from antler import measures

ROWS_PER_LYAPUNOV_TIME = 30
CONTEXT = 512
PREDICTED = 300
HELD_BACK = 60  # last rows of the context, on which networks are compared
CHECKED = 30  # rows of each forecast there
FLOWS = (
    "lorenz63", "roessler", "burke_shaw", "chen", "chua", "dadras", "halvorsen", "hyperroessler", "lorenz84",
    "rucklidge", "sprott_b", "thomas",
)  # fmt: skip
COLUMNS = ("method", "flow", "start", "valid_time", "seconds", "note")


def rows_of(flow, start):
    """Context and the rows after it, in units of the context. The seed of start k is k."""
    dt = 1 / (ROWS_PER_LYAPUNOV_TIME * antler.systems()[flow].lyapunov)
    x = antler.simulate(flow, CONTEXT + PREDICTED, dt=dt, seed=start, all_variables=True)
    x = (x - x[:CONTEXT].mean(0)) / x[:CONTEXT].std(0)
    return x[:CONTEXT], x[CONTEXT:]


def held_back_error(forecast, context):
    """Median RMSE of forecasts that begin within the rows held back; forecast(rows, steps) continues the rows."""
    errors = []
    for end in range(CONTEXT - HELD_BACK, CONTEXT - CHECKED + 1, 3):
        ahead = forecast(context[:end], CHECKED)
        errors.append(np.sqrt(np.mean((ahead - context[end : end + CHECKED]) ** 2)))
    return float(np.median(np.nan_to_num(errors, nan=np.inf)))


def free_run(model, rows, steps):
    """The rows after the last of `rows`; those from a divergence on are NaN."""
    try:
        return np.asarray(model.generate(steps, context=rows[-1:], warmup=0))
    except antler.exceptions.DivergedError as error:
        found = np.full((steps, rows.shape[1]), np.nan)
        found[: len(error.partial)] = error.partial
        return found


# ---- methods: each takes the context (512, N) and a seed, and returns 300 rows and a note ---------------------------


def between(rows):
    """Rows at half the distance: those given, and between two of them the polynomial through the eight nearest."""
    count, points = len(rows), 8
    at = np.arange(2 * count - 1) / 2
    first = np.clip(np.floor(at).astype(int) - points // 2 + 1, 0, count - points)
    weights = np.ones((len(at), points))  # of Lagrange
    for own in range(points):
        for other in set(range(points)) - {own}:
            weights[:, own] *= (at - first - other) / (own - other)
    return np.einsum("tp,tpn->tn", weights, rows[first[:, None] + np.arange(points)])


def smooth_enough(rows):
    """Whether every second row tells the rows between, with an RMSE below 0.3 standard deviations."""
    found = between(rows[::2])
    return np.sqrt(np.mean((found - rows[: len(found)]) ** 2)) < 0.3


def train_antler(rows, seed):
    """Runs, trained on these rows alone. This is the one place that decides how Antler trains."""
    trained = antler.Reconstructor(
        latent_dim=rows.shape[1], hidden_dim=250, initialisation="standard", sequence_length=10, gtf_alpha=0.3,
        batch_size=16, updates=20_000, start_lr=1e-2, runs=4, threads=1, device="cpu", standardise=False,
        validation=0.0, random_state=seed, verbose=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", antler.DivergenceWarning)
        trained.fit(rows)
    losses = [log["loss"][-1] for log in trained.logs_]
    return [model for model, loss in zip(trained.models_, losses) if loss < 10 * np.nanmin(losses)]


def mean_model(models):
    """The shPLRNN whose step is the mean of the steps of the models, which have as many units as variables.

    Its states are the observations. The linear part, K x, is K phi(x) - K phi(-x).
    """
    N, share = models[0].dim, 1 / len(models)
    backs = [np.linalg.inv(model.B) for model in models]
    K = share * sum(model.B @ np.diag(model.A) @ back for model, back in zip(models, backs))
    return antler.Model.from_arrays(
        A=np.zeros(N),
        W=np.hstack([share * model.B @ model.W for model in models] + [K, -K]),
        V=np.vstack([model.V @ back for model, back in zip(models, backs)] + [np.eye(N), -np.eye(N)]),
        b=np.concatenate([model.b for model in models] + [np.zeros(2 * N)]),
        h=share * sum(model.B @ model.h for model in models),
        B=np.eye(N),
    )


def forecast_antler(context, seed):
    """The mean of several runs on all rows, in half steps where the rows are dense enough to be interpolated."""
    parts = 2 if smooth_enough(context) else 1
    models = train_antler(between(context) if parts == 2 else context, seed)
    ahead = free_run(mean_model(models), context, parts * PREDICTED)
    return ahead[parts - 1 :: parts], f"mean of {len(models)} runs, {parts} steps per row"


def forecast_esn(context, seed):
    """An echo state network of reservoirpy: several reservoirs, chosen on the last rows, then fitted to all rows."""
    from reservoirpy.nodes import Reservoir, Ridge

    def network(rows, leak, scaling, ridge, number):
        bias = np.random.default_rng([seed, number]).uniform(-0.5, 0.5, 300)
        given = dict(lr=leak, sr=0.3, input_scaling=scaling, input_connectivity=1.0, bias=bias)
        reservoir = Reservoir(300, seed=1000 * seed + number, **given)
        states = reservoir.run(rows[:-1])
        return reservoir, Ridge(ridge=ridge).fit(states[50:], rows[51:])

    def ahead(parts, rows, steps):
        reservoir, readout = parts
        reservoir.reset()
        row = readout.run(reservoir.run(rows[-150:])[-1:])
        found = [row[0]]
        while len(found) < steps:
            row = readout.run(reservoir.run(row))
            found.append(row[0])
        return np.array(found)

    grid = [(leak, scaling, ridge) for leak in (0.7, 1.0) for scaling in (0.2, 0.5) for ridge in (1e-6, 1e-9)]
    errors = []
    for number, choice in enumerate(grid):
        parts = network(context[: CONTEXT - HELD_BACK], *choice, number)
        errors.append(held_back_error(lambda rows, steps, p=parts: ahead(p, rows, steps), context))
    best = int(np.argmin(errors))
    parts = network(context, *grid[best], best)
    return ahead(parts, context, PREDICTED), "leak %g scaling %g ridge %g" % grid[best]


def forecast_nbeats(context, seed):
    """N-BEATS of darts with its default architecture and epochs, and the output length published for this protocol."""
    import logging

    import torch
    from darts import TimeSeries
    from darts.models import NBEATSModel

    torch.set_num_threads(1)
    logging.getLogger("pytorch_lightning").setLevel(logging.ERROR)
    quiet = dict(accelerator="cpu", enable_progress_bar=False, enable_model_summary=False, logger=False)
    model = NBEATSModel(input_chunk_length=25, output_chunk_length=1, random_state=seed, pl_trainer_kwargs=quiet)
    model.fit(TimeSeries.from_values(context.astype(np.float32)), verbose=False)
    return model.predict(PREDICTED, verbose=False).values(), "input 25, output 1, 100 epochs"


METHODS = {"antler": forecast_antler, "esn": forecast_esn, "nbeats": forecast_nbeats}


# ---- the experiment -------------------------------------------------------------------------------------------------


def read(path):
    if not os.path.exists(path):
        return []
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def one(method, flow, start):
    context, after = rows_of(flow, start)
    begin = time.process_time()
    forecast, note = METHODS[method](context, start)
    seconds = time.process_time() - begin
    valid = measures.valid_time(after, forecast) / ROWS_PER_LYAPUNOV_TIME
    return dict(zip(COLUMNS, (method, flow, start, f"{valid:.4f}", f"{seconds:.2f}", note)))


def compute(path, args):
    """Start by start over all flows, so that a computation that is cut short has every flow equally often."""
    known = {(row["method"], row["flow"], int(row["start"])) for row in read(path)}
    end = time.monotonic() + 60 * args.minutes
    for start in range(args.first, args.first + args.starts):
        for flow in args.flows.split(","):
            for method in args.methods.split(","):
                if (method, flow, start) in known:
                    continue
                if time.monotonic() > end:
                    print("the time is over; another call continues", file=sys.stderr)
                    return
                row = one(method, flow, start)
                new = not os.path.exists(path)
                with open(path, "a", newline="") as file:
                    writer = csv.DictWriter(file, COLUMNS)
                    if new:
                        writer.writeheader()
                    writer.writerow(row)
                print(*row.values(), flush=True)


def table(rows):
    """Markdown: per flow mean and median of each method, and of all flows together, each flow weighing the same."""
    methods = [name for name in METHODS if any(row["method"] == name for row in rows)]
    print("| flow | " + " | ".join(f"{name}: mean | median | starts" for name in methods) + " |")
    print("| --- |" + " --- | --- | --- |" * len(methods))
    everything = {name: [] for name in methods}
    for flow in FLOWS:
        cells = []
        for name in methods:
            found = [float(row["valid_time"]) for row in rows if (row["method"], row["flow"]) == (name, flow)]
            everything[name].append(found)
            cells.append(f"{np.mean(found):.2f} | {np.median(found):.2f} | {len(found)}" if found else " | | 0")
        print(f"| `{flow}` | " + " | ".join(cells) + " |")
    cells = []
    for name in methods:
        numbers = [value for found in everything[name] for value in found]
        cells.append(f"**{np.mean(numbers):.2f}** | **{np.median(numbers):.2f}** | {len(numbers)}")
    print("| all | " + " | ".join(cells) + " |")
    for name in methods:
        seconds = [float(row["seconds"]) for row in rows if row["method"] == name]
        print(f"{name}: {statistics.median(seconds):.1f} s of CPU time for a start (median)", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    parser.add_argument("--starts", type=int, default=20)
    parser.add_argument("--first", type=int, default=1, help="seed of the first start; tuning used 101 and more")
    parser.add_argument("--flows", default=",".join(FLOWS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after that time")
    args = parser.parse_args()
    path = os.path.join(args.folder, "forecasts.csv")
    compute(path, args)
    table(read(path))


if __name__ == "__main__":
    main()
