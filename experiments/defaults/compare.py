"""compare.py RUNS [PICTURE] - medians of runs.csv (run.sh) as a table, for each data set and set of defaults."""

import collections
import csv
import statistics
import sys

from ranks import NAMES


def read(path):
    """(data set, set of defaults, last or best) -> list of (D_stsp, D_H, verdict)."""
    found = collections.defaultdict(list)
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            measures = float(row["dstsp"]), float(row["hellinger"]), row["verdict"]
            found[row["system"], row["set"], row["model"]].append(measures)
    return found


def verdicts(runs):
    counts = collections.Counter(run[2] for run in runs)
    return ", ".join(f"{number} {kind}" for kind, number in counts.most_common())


def show(found):
    print("| data | defaults | model | D_stsp | D_H | verdicts on test data |")
    print("| --- | --- | --- | --- | --- | --- |")
    for system, title in NAMES.items():
        for (own, name, model), runs in found.items():
            if own == system:
                dstsp, hellinger = (statistics.median(run[i] for run in runs) for i in (0, 1))
                print(f"| {title} | {name} | {model} | {dstsp:.2g} | {hellinger:.2g} | {verdicts(runs)} |")


def draw(found, path):
    import matplotlib

    matplotlib.use("Agg")
    from antler import plot
    from antler.plot import style

    systems = [system for system in NAMES if (system, "old", "last") in found]
    shown = (("old", style.QUIET, "o", "former defaults"), ("new", style.GENERATED, "s", "defaults"))
    with style.context():
        _, axes = style.subplots(1, 1, (style.PAGE, 2.6))
        ax = axes[0, 0]
        for place, system in enumerate(systems):
            for side, (name, colour, marker, title) in zip((-0.13, 0.13), shown):
                values = [run[0] for run in found[system, name, "last"]]
                finite = [value for value in values if value < 100]
                lost = len(values) - len(finite)
                text = title if place == 0 else None
                ax.plot([place + side] * len(finite), finite, marker, color=colour, alpha=0.7, label=text)
                if lost > 0:
                    ax.plot([place + side], [60], "x", color=colour, markersize=5)
                    ax.text(place + side, 90, f"{lost}", ha="center", va="bottom", fontsize=6.5, color=colour)
        ax.set_yscale("log")
        ax.set_ylim(top=300)
        ax.set_xticks(range(len(systems)), [NAMES[system] for system in systems], rotation=20, ha="right")
        ax.set_ylabel(style.label("dstsp"))
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), ncol=2, borderaxespad=0.1)
    plot.save(axes, path)


if __name__ == "__main__":
    everything = read(sys.argv[1])
    show(everything)
    if len(sys.argv) > 2:
        draw(everything, sys.argv[2])
