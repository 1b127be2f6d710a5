"""tasks.py - work cut into tasks, their results on disk, and commands that end in time.

A task is one training of a group of runs, one measurement, or one table. What a task has found is one JSON file per
run, FIGURE/POINT-NUMBER.json in the folder of results. A task whose files are there, with the same settings, is done.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

Json = Dict[str, Any]


class TimeIsOver(Exception):
    """The minutes that were given have passed; a training has left a checkpoint."""


class Failed(Exception):
    """A command ended with an error, which is its last line."""


@dataclass(frozen=True)
class Task:
    """`work` returns one dictionary of measures for each of the runs `first` ... `first + runs - 1`."""

    figure: str
    point: str
    settings: Json
    work: Callable[["Context", "Task"], List[Json]] = field(compare=False)
    runs: int = 1
    first: int = 1  # number of the first run, counted from 1
    order: int = 0  # tasks of a lower order come first, whatever their figure is
    seed: int = 1
    ready: Optional[Callable[["Context"], bool]] = field(default=None, compare=False)

    def numbers(self) -> range:
        return range(self.first, self.first + self.runs)

    def mark(self) -> str:
        """Eight digits that change with the settings; in the names of work folders."""
        text = json.dumps([self.settings, self.runs, self.first, self.seed], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:8]


def groups(total: int, size: int) -> List[range]:
    """Numbers 1 ... total in groups of `size`: the replicas of one training."""
    return [range(first, min(first + size, total + 1)) for first in range(1, total + 1, size)]


def write(path: Path, text: str) -> None:
    """The file is complete whenever it is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    part.write_text(text)
    os.replace(part, path)


class Store:
    """The folder of results of one machine and one scale."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, figure: str, point: str, number: int) -> Path:
        return self.folder / figure / f"{point}-{number:02d}.json"

    def find(self, task: Task, number: int) -> Optional[Json]:
        """The result of a run, if it was made with these settings."""
        path = self.path(task.figure, task.point, number)
        if not path.exists():
            return None
        found: Json = json.loads(path.read_text())
        same = json.dumps(found["settings"], sort_keys=True) == json.dumps(task.settings, sort_keys=True)
        if not same or found["seed"] != task.seed:
            return None
        return {**found, "measures": numbers(found["measures"])}

    def done(self, task: Task) -> bool:
        return all(self.find(task, number) is not None for number in task.numbers())

    def keep(self, context: "Context", task: Task, measures: Sequence[Json], seconds: float) -> None:
        for number, found in zip(task.numbers(), measures):
            result = {
                "figure": task.figure,
                "point": task.point,
                "run": number,
                "seed": task.seed,
                "scale": context.scale,
                "machine": context.machine,
                "device": context.device,
                "commit": context.commit,
                "date": time.strftime("%Y-%m-%d", time.gmtime()),
                "settings": task.settings,
                "measures": found,
                "seconds": round(seconds, 3),
                "runs_together": task.runs,
            }
            lines = (f"{json.dumps(name)}: {compact(part)}" for name, part in result.items())
            write(self.path(task.figure, task.point, number), "{" + ",\n".join(lines) + "}\n")


def compact(value: Any) -> str:
    return json.dumps(finite(value), sort_keys=True, separators=(",", ":"))


def finite(value: Any) -> Any:
    """The same with numbers of seven digits, and with "inf" and "nan" for what JSON has no number for."""
    if isinstance(value, dict):
        return {str(name): finite(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(part) for part in value]
    if isinstance(value, float):
        if value != value:
            return "nan"
        if value in (float("inf"), float("-inf")):
            return "inf" if value > 0 else "-inf"
        return float(f"{value:.7g}")
    return value


def numbers(value: Any) -> Any:
    """The inverse of `finite`."""
    if isinstance(value, dict):
        return {name: numbers(part) for name, part in value.items()}
    if isinstance(value, list):
        return [numbers(part) for part in value]
    return float(value) if value in ("inf", "-inf", "nan") else value


class Context:
    """What a task needs: the command, folders, the clock."""

    def __init__(
        self, antler: Path, scale: str, work: Path, results: Path, minutes: float, seed: int, peer: Optional[Path]
    ) -> None:
        self.antler, self.scale, self.work, self.seed, self.peer = antler, scale, work, seed, peer
        self.end = time.monotonic() + 60 * minutes
        version = subprocess.run([str(antler), "--version"], capture_output=True, text=True, check=True).stdout
        built = re.search(r"\(([0-9a-f]+[^)]*)\)", version)
        self.commit = built.group(1) if built else version.split()[1]
        self.gpu = graphics_card(antler)
        self.device = "cuda" if self.gpu else "cpu"
        self.machine = self.gpu or processor()
        name = re.sub(r"[^a-z0-9]+", "-", self.machine.lower()).strip("-")
        self.store = Store(results / (name if seed == 1 else f"{name}-seed{seed}"))

    def call(self, *command: object, cwd: Optional[Path] = None, accept: Sequence[int] = (0,), env: Any = None) -> str:
        """Standard output of a command. When the time is over it gets one signal, on which a training checkpoints."""
        folder = cwd or self.work
        folder.mkdir(parents=True, exist_ok=True)
        if time.monotonic() > self.end:
            raise TimeIsOver
        # A session of its own: Ctrl-C reaches this process alone, and the command gets exactly one signal.
        child = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            env=env,
        )
        try:
            out, err = self.wait(child)
        except (TimeIsOver, KeyboardInterrupt):
            stop(child)
            raise
        if child.returncode not in accept:
            lines = (err or out).strip().splitlines() or ["no message"]
            raise Failed(f"{' '.join(str(part) for part in command)}: {lines[-1]}")
        return out

    def wait(self, child: "subprocess.Popen[str]") -> Tuple[str, str]:
        """What the command printed; looks at the clock now and then, because another lane may set it to the end."""
        while True:
            try:
                return child.communicate(timeout=min(0.5, max(0.01, self.end - time.monotonic())))
            except subprocess.TimeoutExpired:
                if time.monotonic() > self.end:
                    raise TimeIsOver from None

    def run(self, *arguments: object, cwd: Optional[Path] = None, accept: Sequence[int] = (0,)) -> str:
        return self.call(self.antler, *arguments, cwd=cwd, accept=accept)


def stop(child: "subprocess.Popen[str]") -> None:
    """One signal, 30 seconds for the checkpoint, then the end."""
    child.send_signal(signal.SIGTERM)
    try:
        child.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()


def graphics_card(antler: Path) -> str:
    """Name of the first GPU, empty without one."""
    listed = subprocess.run([str(antler), "info", "--devices"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"^ +\d+  (\S.*?) +\d+\.\d ", listed, re.MULTILINE)
    return found.group(1) if found and "No GPU can be used" not in listed else ""


def cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0))


def processor() -> str:
    """Model of the processor and how many cores this process may use."""
    name = platform.processor() or platform.machine()
    try:
        found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
        name = found.group(1) if found else name
    except OSError:
        pass
    return f"{cores()} cores of {name}"


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
