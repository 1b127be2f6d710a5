"""Whole commands that are disturbed: the folders that they start from, and what must hold afterwards.

Each command starts in a copy of a folder. Afterwards
- it has ended with exit code 0 and the complete result, or with 3 and one sentence, or it was killed;
- every file is whole: an archive can be read to its end, JSON parses, a file that the command replaces is the old or
  the new one;
- files that are not the command's are as they were;
- `repair`, which is the resume or the same command again, ends well, and then the folder equals that of an undisturbed
    command, to the last byte. How long something took is left out: in tables and JSON, and the array `tally` of
  checkpoints.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

from record import Record

RUN = "Results/e/run/001"
SETTINGS = """experiment: e
data: train.csv
latent_dim: 3
hidden_dim: 4
sequence_length: 20
batch_size: 2
updates: 40
log_interval: 5
checkpoint_interval: 10
threads: 1
device: cpu
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation_interval: 20
"""
FAST = ["--samples", "300", "--steps", "300", "--lyapunov-steps", "100", "--no-verdict"]
#: Files of the user's, beside those of the commands.
OTHERS = ["notes.txt", f"{RUN}/model.npz.best", f"{RUN}/checkpoints/update-of-mine.npz"]


class Wrong(Exception):
    """What must hold after a command does not."""


@dataclass(frozen=True)
class Command:
    """A row of the table."""

    name: str
    start: str  #: the folder that it starts from
    arguments: Sequence[str]  #: of antler
    repair: Sequence[Sequence[str]]  #: run after it, each must end with 0; RUN-OR-RESUME: see Stage.repair
    writes: Sequence[str] = ()  #: files that it replaces as a whole: old or new
    prints: bool = False  #: the result is what it prints
    share: int = 1  #: of a sample, one in so many is made: it takes seconds


RESUME = ["train", "--resume", RUN, "--quiet"]
TRAIN = ["train", "run.yaml", "--quiet"]
OVERWRITE = [*TRAIN, "--overwrite", "--set", "seed=2"]
SWEEP = ["sweep", "grid.yaml", "--quiet", "--samples", "300"]
SHARE = [*SWEEP, "--share"]
EVALUATE = ["evaluate", RUN, "--data", "test.csv", "--quiet", *FAST]
FIT = ["fit", "long.csv", "--device", "cpu", "--threads", "1", "--minutes", "0.001", "--quiet"]
REPORT = ["report", RUN, "--out", "report.html", "--data", "test.csv"]


def simulate(out: str) -> List[str]:
    return ["simulate", "lorenz63", "--length", "150", "--out", out]


def again(arguments: Sequence[str]) -> List[Sequence[str]]:
    return [arguments]


TABLE = [
    Command("simulate-csv", "data", simulate("out.csv"), again(simulate("out.csv")), ["out.csv"]),
    Command("simulate-npy", "data", simulate("out.npy"), again(simulate("out.npy")), ["out.npy"]),
    Command("simulate-npz", "data", simulate("out.npz"), again(simulate("out.npz")), ["out.npz"]),
    Command("train", "data", TRAIN, [["RUN-OR-RESUME", *TRAIN]]),
    Command("resume", "stopped", RESUME, again(RESUME)),
    Command("overwrite", "trained", OVERWRITE, [["RUN-OR-RESUME", *OVERWRITE]]),
    Command("sweep", "data", SWEEP, again([*SWEEP, "--resume"]), share=2),
    Command("share", "data", SHARE, again(SHARE), share=2),
    Command("evaluate", "trained", EVALUATE, again(EVALUATE), [f"{RUN}/metrics.json"], prints=True),
    Command(
        "measure",
        "data",
        ["measure", "--true", "train.csv", "--generated", "test.npz", "--samples", "300"],
        again(["measure", "--true", "train.csv", "--generated", "test.npz", "--samples", "300"]),
        prints=True,
    ),
    Command(
        "generate",
        "trained",
        ["generate", RUN, "--steps", "50", "--out", "out.npz"],
        again(["generate", RUN, "--steps", "50", "--out", "out.npz"]),
        ["out.npz"],
    ),
    Command("report", "trained", REPORT, again(REPORT), ["report.html"], share=6),
    Command("fit", "planned", FIT, again(FIT), share=6),
]


# ---- running --------------------------------------------------------------------------


@dataclass
class Outcome:
    code: int
    out: bytes
    err: str


class Stage:
    """The programs, and the folders that commands start from, made once."""

    def __init__(self, antler: Path, supervisor: Path, root: Path) -> None:
        self.antler, self.supervisor, self.root = antler, supervisor, root
        self.starts = root / "starts"
        self.environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TZ": "UTC"}
        self._numbers = itertools.count()

    def run(self, folder: Path, arguments: Sequence[str], *options: str) -> Outcome:
        """`antler ARGUMENTS` in a folder, under the supervisor where there are options for it."""
        command = [str(self.antler), *arguments]
        if options:
            command = [str(self.supervisor), "--folder", str(folder), *options, "--", *command]
        done = subprocess.run(
            command, cwd=folder, env=self.environment, capture_output=True, check=False, timeout=300
        )
        return Outcome(done.returncode, done.stdout, done.stderr.decode(errors="replace"))

    def must(self, folder: Path, arguments: Sequence[str], *options: str) -> Outcome:
        outcome = self.run(folder, arguments, *options)
        if outcome.code != 0:
            raise Wrong(f"antler {' '.join(arguments)}: exit {outcome.code}: {outcome.err.strip()}")
        return outcome

    def calls(self, command: Command) -> List[Tuple[int, str, str, bool]]:
        """The calls of an undisturbed command: number, name, file, whether it may need space."""
        listing = self.root / "calls"
        with self.copy(command.start) as folder:
            self.must(folder.path, command.arguments, "--list", str(listing))
        rows = [line.split("\t") for line in listing.read_text().splitlines()]
        return [(int(number), name, path, writes == "writes") for number, name, path, writes in rows]

    def copy(self, start: str) -> "Copy":
        return Copy(self.start(start), self.root / f"{start}-{next(self._numbers)}")

    def repair(self, folder: Path, command: Command) -> None:
        for arguments in command.repair:
            if arguments[0] == "RUN-OR-RESUME":  # as a user would: what has begun is resumed
                begun = (folder / RUN / "config.yaml").exists()
                self.must(folder, RESUME if begun else arguments[1:])
                if begun and "--overwrite" in arguments and "seed: 1" in (folder / RUN / "config.yaml").read_text():
                    compare(folder, self.start(command.start), "the old run is not whole")
                    self.must(folder, arguments[1:])
            else:
                self.must(folder, arguments)

    def start(self, name: str) -> Path:
        """A folder that commands start from, made at its first use."""
        folder = self.starts / name
        if not folder.exists():
            make = {
                "data": self._make_data,
                "trained": self._make_trained,
                "stopped": self._make_stopped,
                "planned": self._make_planned,
            }
            make[name](folder)
        return folder

    def _make_data(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        (folder / OTHERS[0]).write_text("mine\n")
        (folder / "run.yaml").write_text(SETTINGS)
        (folder / "grid.yaml").write_text(
            SETTINGS.replace("updates: 40", "updates: 10") + "test: test.csv\ngrid:\n  gtf_alpha: [0.1, 0.2]\n"
        )
        for name, rows, seed in (
            ("train.csv", 560, 1),
            ("test.csv", 200, 2),
            ("test.npz", 200, 2),
            ("long.csv", 400, 3),
        ):
            made = [
                "simulate",
                "lorenz63",
                "--length",
                str(rows),
                "--seed",
                str(seed),
                "--dt",
                "0.03",
                "--noise",
                "0.01",
            ]
            self.must(folder, [*made, "--out", name])
        for name in ("out.csv", "out.npy", "out.npz", "report.html"):
            (folder / name).write_text("old\n")

    def _make_trained(self, folder: Path) -> None:
        shutil.copytree(self.start("data"), folder)
        self.must(folder, TRAIN)
        self.must(folder, [*EVALUATE, "--n", "5"])
        for other in OTHERS[1:]:
            (folder / other).write_text("mine\n")

    def _make_stopped(self, folder: Path) -> None:
        """A run that was killed while it wrote its third checkpoint."""
        listing = self.root / "calls"
        with self.copy("data") as copy:
            self.must(copy.path, TRAIN, "--list", str(listing))
        renames = [
            line.split("\t")[0]
            for line in listing.read_text().splitlines()
            if line.split("\t")[1] == "rename" and "/checkpoints/." in line
        ]
        shutil.copytree(self.start("data"), folder)
        if self.run(folder, TRAIN, "--at", renames[2], "--kill").code != 128 + 9:
            raise Wrong("the run was not stopped")

    def _make_planned(self, folder: Path) -> None:
        """A fit with few updates: how many it takes otherwise depends on the speed of the machine."""
        shutil.copytree(self.start("data"), folder)
        (folder / "Results/long").mkdir(parents=True)
        (folder / "Results/long/plan.csv").write_text("trials,runs,updates\n2,1,4\n1,1,4\n1,1,4\n")


class Copy:
    """A copy of a folder, removed in the end."""

    def __init__(self, start: Path, path: Path) -> None:
        self.start, self.path = start, path

    def __enter__(self) -> "Copy":
        shutil.copytree(self.start, self.path, symlinks=True)
        return self

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self.path, ignore_errors=True)


# ---- what must hold --------------------------------------------------------------------------


def is_hidden(path: Path) -> bool:
    """.lock, which is never removed, temporary files, and a lease in .claim: if it cannot be given back, it expires."""
    return path.name.startswith(".") or path.parent.name == ".claim"


def without_times(text: bytes) -> bytes:
    """Tables without the column, and the rows, of seconds; JSON and printed results without how long they took."""
    lines = [
        line
        for line in text.splitlines()
        if not re.search(rb'"seconds"|kernels_per_second|,seconds,\d|^  work ', line)
    ]
    head = lines[0].split(b",") if lines else []
    if b"seconds" in head:
        at = head.index(b"seconds")
        lines = [b",".join(line.split(b",")[:at] + line.split(b",")[at + 1 :]) for line in lines]
    return b"\n".join(lines)


def fingerprint(path: Path) -> str:
    """Of all that does not depend on time."""
    data = path.read_bytes()
    if path.suffix in (".csv", ".json"):
        data = without_times(data)
    elif path.parent.name == "checkpoints" and path.name.startswith("update-0"):
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name != "tally.npy"]
            data = b"".join(name.encode() + archive.read(name) for name in names)
    return hashlib.sha256(data).hexdigest()


def snapshot(folder: Path) -> Dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file() and not is_hidden(path)]
    return {str(path.relative_to(folder)): fingerprint(path) for path in files}


def compare(folder: Path, reference: Path, what: str) -> None:
    """The same files with the same content; old checkpoints that could not be removed may be there, too."""
    have, want = snapshot(folder), snapshot(reference)
    more = [name for name in have if name not in want and "/checkpoints/update-0" not in name]
    differ = [name for name in want if have.get(name) != want[name]]
    if more or differ:
        raise Wrong(f"{what}: {', '.join(f'{n} is new' for n in more)} {', '.join(f'{n} differs' for n in differ)}")


def check_whole(folder: Path) -> None:
    """Archives can be read to their end, and JSON parses."""
    for path in folder.rglob("*"):
        if is_hidden(path) or not path.is_file() or str(path.relative_to(folder)) in OTHERS:
            continue
        if path.suffix == ".npz" and path.read_bytes() != b"old\n":
            try:
                with zipfile.ZipFile(path) as archive:
                    bad = archive.testzip()
            except zipfile.BadZipFile as error:
                bad = str(error)
            if bad is not None:
                raise Wrong(f"{path.relative_to(folder)} is not whole: {bad}")
        if path.suffix == ".json":
            json.loads(path.read_text())


def check_others(folder: Path, start: Path) -> None:
    for name in OTHERS:
        if (start / name).exists() and (folder / name).read_text() != "mine\n":
            raise Wrong(f"{name} was touched")


def check_old_or_new(folder: Path, command: Command, start: Path, reference: Path) -> None:
    for name in command.writes:
        there = fingerprint(folder / name) if (folder / name).exists() else None
        old = fingerprint(start / name) if (start / name).exists() else None
        if there not in (old, fingerprint(reference / name)):
            raise Wrong(f"{name} is neither the old nor the new one")


def check_no_temporary(folder: Path, start: Path) -> None:
    """A command that ended by itself has removed its temporary files; those of a killed one may be there."""
    kept = (".lock", ".claim", ".overwrite")
    left = [str(path.relative_to(folder)) for path in folder.rglob(".*") if path.name not in kept]
    left = [name for name in left if not (start / name).exists()]
    if left:
        raise Wrong(f"left: {left}")


def check_sentence(outcome: Outcome, codes: Sequence[int]) -> None:
    if outcome.code not in codes:
        raise Wrong(f"exit {outcome.code}: {outcome.err.strip()}")
    lines = outcome.err.splitlines()
    if len(lines) != 1 or not lines[0].startswith("antler"):
        raise Wrong(f"not one sentence: {outcome.err!r}")


# ---- the loop --------------------------------------------------------------------------


@dataclass
class Tally:
    """What a loop has seen."""

    trials: int = 0
    wrong: int = 0
    seconds: float = 0.0


Trial = Callable[[], Optional[str]]


def loop(trials: Sequence[Trial], jobs: int) -> Tally:
    """Make all trials; each returns None or what was wrong."""
    tally, begin = Tally(), time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for wrong in pool.map(lambda trial: trial(), trials):
            tally.trials += 1
            if wrong is not None:
                tally.wrong += 1
                print(f"  WRONG {wrong}", flush=True)
    tally.seconds = time.monotonic() - begin
    return tally


def recorded_loop(trials: Sequence[Trial], name: str, jobs: int, record: Record, end: float) -> Tally:
    """Those trials that the record does not have, until the time is over."""
    total = Tally()
    for part in record.left(name, len(trials)):
        if time.monotonic() > end:
            break
        tally = loop([trials[i] for i in part], jobs)
        record.add(name, part, len(trials), tally.wrong, tally.seconds)
        total = Tally(total.trials + tally.trials, total.wrong + tally.wrong, total.seconds + tally.seconds)
    return total


def sample(items: Sequence[Any], command: Command, chosen: argparse.Namespace) -> List[Any]:
    """Some of the items, always the same for a seed; all without --sample."""
    count = max(1, chosen.sample // command.share)
    if chosen.sample == 0 or count >= len(items):
        return list(items)
    return [items[i] for i in sorted(random.Random(f"{chosen.seed}-{command.name}").sample(range(len(items)), count))]


def main(about: str, trials_of: Callable[[Stage, Command, argparse.Namespace], List[Trial]]) -> int:
    """The command line that the loops share."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--sample", type=int, default=0, help="trials per command; 0, the default: all")
    parser.add_argument("--seed", type=int, default=1, help="of the sample")
    parser.add_argument("--only", action="append", help="only this command; may be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="trials at a time")
    parser.add_argument("--at", type=int, default=0, help="only this call")
    parser.add_argument("--record", help="continue what this file keeps, and keep more in it (record.py)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing more after this time")
    chosen = parser.parse_args()
    if chosen.record and (chosen.sample or chosen.at):
        parser.error("--record keeps whole loops: leave --sample and --at out")
    record = Record(chosen.record, Path(sys.argv[0]).stem)
    end = time.monotonic() + 60.0 * chosen.minutes
    build = Path(os.environ.get("BUILD", Path(__file__).resolve().parents[2] / "build"))
    memory = Path("/dev/shm")
    place = memory if memory.is_dir() and os.access(memory, os.W_OK) and "TMPDIR" not in os.environ else None
    total = Tally()
    with tempfile.TemporaryDirectory(prefix="antler-torture-", dir=place) as root:
        stage = Stage(build / "antler", build / "tests/supervisor", Path(root).resolve())
        for command in TABLE:
            if chosen.only and command.name not in chosen.only:
                continue
            tally = recorded_loop(trials_of(stage, command, chosen), command.name, chosen.jobs, record, end)
            print(
                f"{command.name:14} {tally.trials:5} trials, {tally.wrong} wrong, {tally.seconds:.1f} s", flush=True
            )
            total = Tally(total.trials + tally.trials, total.wrong + tally.wrong, total.seconds + tally.seconds)
    print(f"{'in all':14} {total.trials:5} trials, {total.wrong} wrong, {total.seconds:.1f} s")
    return 1 if total.wrong > 0 or (total.trials == 0 and not chosen.record) else 0
