"""python3 -m antler.plot KIND FILE... --out PICTURE"""

from __future__ import annotations

import argparse
import inspect
import sys
from typing import Any, Callable, Dict, List, Optional

import matplotlib
import numpy as np

from . import against, agreement, attractor, heatmap, iterations, runtime, save, series, spectra, strip, training

PAIRS: Dict[str, Callable[..., Any]] = {
    "attractor": attractor,
    "series": series,
    "spectra": spectra,
    "heatmap": heatmap,
}
RUNS: Dict[str, Callable[..., Any]] = {"training": training, "agreement": agreement}
TABLES: Dict[str, Callable[..., Any]] = {
    "against": against,
    "strip": strip,
    "iterations": iterations,
    "runtime": runtime,
}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python3 -m antler.plot", description="Draw orbits, trainings and sweeps.")
    parser.add_argument("kind", choices=[*PAIRS, *RUNS, *TABLES])
    parser.add_argument(
        "files", nargs="+", help="the true and the generated orbit; runs; metrics.csv; or the JSON of bench"
    )
    parser.add_argument(
        "--out", required=True, action="append", help="picture to write: .png, .pdf or .svg; may be repeated"
    )
    parser.add_argument("--variables", help="attractor: two or three, by name or number, such as x,z")
    parser.add_argument("--rows", type=int, help="orbits: rows to draw")
    parser.add_argument(
        "--offset", type=int, help="series, heatmap: row of the true orbit that the first generated row stands for"
    )
    parser.add_argument("--x", help="against, iterations: the setting on the horizontal axis")
    parser.add_argument("--by", help="against, strip, iterations: the setting that groups the runs")
    parser.add_argument("--measure", action="append", help="against, strip: dstsp, rmse, …; may be repeated")
    parser.add_argument("--title")
    return parser


def _options(chosen: argparse.Namespace) -> Dict[str, Any]:
    """The options that were given, under the names of the function's arguments."""
    options = {
        name: getattr(chosen, name) for name in ("rows", "offset", "x", "by") if getattr(chosen, name) is not None
    }
    if chosen.variables:
        options["variables"] = chosen.variables.split(",")
    if chosen.measure:
        options.update({"measure": chosen.measure[0]} if chosen.kind == "strip" else {"measures": chosen.measure})
    return options


def _draw(chosen: argparse.Namespace) -> Any:
    draw = {**PAIRS, **RUNS, **TABLES}[chosen.kind]
    wanted = {**dict.fromkeys(PAIRS, 2), **dict.fromkeys(TABLES, 1)}.get(chosen.kind)
    if wanted is not None and len(chosen.files) != wanted:
        raise ValueError(f"{chosen.kind} takes {wanted} file{'s' if wanted > 1 else ''}, not {len(chosen.files)}")
    options = _options(chosen)
    for name in options:
        if name not in inspect.signature(draw).parameters:
            raise ValueError(f"--{name.replace('measures', 'measure')} is not for {chosen.kind}; see --help")
    return draw(*chosen.files, **options)


def main(arguments: Optional[List[str]] = None) -> int:
    chosen = _parser().parse_args(arguments)
    matplotlib.use("Agg")
    try:
        axes = _draw(chosen)
        if chosen.title:
            np.ravel(axes)[0].figure.suptitle(chosen.title, fontsize=9)
        save(axes, *chosen.out)
    except (OSError, ValueError, KeyError) as fault:
        print(f"antler.plot: {fault}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
