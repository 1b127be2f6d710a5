#!/usr/bin/env python3
"""What an update of one long sequence would take on many ranks: a model of cost, not a measurement.

    bench/ranks_model.py [--steps 1e9] [--step SECONDS] [--rest SECONDS] [--latency SECONDS] [--bandwidth BYTES/S]

The cost of a step and of the rest of an update are fitted to trainings of one process, latency and bandwidth to
build/bench/ranks. docs/notebook/ranks.md has the figures.
"""

import argparse
from math import ceil, log2

LATENT, HIDDEN, DIM = 10, 128, 6
PARAMETERS = LATENT * (2 + 2 * HIDDEN + DIM) + HIDDEN
SUMS = 8 * (PARAMETERS + LATENT * DIM)  # bytes of a slot
SCRATCH = 111_000  # bytes of a slot: what the piece kernels have summed
FORWARD = 57 + 4 * LATENT * (1 + LATENT)  # bytes of a segment, after each pass
BACKWARD = 56 + 4 * LATENT
EXCHANGES = 8  # two forward passes, two backward passes, errors, sums, scratch, the report of an update
JOIN = 0.3e-6  # seconds of a segment, in each of four passes


def seconds(ranks: int, most: int, by_shares: bool, given: argparse.Namespace) -> float:
    """One update on `ranks` ranks, of which `most` work. by_shares: each rank folds a share of all numbers."""
    working = min(ranks, most)
    mail = working * 2 * (FORWARD + BACKWARD) / given.bandwidth
    hops = EXCHANGES * given.latency * ceil(log2(ranks))
    slot = SUMS + SCRATCH
    if by_shares:
        folding = 4 * slot / given.bandwidth + 2 * working * given.latency / 2
    else:
        folding = 2 * working * slot / given.bandwidth  # to gather, and to read them
    return given.rest + given.step * given.steps / working + mail + hops + folding + 4 * working * JOIN


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    for name, value in [("steps", 1e9), ("step", 123e-9), ("rest", 0.8e-3), ("latency", 2e-6), ("bandwidth", 10e9)]:
        parser.add_argument("--" + name, type=float, default=value)
    given = parser.parse_args()
    alone = given.rest + given.step * given.steps
    print("| ranks | as built: 16 slots | a slot for each rank | and each rank folds a share |")
    print("| --- | --- | --- | --- |")
    for ranks in [1, 16, 64, 1024, 16384]:
        forms = [(16, False), (ranks, False), (ranks, True)]
        times = [seconds(ranks, most, by_shares, given) if ranks > 1 else alone for most, by_shares in forms]
        cells = [f"{time:.3g} s ({alone / time:,.0f} x)" for time in times]
        print(f"| {ranks:,} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
