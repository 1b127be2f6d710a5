#!/usr/bin/env python3
"""plot.py FORECASTS.csv PICTURE - valid prediction time of every start, by flow and method."""

import csv
import sys
from collections import defaultdict

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

path, picture = sys.argv[1:]
NAMES = {"antler": "Antler", "esn": "echo state network", "nbeats": "N-BEATS"}
found = defaultdict(lambda: defaultdict(list))
with open(path, newline="") as file:
    for row in csv.DictReader(file):
        found[row["method"]][row["flow"]].append(float(row["valid_time"]))
flows = list(found["antler"])
figure, axes = plt.subplots(figsize=(8, 3.6), layout="constrained")
for number, (method, by_flow) in enumerate(found.items()):
    shift = 0.36 * (number - (len(found) - 1) / 2)
    for place, flow in enumerate(flows):
        values = np.array(by_flow[flow])
        spread = np.linspace(-0.12, 0.12, len(values)) if len(values) > 1 else 0.0
        axes.plot(place + shift + spread, np.sort(values), ".", color=f"C{number}", markersize=3, alpha=0.6)
        ends = [place + shift - 0.15, place + shift + 0.15]
        axes.plot(ends, 2 * [np.median(values)], color=f"C{number}", linewidth=2)
    axes.plot([], [], color=f"C{number}", linewidth=2, label=f"{NAMES[method]}, starts and median")
axes.set_xticks(range(len(flows)), flows, rotation=35, ha="right")
axes.set_ylabel("valid prediction time / Lyapunov times")
axes.set_ylim(0, 10.4)
axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=len(found), frameon=False)
figure.savefig(picture)
