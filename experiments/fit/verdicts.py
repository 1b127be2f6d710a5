"""verdicts.py FITS.csv... - what fits said of their models, and what test orbits say of them, as a table."""

import csv
import statistics
import sys

WRONG = ("far", "collapsed", "left_range", "diverged", "undertrained")


def read(paths):
    """Rows of all files by system, in the order of the systems."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found.setdefault(row["system"], []).append(row)
    return dict(sorted(found.items()))


def counts(rows, kind):
    """Verdicts of this kind, and how many of them the test orbit calls wrong."""
    chosen = [row for row in rows if row["fit_verdict"] == kind]
    return f"{len(chosen)}, {sum(row['verdict'] in WRONG for row in chosen)}" if chosen else "0"


def line(name, rows, measured=True):
    others = sum(row["fit_verdict"] not in ("good", "close") for row in rows)
    right = sum(row["verdict"] == "good" for row in rows)
    text = f"| {name} | {len(rows)} | {counts(rows, 'good')} | {counts(rows, 'close')} | {others} | {right} |"
    if not measured:
        return text + " | | | |"
    middle = [statistics.median(float(row[key]) for row in rows) for key in ("dstsp", "hellinger")]
    floors = [float(rows[0][key]) for key in ("dstsp_floor", "hellinger_floor")]
    return text + f" {middle[0]:.2g} | {floors[0]:.2g} | {middle[1]:.2g} | {floors[1]:.2g} |"


def main(paths):
    found = read(paths)
    print("| data | fits | good, wrong | close, wrong | other | good on test | D_stsp | floor | D_H | floor |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for system, rows in found.items():
        print(line(system, rows))
    print(line("all", [row for rows in found.values() for row in rows], measured=False))


main(sys.argv[1:])
