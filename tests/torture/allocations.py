#!/usr/bin/env python3
"""allocations.py - whole commands without memory: each allocation in turn fails, in any library.

A command may end in two ways only: with the exit code, the files and the output that it has with enough memory, or with
exit code 3, one sentence, and no broken file.  The n-th allocation alone fails, or it and all that come after it.
Then the address space is limited (ulimit -v), from too little to enough.

fail_allocations.c is the library that makes allocations fail; it is built with the tests.  The environment variable
BUILD names the folder of the build.
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import resource
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

from record import Record

SETTINGS = """experiment: e
name: k
data: train.npy
latent_dim: 3
hidden_dim: 6
sequence_length: 16
batch_size: 2
updates: 12
log_interval: 4
checkpoint_interval: 6
gtf_alpha: 0.2
threads: 2
validation: 0.2
validation_interval: 6
"""
GRID = SETTINGS.replace("name: k\n", "").replace("validation: 0.2\nvalidation_interval: 6\n", "validation: 0\n")
GRID += "test: test.npy\ngrid:\n  hidden_dim: [4, 5]\n"
SAMPLED = SETTINGS.replace("gtf_alpha: 0.2\n", "model: lssm\nsampling_end: 0.5\nsolver: deer\n")
CHANNELS = SETTINGS.split("validation")[0].replace("train.npy", "channels.csv") + "validation: 0\n"  # with gaps
QUICK = ["--samples", "50", "--threads", "2"]

# Name and arguments.  Each runs in a copy of a folder with data, a stopped training and a finished one.
CASES = {
    "simulate": ["simulate", "lorenz63", "--length", "50", "--transient", "1", "--out", "out.npz"],
    "simulate-csv": ["simulate", "lorenz96", "--length", "20", "--transient", "1", "--out", "out.csv"],
    "info": ["info", "train.npy", "--json"],
    "info-model": ["info", "Results/e/done/001", "--json"],
    "info-table": ["info", "Results/e/done/001/log.csv"],
    "info-folder": ["info", "Results/e/done"],
    "info-utf16": ["info", "utf16.txt"],
    "info-latin": ["info", "latin.txt", "--subject", "Tier"],
    "info-mapped": ["info", "../mapped.npy", "--missing", "7"],
    "train": ["train", "k.yaml", "--quiet"],
    "train-sampled": ["train", "sampled.yaml", "--quiet"],
    "train-channels": ["train", "channels.yaml", "--quiet"],
    "resume": ["train", "--resume", "Results/e/stopped", "--quiet"],
    "sweep": ["sweep", "grid.yaml", "--quiet", "--samples", "50"],
    "share": ["sweep", "grid.yaml", "--quiet", "--samples", "50", "--share"],
    "generate": ["generate", "Results/e/done/001", "--steps", "40", "--data", "test.npy", "--out", "out.npz"],
    "evaluate": ["evaluate", "Results/e/done/001", "--data", "test.npy", "--json", *QUICK],
    "evaluate-many": ["evaluate", "Results/e/done", "--data", "test.npy", *QUICK, "--quiet", "--no-lyapunov"],
    "measure": ["measure", "--true", "train.npy", "--generated", "test.npy", "--json", *QUICK],
    "lyapunov": ["lyapunov", "Results/e/done/001", "--data", "test.npy", "--steps", "200", "--json"],
    "fit": ["fit", "short.npy", "--minutes", "0.0001", "--device", "cpu", "--threads", "2", "--quiet"],
    "page": ["page", "Results"],  # as `antler report`: it becomes the program antler-page
}
TIMES = re.compile(r"\d[\d.e+-]* (kernels/s|seconds|s|minutes|min|ms|h)\b")
TEMPORARY = re.compile(r"\..*\.[A-Za-z0-9]{6}$")
TIME_KEYS = ("seconds", "kernels_per_second")


class Torture:
    def __init__(self, antler, library, folder):
        self.antler, self.library, self.folder = antler, library, Path(folder)
        self.template = self.folder / "template"
        self.expected, self.counts = {}, {}

    # ---- running ------------------------------------------------------------------------------------------
    def environment(self, **more):
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "TMPDIR") if key in os.environ}
        kept["PATH"] = f"{self.folder}/bin:{kept.get('PATH', '')}"
        return {**kept, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2", "ANTLER_CUDA_DRIVER": "/nothing", **more}

    def call(self, arguments, folder, limit=None, **environment):
        def bound():
            if limit is not None:
                resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

        try:
            done = subprocess.run([self.antler, *arguments], cwd=folder, env=self.environment(**environment),
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  preexec_fn=bound, timeout=120)
        except subprocess.TimeoutExpired:
            return None, "", ""
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")

    def prepare(self):
        (self.folder / "bin").mkdir(parents=True)
        stub = self.folder / "bin" / "antler-page"
        stub.write_text("#!/bin/sh\necho page of \"$@\"\n")
        stub.chmod(0o755)
        self.template.mkdir()
        (self.template / "k.yaml").write_text(SETTINGS)
        (self.template / "grid.yaml").write_text(GRID)
        (self.template / "sampled.yaml").write_text(SAMPLED)
        (self.template / "channels.yaml").write_text(CHANNELS)
        self.prepare_tables()
        for name, seed in (("train.npy", "1"), ("test.npy", "2"), ("short.npy", "3")):
            self.must("simulate", "lorenz63", "--length", "600", "--seed", seed, "--out", name)
        self.must("train", "k.yaml", "--quiet", "--set", "name=done", "--set", "runs=2")
        self.must("train", "k.yaml", "--quiet", "--set", "name=stopped")
        stopped = self.template / "Results/e/stopped/001"
        for name in ("model.npz", "verdict.json", "checkpoints/update-0000000012.npz"):
            (stopped / name).unlink()
        (self.template / "Results/short").mkdir()
        (self.template / "Results/short/plan.csv").write_text("trials,runs,updates\n2,1,4\n1,1,4\n1,1,8\n")

    def prepare_tables(self):
        """What readers and `info` take memory for: another encoding, dates whose order a late row shows, a spike."""
        dates = [f"{1 + i // 12 % 12}/{1 + i % 12}/{2000 + i // 144}" for i in range(1500)] + ["12/31/2024"]
        values = ((40 if i == 700 else i % 97 / 97, min(i * i % 101, 90) / 7) for i in range(len(dates)))
        rows = [f"{date}\t{a}\t{b}" for date, (a, b) in zip(dates, values)]
        (self.template / "utf16.txt").write_bytes(("\ufeff" + "\r\n".join(["date\ta\tb", *rows])).encode("utf-16-le"))
        animals = "".join(f"{'äöü'[i // 40]},{i % 40},{i * i % 97}\n" for i in range(120))
        (self.template / "latin.txt").write_bytes(f"Tier,Zeit,Höhe\n{animals}".encode("cp1252"))
        numbers = random.Random(1)
        cells = (f"{numbers.gauss(0, 1):.3f}" if numbers.random() > 0.02 else "" for _ in range(300 * 70))
        lines = zip(*[cells] * 70)
        names = ",".join(f"c{i}" for i in range(70))
        (self.template / "channels.csv").write_text("\n".join([names, *map(",".join, lines), ""]))
        shape = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({1 << 24}, 2), }}"
        with open(self.folder / "mapped.npy", "wb") as file:  # 256 MiB, of which a page is stored
            file.write(b"\x93NUMPY\x01\x00\x76\x00" + shape.encode().ljust(117) + b"\n")
            file.write(struct.pack("<3d", 7.0, 1.0, 2.0))
            file.truncate(128 + (2 << 27))

    def must(self, *arguments):
        code, _, error = self.call(arguments, self.template)
        if code != 0:
            sys.exit(f"antler {' '.join(arguments)} ended with {code}: {error}")

    def copy(self, name):
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.folder))
        shutil.copytree(self.template, folder, dirs_exist_ok=True)
        return folder

    def learn(self, name):
        """What the command prints and writes with enough memory, and how many allocations it makes."""
        folder = self.copy(name)
        report = self.folder / f"{name}.count"
        code, out, error = self.call(CASES[name], folder, LD_PRELOAD=self.library, ANTLER_FAIL_REPORT=str(report))
        if code not in (0, 1):  # 1: these short trainings may diverge
            sys.exit(f"{name} ended with {code} while nothing failed: {error}")
        self.expected[name] = (code, without_times(out), contents(folder))
        if report.exists():  # a command that becomes another program writes none
            self.counts[name] = int(report.read_text())
        else:
            self.counts[name] = 30
        shutil.rmtree(folder)

    # ---- judging ------------------------------------------------------------------------------------------
    def starve(self, name, n, mode):
        """Whether the command failed, and a complaint or None."""
        folder = self.copy(name)
        outcome = self.call(CASES[name], folder, LD_PRELOAD=self.library, ANTLER_FAIL_AT=str(n), ANTLER_FAIL_MODE=mode)
        complaint = self.judge(name, folder, *outcome)
        shutil.rmtree(folder)
        return outcome[0] != self.expected[name][0], complaint

    def limit(self, name, megabytes):
        folder = self.copy(name)
        outcome = self.call(CASES[name], folder, limit=megabytes << 20)
        loaded = outcome[0] != 127 and "shared libraries" not in outcome[2]
        complaint = self.judge(name, folder, *outcome) if loaded else None
        shutil.rmtree(folder)
        return outcome[0] != self.expected[name][0], complaint

    def judge(self, name, folder, code, out, error):
        expected_code, expected_out, expected_files = self.expected[name]
        if code is None:
            return "it hangs"
        if code == expected_code:
            files = contents(folder)
            different = sorted(key for key in files.keys() | expected_files.keys()
                               if files.get(key) != expected_files.get(key))
            if different:
                return f"exit code {code} with other files: {', '.join(different)}"
            if without_times(out) != expected_out:
                return f"exit code {code} with another output: {out[:300]!r} instead of {expected_out[:300]!r}"
            return None
        if code != 3:
            return f"exit code {code}: {error[-300:]!r}"
        lines = [line for line in error.splitlines() if line.strip()]
        if len(lines) != 1 or not lines[0].startswith("antler: "):
            return f"not one sentence: {error[-400:]!r}"
        broken = broken_files(folder, self.template)
        return f"broken files: {', '.join(broken)}" if broken else None


# ---- files ------------------------------------------------------------------------------------------------
def without_times(text):
    try:
        return json.dumps(drop_times(json.loads(text)))
    except ValueError:
        return TIMES.sub("T", text)


def drop_times(value):
    if isinstance(value, dict):
        return {key: drop_times(item) for key, item in value.items() if key not in TIME_KEYS}
    return [drop_times(item) for item in value] if isinstance(value, list) else value


def without_column(text, column):
    rows = [line.split(",") for line in text.splitlines()]
    if not rows or column not in rows[0]:
        return text
    at = rows[0].index(column)
    return "\n".join(",".join(row[:at] + row[at + 1:]) for row in rows)


def without_times_in_table(text):
    """Without the column or the rows of seconds."""
    head, *rows = text.splitlines()
    return without_column("\n".join([head] + [row for row in rows if ",seconds," not in row]), "seconds")


def contents(folder):
    """File names and what is in them, without times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix == ".json":
            data = without_times(data.decode()).encode()
        elif path.suffix == ".csv":
            data = without_times_in_table(data.decode()).encode()
        elif path.suffix == ".npz":
            data = b"".join(without_seconds(path))
        found[str(path.relative_to(folder))] = data
    return found


