#!/usr/bin/env python3
"""summary.py FOLDER - the table of what judge.sh has measured; needs nothing but Python."""

import json
import math
import pathlib
import statistics
import sys


def values(path, key):
    """D_stsp of all runs in one file; a diverged run counts as infinite."""
    runs = json.loads(path.read_text())["runs"]
    return [math.inf if run["diverged"] else run[key]["value"] for run in runs]


def spread(numbers):
    middle = statistics.median(numbers)
    return middle, statistics.median(abs(x - middle) for x in numbers if math.isfinite(x))


def table(folder, case, key):
    medians = []
    print(f"{case}: orbit  floor    median ± MAD over runs   best     worst    diverged")
    for path in sorted(folder.glob(f"{case}_*.json")):
        seed = path.stem.split("_")[1]
        runs = values(path, key)
        floor = folder / f"floor_{case}_{seed}.json"
        known = f"{json.loads(floor.read_text())['dstsp']['value']:.5f}" if floor.exists() else "      -"
        middle, mad = spread(runs)
        lost = sum(math.isinf(x) for x in runs)
        print(f"  {seed:>10}  {known}  {middle:.5f} ± {mad:.5f}        "
              f"{min(runs):.5f}  {max(runs):.5f}  {lost} of {len(runs)}")
        if seed.startswith("2"):
            medians.append(middle)
    if medians:
        print(f"  median of the medians over {len(medians)} test orbits: {statistics.median(medians):.5f}, "
              f"from {min(medians):.5f} to {max(medians):.5f}")


def main():
    folder = pathlib.Path(sys.argv[1])
    table(folder, "full", "dstsp")
    table(folder, "partial", "dstsp_embedded")


if __name__ == "__main__":
    main()
