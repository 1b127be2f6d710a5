"""table.py FITS.csv HAND.csv - the table of docs/results.md: `antler fit` beside settings made by hand."""

import csv
import statistics
import sys

NAMES = {
    "lorenz63": "Lorenz-63",
    "lorenz63_noise": "Lorenz-63, 5 % noise",
    "lorenz63_x": "x of Lorenz-63 (3, 10)",
    "roessler": "Roessler",
    "ecg": "ECG (bins)",
    "lorenz96": "forced Lorenz-96",
    "neuron": "neuron (3, 40)",
    "mixed63": "64 channels, Lorenz-63",
    "mixed96": "64 channels, Lorenz-96",
}
WRONG = ("far", "collapsed", "left_range", "diverged", "undertrained")


def groups(path, *keys):
    """Rows of a file by the values of some columns."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for row in csv.DictReader(file):
            found.setdefault(tuple(row[key] for key in keys), []).append(row)
    return found


def median(rows, column):
    return statistics.median(float(row[column]) for row in rows)


def main(fits, hand):
    best = {}  # the better of the settings made by hand
    for (system, _), rows in groups(hand, "system", "settings").items():
        best[system] = min(best.get(system, float("inf")), median(rows, "dstsp"))
    print("| data | fits | minutes | D_stsp by hand | D_stsp of `fit`, median | ratio | worst | D_H | good, wrong |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for (system, device, minutes), rows in groups(fits, "system", "device", "minutes").items():
        value, worst = median(rows, "dstsp"), max(float(row["dstsp"]) for row in rows)
        good = [row for row in rows if row["fit_verdict"] == "good"]
        wrong = [row for row in good if row["verdict"] in WRONG]
        by_hand = best.get(system, float("nan"))
        where = f"{minutes if float(minutes) else 'default'}{' GPU' if device == 'cuda' else ''}"
        print(
            f"| {NAMES.get(system, system)} | {len(rows)} | {where} | {by_hand:.2g} | {value:.2g} | "
            f"{value / by_hand:.2f} | {worst:.2g} | {median(rows, 'hellinger'):.2g} | {len(good)}, {len(wrong)} |"
        )


main(*sys.argv[1:])