def without_seconds(path):
    """Names and bytes of all arrays except the time that a training has taken."""
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            yield name.encode()
            values = archive.read(name)
            yield values[:-8] if name == "tally.npy" else values  # the time is its last number


def broken_files(folder, template):
    broken = []
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if not path.is_file():
            continue
        if TEMPORARY.match(path.name):
            broken.append(f"{name} is left")
        elif path.suffix == ".npz" and not whole_zip(path):
            broken.append(name)
        elif path.suffix == ".json" and not whole_json(path):
            broken.append(name)
        elif path.suffix == ".csv" and path.name != "log.csv" and not path.read_bytes().endswith(b"\n"):
            broken.append(name)
    for path in template.iterdir():
        if path.is_file() and path.read_bytes() != (folder / path.name).read_bytes():
            broken.append(f"{path.name} is changed")
    return broken


def whole_zip(path):
    try:
        with zipfile.ZipFile(path) as archive:
            return archive.testzip() is None
    except zipfile.BadZipFile:
        return False


def whole_json(path):
    try:
        json.loads(path.read_text())
    except ValueError:
        return False
    return True


# ---- the loops --------------------------------------------------------------------------------------------
def plan_allocations(torture, names, sample, most, seed):
    """(name, n, mode): all allocations of each command, at most `most`; or `sample` in all."""
    jobs = []
    for name in names:
        count = torture.counts[name]
        room = most if sample is None else max(1, sample // len(names))
        room = max(1, room // 10) if name == "fit" else room  # which takes seconds
        numbers = list(range(1, count + 1))
        if room < count:  # every so many, from a random one on: rare places are met as well as frequent ones
            step = count / room
            begin = random.Random(f"{seed}-{name}").random() * step
            numbers = sorted({min(count, 1 + int(begin + i * step)) for i in range(room)})
        jobs.extend((name, n, ("one", "all")[i % 2]) for i, n in enumerate(numbers))
        if sample is None:
            jobs.extend((name, n, ("all", "one")[i % 2]) for i, n in enumerate(numbers))
    random.Random(seed).shuffle(jobs)  # a part of the loop is a fair sample
    return jobs


def plan_limits(names, sample):
    """(name, megabytes): from less than a process needs to enough."""
    steps = [14 * 1.2**i for i in range(20)] if sample is None else [14, 24, 80]
    return [(name, int(size)) for name in names for size in steps if sample is None or name not in ("fit", "sweep")]


def run(title, call, jobs, pool, record, end):
    """Number of complaints.  A part of each command in turn, so that a run that is stopped has seen all of them."""
    complaints, ended = 0, {}  # by command: runs, and how many of them failed
    mine = {name: [job for job in jobs if job[0] == name] for name in dict.fromkeys(job[0] for job in jobs)}
    left = {name: list(record.left(f"{name} {title}", len(mine[name]))) for name in mine}
    while any(left.values()) and time.monotonic() < end:
        for name in [name for name in left if left[name]]:
            part, begin = left[name].pop(0), time.monotonic()
            seen = list(pool.map(lambda job: call(*job), [mine[name][i] for i in part]))
            wrong = [(mine[name][i], complaint) for i, (_, complaint) in zip(part, seen) if complaint is not None]
            for job, complaint in wrong:
                print(*job, complaint, flush=True)
            complaints += len(wrong)
            counts = ended.setdefault(name, [0, 0])
            counts[0] += len(part)
            counts[1] += sum(failed for failed, _ in seen)
            record.add(f"{name} {title}", part, len(mine[name]), len(wrong), time.monotonic() - begin)
    for name, (runs, failed) in ended.items():
        print(f"{title}: {name}: {runs} runs, {failed} ended with exit code 3")
    print(f"{title}: {sum(runs for runs, _ in ended.values())} runs, {complaints} failures", flush=True)
    if ended and not any(failed for _, failed in ended.values()):
        sys.exit(f"{title}: nothing failed, so nothing is tested")
    return complaints


def main():
    build = Path(os.environ.get("BUILD", "build")).resolve()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, help="so many failing allocations in all, and few limits")
    parser.add_argument("--most", type=int, default=600, help="failing allocations of one command, without --sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=sorted(CASES), default=list(CASES))
    parser.add_argument("--at", type=int, help="only this allocation, alone and with all after it")
    parser.add_argument("--record", help="continue what this file keeps, and keep more in it (record.py)")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin nothing more after this time")
    given = parser.parse_args()
    if given.record and (given.sample or given.at):
        parser.error("--record keeps whole loops: leave --sample and --at out")
    record, end = Record(given.record, "allocations"), time.monotonic() + 60.0 * given.minutes
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="antler-torture-", dir=parent) as folder:
        torture = Torture(str(build / "antler"), str(build / "tests" / "libfail_allocations.so"), folder)
        torture.prepare()
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            list(pool.map(torture.learn, given.only))
            if given.at is not None:
                jobs = [(name, given.at, mode) for name in given.only for mode in ("one", "all")]
            else:
                jobs = plan_allocations(torture, given.only, given.sample, given.most, given.seed)
            complaints = run("allocations", torture.starve, jobs, pool, record, end)
            limits = [] if given.at is not None else plan_limits(given.only, given.sample)
            complaints += run("limits", torture.limit, limits, pool, record, end)
    sys.exit(1 if complaints else 0)


if __name__ == "__main__":
    main()
