"""lines.py SYSTEM SET UPDATES FILE - lines of runs.csv from the JSON of an evaluation, one per model."""

import json
import pathlib
import sys

system, name, updates, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    found = json.load(file)
for run in found.get("runs", [found]):
    model, summary = pathlib.Path(run["run"]), run["summary"]
    kind, number = "best" if model.stem == "best" else "last", int(model.parent.name)
    values = [summary.get("dstsp_embedded", summary.get("dstsp")), summary.get("hellinger")]
    measures = ["inf" if value is None else f"{float(value):.4g}" for value in values]
    print(",".join([system, name, updates, str(number), kind, *measures, run.get("verdict", {}).get("kind", "")]))
