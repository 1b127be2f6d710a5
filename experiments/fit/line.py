"""line.py FILE COLUMN... - the lines of fits.csv or hand.csv from the JSON of an evaluation.

One line per run; a column RUN becomes the number of the run."""

import json
import sys

path, *columns = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    found = json.load(file)
for number, run in enumerate(found.get("runs", [found]), 1):
    summary = run.get("summary", {})
    dstsp = summary.get("dstsp_embedded", summary.get("dstsp"))
    measures = [dstsp, summary.get("hellinger"), summary.get("prediction_error")]
    verdict, floors = run.get("verdict", {}), run.get("floors", {})
    measures += [verdict.get("kind", ""), floors.get("dstsp_embedded", floors.get("dstsp")), floors.get("hellinger")]
    measures.append(verdict.get("figure", ""))
    given = [str(number) if column == "RUN" else column for column in columns]
    print(",".join([*given, *(str(value) for value in measures)]))
