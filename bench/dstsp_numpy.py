#!/usr/bin/env python3
"""The computation of build/bench/dstsp in NumPy, for comparison.

    bench/dstsp_numpy.py [--dims 1,3,6,18] [--points N] [--seconds S] [--repeats R] [--json FILE] [--beside FILE]

Log densities of a Gaussian mixture by a log-sum-exp over chunks of samples that stay in the cache, with the
exponents from one matrix product: the fastest plain NumPy that we know.  --beside takes the JSON of
build/bench/dstsp, prints the two side by side and fails when their values differ.  Threads are those of the
BLAS library; bench/run.sh sets them to 1.
"""
import argparse
import json
import math
import statistics
import sys
import time

try:
    import numpy as np
except ImportError:
    print("NumPy is not installed, so the comparison with it is left out (Debian: python3-numpy).")
    sys.exit(0)

CHECKED = 64


def primes(count):
    found, n = [], 2
    while len(found) < count:
        if all(n % p for p in found):
            found.append(n)
        n += 1
    return found


def make_orbit(points, dim):
    t = np.arange(1, points + 1, dtype=float)[:, None]
    turns = np.fmod(t * np.sqrt(np.array(primes(dim), dtype=float)), 1.0)
    return np.sqrt(2.0) * np.sin(2.0 * np.pi * turns)


def make_samples(count, x, width):
    k = np.arange(count)
    phase = (k[:, None] + 1.0) + 1.7 * np.arange(x.shape[1])
    return x[k * 7919 % len(x)] + width * np.sin(phase)


def log_density(x, variance, samples):
    """x: (T, d), variance: (d), samples: (n, d); returns (n)."""
    centre, scale = x.mean(axis=0), 1.0 / np.sqrt(variance)
    y, s = (x - centre) * scale, (samples - centre) * scale
    half_y, half_s = 0.5 * (y * y).sum(axis=1), 0.5 * (s * s).sum(axis=1)
    norm = math.log(len(x)) + 0.5 * np.log(2.0 * np.pi * variance).sum()
    chunk = max(1, 262144 // len(x))  # exponents of a chunk fill about 2 MB
    result = np.empty(len(samples))
    for begin in range(0, len(samples), chunk):
        part = slice(begin, begin + chunk)
        t = s[part] @ y.T
        t -= half_y
        largest = t.max(axis=1)
        t -= largest[:, None]
        np.exp(t, out=t)
        result[part] = np.log(t.sum(axis=1)) + largest - half_s[part] - norm
    return result


def run_case(dim, points, seconds, repeats):
    x = make_orbit(points, dim)
    bandwidth = (points * (dim + 2) / 4) ** (-1 / (dim + 4))
    variance = np.full(dim, bandwidth)
    samples = make_samples(CHECKED, x, math.sqrt(bandwidth))
    check = float(log_density(x, variance, samples).mean())
    begin = time.perf_counter()
    log_density(x, variance, samples)
    count = CHECKED * max(1, math.ceil(seconds / (time.perf_counter() - begin)))
    samples = make_samples(count, x, math.sqrt(bandwidth))
    times, cpu_times = [], []
    for _ in range(repeats):
        begin, cpu_begin = time.perf_counter(), time.process_time()
        log_density(x, variance, samples)
        times.append(time.perf_counter() - begin)
        cpu_times.append(time.process_time() - cpu_begin)
    median = statistics.median(times)
    noise = 1.4826 * statistics.median(abs(t - median) for t in times) / median
    return {"level": "numpy", "threads": 1, "dim": dim, "points": points, "samples": count, "median_seconds": median,
            "min_seconds": min(times), "noise": noise, "kernels_per_second": points * count / median,
            "kernels_per_core_second": points * count / min(cpu_times), "check": check,
            "seconds": sorted(times)}


def side_by_side(cases, path):
    """Print Antler's single-thread cases beside ours; returns whether the values agree."""
    with open(path, encoding="utf-8") as file:
        theirs = [c for c in json.load(file)["cases"] if c["threads"] == 1]
    agree = True
    print("                by the clock, median of the runs      by processor time, best run")
    print("  dim  level       Antler      NumPy   ratio             Antler      NumPy   ratio    values differ by")
    for ours in cases:
        for c in theirs:
            if (c["dim"], c["points"]) != (ours["dim"], ours["points"]):
                continue
            rates = []
            for key in ("kernels_per_second", "kernels_per_core_second"):
                rates.append(f"{c[key] / 1e9:8.3f}e9 {ours[key] / 1e9:8.3f}e9 {c[key] / ours[key]:7.1f}")
            difference = abs(c["check"] - ours["check"])
            agree = agree and difference <= 1e-9 * max(1.0, abs(ours["check"]))
            print(f"  {c['dim']:3d}  {c['level']:7s} {rates[0]}        {rates[1]}    {difference:.1e}")
    return agree


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", default="1,3,6,18")
    parser.add_argument("--points", type=int, default=100000)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json")
    parser.add_argument("--beside")
    args = parser.parse_args()
    cases = [run_case(int(d), args.points, args.seconds, args.repeats) for d in args.dims.split(",")]
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump({"benchmark": "dstsp", "build": f"NumPy {np.__version__}", "cases": cases}, file, indent=1)
    if args.beside:
        if not side_by_side(cases, args.beside):
            sys.exit("The values of Antler and NumPy differ: the comparison of their speeds means nothing.")
    else:
        for c in cases:
            print(f"dim {c['dim']:3d}  {c['kernels_per_second'] / 1e9:.3f}e9 kernels/s  noise {100 * c['noise']:.1f} %")


if __name__ == "__main__":
    main()
