"""ranks.py [PICTURE] - which values of settings were best in the study of experiments/fit; also as a picture.

Runs are ranked within each data set by the D_stsp of their free run on test data: 0 is the best run, 1 the worst.  The
rank of a value is the mean over its runs in a data set, then over data sets.  Values that were tried on fewer than
seven of the nine data sets are left out.  The rule for defaults: the value with the lowest rank, where it is lower than
that of the default by 0.05 or more; of two values within 0.03 of each other, the one that is better in runs.csv.
"""

import csv
import pathlib
import sys

import numpy as np

STUDY = pathlib.Path(__file__).parent.parent / "fit" / "results" / "settings_study.csv"
NAMES = {
    "lorenz63": "Lorenz-63",
    "lorenz63_noise": "Lorenz-63, 5 % noise",
    "lorenz63_x": "x of Lorenz-63",
    "roessler": "Roessler",
    "ecg": "ECG",
    "lorenz96": "forced Lorenz-96",
    "neuron": "bursting neuron",
    "mixed63": "64 channels, Lorenz-63",
    "mixed96": "64 channels, Lorenz-96",
}
LEAST = 7  # data sets


def start(row):
    return "standard" if row["initialisation"] == "standard" else f"kappa {row['kappa']}"


SETTINGS = {
    "start_lr": lambda row: row["start_lr"],
    "gtf_alpha": lambda row: row["gtf_alpha"] if not row["gtf_alpha_method"] else row["gtf_alpha_method"],
    "start": start,
    "clipped": lambda row: row["clipped"],
    "noise": lambda row: row["noise"],
    "sequence_length": lambda row: row["sequence_length"],
    "teacher": lambda row: row["teacher"],
    "gradient_clip": lambda row: row["gradient_clip"],
}


def number(value):
    """Numbers in their order, before words."""
    try:
        return (0, float(value), "")
    except ValueError:
        return (1, 0.0, value)


def read():
    """All runs with their rank within the data set; a run that diverged is the worst."""
    with open(STUDY, newline="") as file:
        rows = list(csv.DictReader(file))
    for system in NAMES:
        own = [row for row in rows if row["system"] == system]
        values = [float(row["test_dstsp"] or "inf") for row in own]
        for row, value in zip(own, values):
            below, equal = sum(v < value for v in values), sum(v == value for v in values)
            row["rank"] = (below + (equal - 1) / 2) / (len(own) - 1)
    return rows


def ranks(rows, value_of):
    """Values and their ranks, (data sets, values); NaN where a value was not tried."""
    found = sorted({value_of(row) for row in rows}, key=number)
    table = np.full((len(NAMES), len(found)), np.nan)
    for i, system in enumerate(NAMES):
        for k, value in enumerate(found):
            own = [row["rank"] for row in rows if row["system"] == system and value_of(row) == value]
            if own:
                table[i, k] = np.mean(own)
    kept = np.isfinite(table).sum(0) >= LEAST
    return [value for value, keep in zip(found, kept) if keep], table[:, kept]


def show(rows):
    for name, value_of in SETTINGS.items():
        values, table = ranks(rows, value_of)
        print(f"{name:24}" + "".join(f"{value:>14}" for value in values))
        for system, line in zip(NAMES.values(), table):
            print(f"{system:24}" + "".join("             -" if np.isnan(v) else f"{v:14.2f}" for v in line))
        print(f"{'mean':24}" + "".join(f"{v:14.2f}" for v in np.nanmean(table, 0)))
        print(f"{'worst':24}" + "".join(f"{v:14.2f}" for v in np.nanmax(table, 0)) + "\n")


def draw(rows, path):
    import matplotlib

    matplotlib.use("Agg")
    from antler import plot
    from antler.plot import style

    shown = {"start_lr": "learning rate", "gtf_alpha": "strength of forcing", "start": "start"}
    with style.context():
        _, axes = style.subplots(1, 3, (style.PAGE, 3.0), sharey=True)
        for ax, (name, title) in zip(axes[0], shown.items()):
            values, table = ranks(rows, SETTINGS[name])
            table = np.vstack([table, np.nanmean(table, 0)])
            ax.imshow(table, cmap="RdYlBu_r", vmin=0.0, vmax=1.0, aspect="auto")
            for (i, k), value in np.ndenumerate(table):
                if np.isfinite(value):
                    heavy = "bold" if i == len(NAMES) else "normal"
                    ax.text(k, i, f"{value:.2f}", ha="center", va="center", fontsize=6.5, fontweight=heavy)
            ax.axhline(len(NAMES) - 0.5, color=style.BLACK, linewidth=1.2)
            ax.set_xticks(range(len(values)), [value.replace("kappa ", "κ ") for value in values])
            ax.set_yticks(range(len(NAMES) + 1), [*NAMES.values(), "mean"])
            ax.set_title(title, loc="left")
            ax.tick_params(length=0)
            for spine in ax.spines.values():
                spine.set_visible(False)
    plot.save(axes, path)


if __name__ == "__main__":
    everything = read()
    show(everything)
    if len(sys.argv) > 1:
        draw(everything, sys.argv[1])
