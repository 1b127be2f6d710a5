#!/usr/bin/env python3
"""Compare two JSON files of a benchmark, case by case.

    bench/compare.py OLD.json NEW.json [--threshold 5%]

A case is slower when its median time per kernel grew by more than the threshold and by more than the noise of
both runs.  Exit code 1 when a case is slower, 2 when the files cannot be compared.
"""
import argparse
import json
import sys


def load(path):
    """Seconds per kernel and noise of each case, by what names the case."""
    try:
        with open(path, encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        return {(c["level"], c["threads"], c["dim"]): (c["median_seconds"] / (c["points"] * c["samples"]), c["noise"])
                for c in cases}
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(f"compare.py: {path} cannot be read as a benchmark: {error}", file=sys.stderr)
        sys.exit(2)


def fraction(text):
    return float(text.rstrip("%")) / 100.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--threshold", type=fraction, default=0.05, help="in percent; default 5%%")
    args = parser.parse_args()
    old, new = load(args.old), load(args.new)
    shared = [case for case in old if case in new]
    if not shared:
        print("compare.py: the two files have no case in common", file=sys.stderr)
        sys.exit(2)
    slower = 0
    print("level    threads  dim   new/old time   noise   verdict")
    for case in shared:
        ratio = new[case][0] / old[case][0]
        noise = (old[case][1] ** 2 + new[case][1] ** 2) ** 0.5
        margin = max(args.threshold, 2.0 * noise)
        verdict = "slower" if ratio > 1.0 + margin else "faster" if ratio < 1.0 / (1.0 + margin) else "same"
        slower += verdict == "slower"
        print(f"{case[0]:8s} {case[1]:6d}  {case[2]:4d}  {ratio:12.3f}  {100 * noise:5.1f} %   {verdict}")
    for case in sorted(set(old) ^ set(new)):
        print(f"{case[0]:8s} {case[1]:6d}  {case[2]:4d}  only in the {'old' if case in old else 'new'} file")
    print(f"{slower} of {len(shared)} cases are slower.")
    sys.exit(1 if slower else 0)


if __name__ == "__main__":
    main()
