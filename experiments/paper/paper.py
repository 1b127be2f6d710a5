#!/usr/bin/env python3
"""paper.py [FIGURE...] - every figure and number of GTF-DEER made anew, in tasks that are never computed twice.

FIGURE: 1a 1b 2 3a 3b 3c text floor search, or beyond the paper long adaptive scheduled. Default: those of the paper.
Results are small JSON files, those of the full scale in experiments/paper/results/MACHINE, those of others in
build/paper/results-SCALE/MACHINE. The page goes to docs/paper (full scale) or build/paper/page-SCALE.
"""

from __future__ import annotations

import argparse
import importlib
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, List

from tasks import Context, Task, TimeIsOver, say
from training import device_of

ROOT = Path(__file__).resolve().parents[2]
MODULES = {
    "1a": "fig1a",
    "1b": "fig1b",
    "2": "fig2",
    "3a": "fig3a",
    "search": "search",
    "3b": "fig3b",
    "3c": "fig3c",
    "text": "texts",
    "floor": "floor",
    "long": "long",
    "adaptive": "adaptive",
    "scheduled": "scheduled",
}
BEYOND = ("long", "adaptive", "scheduled")
NEEDS = {"3a": "search", "3b": "search", "3c": "search"}  # its choice comes first


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="default: all of the paper")
    parser.add_argument("--scale", choices=("full", "quick", "smoke"), default="quick")
    parser.add_argument("--minutes", type=float, default=10_000, help="end after that time; another call continues")
    parser.add_argument("--seed", type=int, default=1, help="another seed has results of its own")
    parser.add_argument("--peer", type=Path, help="folder of the JAX implementation, timed in the same call")
    parser.add_argument("--results", type=Path, help="folder of results in place of the usual one")
    parser.add_argument("--work", type=Path, help="folder of data, trainings and checkpoints; default build/paper/work")
    parser.add_argument("--page", type=Path, help="folder of the page in place of the usual one")
    parser.add_argument("--only-page", action="store_true", help="compute nothing")
    parser.add_argument("--no-page", action="store_true", help="draw nothing; needs no matplotlib")
    parser.add_argument("--machine", help="make the page of this folder of results; with --only-page")
    parser.add_argument("--plan", action="store_true", help="list the tasks in their order, and whether they are done")
    args = parser.parse_args()
    strange = [name for name in args.figures if name.lower() not in MODULES]
    if strange:
        parser.error(f"there is no figure {strange[0]}; they are {', '.join(MODULES)}")
    args.figures = [name.lower() for name in args.figures] or [name for name in MODULES if name not in BEYOND]
    args.figures += [NEEDS[name] for name in args.figures if name in NEEDS]
    return args


def command() -> Path:
    """ANTLER, else the command of the build, or of the folder for other machines that make gpu-tests makes."""
    named = os.environ.get("ANTLER")
    built = [
        str(ROOT / "build" / "antler"),
        str(ROOT / "build" / "gpu-tests" / "bin" / "antler"),
        shutil.which("antler"),
    ]
    for place in [named] if named else built:
        if place and os.access(place, os.X_OK):
            if subprocess.run([place, "--version"], capture_output=True, check=False).returncode == 0:
                return Path(place).resolve()
    if named:
        sys.exit(f"paper.py: ANTLER is {named}, which does not run.")
    sys.exit("paper.py: there is no antler; build it with make, or name it by ANTLER.")


def work_through(c: Context, tasks: List[Task], failed: List[Task]) -> None:
    """All of these tasks that are missing, those of the lowest order first; those that fail go to `failed`."""
    while True:
        missing = (task for task in tasks if task not in failed and not c.store.done(task))
        waiting = [task for task in missing if task.ready is None or task.ready(c)]
        if not waiting:
            return
        task = min(waiting, key=lambda each: each.order)
        begin = time.monotonic()
        try:
            measures = task.work(c, task)
        except TimeIsOver:
            raise
        except Exception as fault:  # one task must not end the others
            say(f"{task.figure} {task.point}: {type(fault).__name__}: {fault}")
            failed.append(task)
            continue
        seconds = time.monotonic() - begin
        c.store.keep(c, task, measures, seconds)
        numbers = f"run {task.first}" if task.runs == 1 else f"runs {task.first} to {task.first + task.runs - 1}"
        say(f"{task.figure} {task.point} {numbers}: {seconds:.1f} s")


def compute(c: Context, plans: Dict[str, List[Task]]) -> int:
    """All tasks. Beside those of a GPU, the trainings that need the CPU. Returns how many failed."""
    every = [task for tasks in plans.values() for task in tasks]
    beside = [task for task in every if c.gpu and device_of(c, task.settings) == "cpu"]
    failed: List[Task] = []
    faults: List[BaseException] = []

    def other_lane() -> None:
        try:
            work_through(c, beside, failed)
        except BaseException as fault:  # raised again below
            faults.append(fault)

    thread = threading.Thread(target=other_lane)
    thread.start()
    try:
        work_through(c, [task for task in every if task not in beside], failed)
        thread.join()
    except BaseException:
        c.end = 0.0  # the other lane stops, too
        thread.join()
        raise
    if faults:
        raise faults[0]
    return len(failed)


def plan(c: Context, plans: Dict[str, List[Task]]) -> None:
    for task in sorted((task for tasks in plans.values() for task in tasks), key=lambda each: each.order):
        word = "done" if c.store.done(task) else "waits" if task.ready is not None and not task.ready(c) else "to do"
        print(
            f"{task.order}  {task.figure:9} {task.point:28} runs "
            f"{task.first}-{task.first + task.runs - 1}  {word}"
        )


def interrupted(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, interrupted)  # as Ctrl-C: a training gets the time for its checkpoint
    base = ROOT / "build" / "paper"
    full = args.scale == "full"
    results = args.results or (ROOT / "experiments" / "paper" / "results" if full else base / f"results-{args.scale}")
    work = (args.work or base / "work").resolve() / args.scale
    c = Context(command(), args.scale, work, results.resolve(), args.minutes, args.seed, args.peer)
    if args.machine:
        c.store.folder = results.resolve() / args.machine
        c.machine = args.machine
    modules: List[Any] = [importlib.import_module(MODULES[name]) for name in MODULES if name in args.figures]
    plans = {module.NAME: module.tasks(c) for module in modules}
    if args.plan:
        plan(c, plans)
        return 0
    failed, code = 0, 0
    if not args.only_page:
        try:
            failed = compute(c, plans)
        except TimeIsOver:
            say("the time is over; another call continues")
        except KeyboardInterrupt:
            code = 130
            say("stopped; another call continues")
    if not args.no_page:
        import page

        folder = args.page or (ROOT / "docs" / "paper" if full else base / f"page-{args.scale}")
        page.write_page(c, plans, modules, folder)
        say(f"page: {folder}/index.html")
    waits = sum(not c.store.done(task) for tasks in plans.values() for task in tasks)
    say(f"{sum(len(tasks) for tasks in plans.values()) - waits} tasks are done, {waits} are not")
    return 1 if failed else code


if __name__ == "__main__":
    sys.exit(main())
