"""One page for the browser on a run or a sweep: `antler report RUN|SWEEP`.

The page is a single file that needs no network: tables, and figures that can be turned and zoomed, drawn by
plotly.js, which is packed into it. From a program:

    from antler import report

    report.write("Results/lorenz63/full/001")             # Results/lorenz63/full/001/report.html
    report.write("Results/lorenz63-sweep", "sweep.html")
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, List, Optional

from .. import _lib
from ..exceptions import AntlerError
from ..runs import load_runs
from . import library, page, payload

__all__ = ["main", "write"]


def write(source: Any, out: Any = None, *, data: Any = None, title: Optional[str] = None) -> Path:
    """Write the report on a run, on all runs below a folder, or on a model file, and return its path.

    `data` is the true orbit to compare with; by default the data that a run was evaluated on, or else those
    that its settings name. The page appears under its name only when it is complete.
    """
    runs = payload.in_order(load_runs(source))
    folder = Path(source).parent if Path(source).is_file() else Path(source)
    target = Path(out) if out is not None else folder / "report.html"
    script = library.read()
    content = payload.build(runs, data)
    plain = len(runs) > 1 or folder.resolve() != runs[0].path.resolve()
    name = title or "/".join(folder.resolve().parts[-2 if plain else -3 :])
    # In the folder of a run, which may come from somebody else, a link is replaced; a name that is given is followed.
    place = _lib.path_bytes(target) if out is None else _lib.followed(target)
    _lib.call("write_file", place, page.render(name, runs, content, script).encode("utf-8"))
    return target


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="antler report",
        description="Write one page for the browser on a run, or on all runs below a folder. "
        "It needs no network: settings, provenance and measures, the attractor to turn, series to zoom, spectra, "
        "training curves, and how well the parallel solver agrees with the sequential one.",
    )
    parser.add_argument("source", metavar="RUN|SWEEP", help="a run folder, a folder of runs, or a model.npz")
    parser.add_argument("--out", metavar="FILE", help="the page to write; default: report.html in that folder")
    parser.add_argument(
        "--data",
        metavar="FILE",
        help="the true orbit; default: what the run was evaluated on, or else its training data",
    )
    parser.add_argument("--title", help="headline; default: the names of the folders")
    return parser


def _of_machine(fault: Exception) -> bool:
    """Whether a fault is one of the machine, such as a disk that cannot be read, and not of names or contents."""
    missing = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
    return isinstance(fault, (OSError, MemoryError)) and not isinstance(fault, missing)


def main(arguments: Optional[List[str]] = None) -> int:
    chosen = _parser().parse_args(arguments)
    try:
        path = write(chosen.source, chosen.out, data=chosen.data, title=chosen.title)
        if path.is_file():  # not a pipe, where the page itself may be on standard output
            print(_lib.shown(f"{path}: {path.stat().st_size / 1e6:.1f} MB; open it in a browser"))
    except (AntlerError, OSError, ValueError) as fault:
        print(_lib.shown(f"antler: {fault}"), file=sys.stderr)
        return 3 if _of_machine(fault) else 2
    return 0
