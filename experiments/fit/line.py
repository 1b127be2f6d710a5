"""line.py SYSTEM SEED DEVICE MINUTES SECONDS FILE - one line of fits.csv from the JSON of an evaluation."""

import json
import sys

*columns, path = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    found = json.load(file)
found = found.get("runs", [found])[0]
summary = found["summary"]
dstsp = summary.get("dstsp_embedded", summary.get("dstsp"))
measures = [dstsp, summary.get("hellinger"), summary.get("prediction_error"), found.get("verdict", {}).get("kind", "")]
print(",".join([*columns, *(str(value) for value in measures)]))
