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
HELD_BACK = 60  # last rows of the context, on which models are compared
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


def train_antler(rows, seed):
    """Candidates, trained on these rows alone. This is the one place that decides how Antler trains."""
    trained = antler.Reconstructor(
        latent_dim=rows.shape[1], hidden_dim=250, initialisation="standard", sequence_length=10, gtf_alpha=0.3,
        batch_size=16, updates=20_000, start_lr=5e-3, runs=4, threads=1, device="cpu", standardise=False,
        random_state=seed, verbose=False,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", antler.DivergenceWarning)
        return [model for model in trained.fit(rows).models_ if model is not None]


def forecast_antler(context, seed):
    models = train_antler(context[: CONTEXT - HELD_BACK], seed)
    errors = [held_back_error(lambda rows, steps, m=m: free_run(m, rows, steps), context) for m in models]
    best = int(np.argmin(errors))
    return free_run(models[best], context, PREDICTED), f"run {best + 1}, held back {errors[best]:.3g}"


def forecast_esn(context, seed):
    """An echo state network of reservoirpy: several reservoirs, chosen like Antler's runs, then fitted to all rows."""
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
    parser.add_argument("--first", type=int, default=1, help="seed of the first start; tuning used those from 1001 on")
    parser.add_argument("--flows", default=",".join(FLOWS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing after that time")
    args = parser.parse_args()
    path = os.path.join(args.folder, "forecasts.csv")
    compute(path, args)
    table(read(path))


if __name__ == "__main__":
    main()
