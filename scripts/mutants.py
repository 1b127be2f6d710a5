#!/usr/bin/env python3
"""Change src on purpose, one small change at a time, and count the changes that the tests notice.

    scripts/mutants.py                        100 mutants, chosen by --seed over all folders of src
    scripts/mutants.py --hand-made            those of tests/mutants/hand_made.txt
    scripts/mutants.py --from 20 --to 40      a slice of them; --minutes 30 ends after that time
    scripts/mutants.py --list                 print them and run nothing
    scripts/mutants.py --again 1-17           one that survived, once more
    scripts/mutants.py --share                print what is known and run nothing
    PRESET=asan scripts/mutants.py --again 1-17   with AddressSanitizer, as CI has it, too

Each is made in a copy of the tree (build/mutants), built as `make` does, and run against the whole suite, first against
the tests that name the functions of its file and take little time. It counts as killed at the first test that fails.
tests/mutants/results.csv keeps the results, and a slot that is in there is not run again; --again SLOT runs one that
survived against the tests of today. A mutant that does not compile, or compiles to the same code, is replaced by
another. One that no test could notice is marked by hand: `equivalent`, with the reason in the column `by`.
"""

import argparse
import csv
import fcntl
import filecmp
import hashlib
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / os.environ.get("WORK", "build/mutants")  # several runs side by side need a folder each
PRESET = os.environ.get("PRESET", "release")
TREE, RESULTS = WORK / "tree", ROOT / "tests/mutants/results.csv"
BUILD = TREE / "build" if PRESET == "release" else TREE / "build" / PRESET
LIMIT = 600  # seconds for one test, at most
CPU_LIMIT = 120  # seconds of CPU time for one process of a test
COSTS = BUILD / "Testing/Temporary/CTestCostData.txt"
os.environ.update(CCACHE_BASEDIR=str(TREE), CCACHE_NOHASHDIR="1", OMP_WAIT_POLICY="passive")

#: The tests of a folder, which are more promising than others.
RELATED = {
    "base": "unit/test_(base|lock|npy|npz|csv|out_of_memory|series|checkpoint)",
    "cli": "cli/.*",
    "data": "unit/test_(columns|csv|load|npy|npz|number|numpy|series|view|statistics|model_file|times|missing)",
    "data/systems": "unit/test_(systems|simulate|flows)|golden/system.*",
    "engine": "unit/test_(cuda|cuda_engine)",
    "engine/cuda": "unit/test_cuda.*|golden_cuda/.*",
    "engine/cuda/kernels": "unit/test_cuda.*|golden_cuda/.*",
    "fit": "unit/test_fit|cli/test_fit",
    "measure": "unit/test_(bins|embed|eval.*|fft|lyapunov|measure|mixture|rmse|spectrum|validation|verdict)|golden/.*",
    "model": "unit/test_(model|model_file|generate|initial|diagonal|lyapunov|evaluate|flows)|golden/.*",
    "solve": "unit/test_(solve|solve_golden|scan|linear|forcing|gradient|cell|alpha|problem)|golden/.*",
    "train": "unit/test_(train|check.*|settings|windows|optim.*|held_back|problem|initial|valid.*|stat.*|gaps)|cli/.*",
}


@dataclass(frozen=True)
class Mutant:
    name: str  #: what was changed
    file: str
    line: int  #: from 1; 0: the text is searched
    old: str
    new: str

    @property
    def key(self) -> str:
        text = "\n".join((self.file, str(self.line), self.old, self.new))
        return hashlib.sha256(text.encode()).hexdigest()[:12]


# ---- where, and what --------------------------------------------------------------------------


def masked(text: str) -> str:
    """The text with strings, characters and comments blanked out, in the same places."""
    pattern = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|/\*.*?\*/|//[^\n]*'
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found[0]), text, flags=re.S)


def body_lines(text: str) -> List[int]:
    """The lines inside functions, which the format begins with a brace in the first column."""
    lines, inside, found = text.splitlines(), False, []
    for number, line in enumerate(lines, 1):
        if line == "{":
            inside = True
        elif line == "}":
            inside = False
        elif inside and line.strip() and "sizeof" not in line and not line.lstrip().startswith(("#", "ANT_NEED")):
            found.append(number)
    return found


SWAPS = {
    " < ": " <= ",
    " <= ": " < ",
    " > ": " >= ",
    " >= ": " > ",
    " == ": " != ",
    " != ": " == ",
    " + ": " - ",
    " - ": " + ",
    " * ": " / ",
    " / ": " * ",
    " && ": " || ",
    " || ": " && ",
    " += ": " -= ",
    " -= ": " += ",
}


def changes(line: str, mask: str) -> Iterator[Tuple[str, str]]:
    """What can be changed in a line: a name for it, and the new line."""
    for old, new in SWAPS.items():
        for found in re.finditer(re.escape(old), mask):
            yield f"'{old.strip()}' becomes '{new.strip()}'", line[: found.start()] + new + line[found.end() :]
    for found in re.finditer(r"(?<![\w.\[])(\d+)(?![\w.\]])", mask):
        yield "one more", f"{line[: found.start()]}{int(found[1]) + 1}{line[found.end() :]}"
    for found in re.finditer(r"(?<![\w.])(\d+\.\d*(?:e-?\d+)?|\d+e-?\d+)(?!\w)", mask):
        value = float(found[1])
        yield "another constant", f"{line[: found.start()]}{2.0 * value if value else 1.0!r}{line[found.end() :]}"
    for found in re.finditer(r"(?<=[(,= ])-(?=[a-z(])", mask):
        yield "the sign is lost", line[: found.start()] + line[found.end() :]
    for found in re.finditer(r"\b(true|false)\b", mask):
        yield (
            f"not {found[1]}",
            line[: found.start()] + ("false" if found[1] == "true" else "true") + line[found.end() :],
        )
    found = re.fullmatch(r"(\s*(?:\} else )?(?:if|while) )(\(.*\))( \{)?", mask)
    if found and found[2].count("(") == found[2].count(")"):
        yield (
            "the condition is negated",
            f"{line[: found.end(1)]}(!{line[found.start(2) : found.end(2)]}){found[3] or ''}",
        )
    release = re.match(
        r"\s+\(?\w*(free|close|destroy|clear|release)\w*\(", mask
    )  # a leak, which AddressSanitizer finds
    balanced = mask.count("(") == mask.count(")") and not release
    if (
        balanced
        and re.fullmatch(r"\s+(?:\(void\))?[a-z_][\w>.\-]*\(.*\);\s*", mask)
        or re.fullmatch(r"\s+[\w>.\[\]\-]+ [-+*|]= .*;\s*", mask)
    ):
        yield "the statement is removed", re.match(r"\s*", line)[0] + ";"  # type: ignore[index]
    found = re.fullmatch(r"(\s+)ANT_TRY\((.*)\);\s*", mask)
    if found and balanced:
        yield "the call is removed", f"{found[1]};"
        yield "the status is ignored", f"{found[1]}(void)({line[found.start(2) : found.end(2)]});"


def all_changes(root: Path) -> Dict[str, List[List[Mutant]]]:
    """By folder, and there by line."""
    result: Dict[str, List[List[Mutant]]] = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".c", ".cu", ".cuh"):
            continue
        text = path.read_text()
        lines, masks = text.splitlines(), masked(text).splitlines()
        for number in body_lines(masked(text)):
            line = lines[number - 1]
            name = str(path.relative_to(root))
            found = [
                Mutant(what, name, number, line, new) for what, new in changes(line, masks[number - 1]) if new != line
            ]
            if found:
                result.setdefault(str(path.parent.relative_to(root / "src")), []).append(found)
    return result


def share_out(places: Dict[str, List[List[Mutant]]], count: int) -> List[str]:
    """The folders of `count` mutants: by the square root of their lines, so that small ones count, too."""
    weights = {folder: len(lines) ** 0.5 for folder, lines in places.items()}
    total = sum(weights.values())
    exact = {folder: count * weight / total for folder, weight in weights.items()}
    shares = {folder: max(1, int(share)) for folder, share in exact.items()}
    for folder in sorted(exact, key=lambda f: exact[f] - int(exact[f]), reverse=True):
        if sum(shares.values()) < count:
            shares[folder] += 1
    return [folder for folder, share in sorted(shares.items()) for _ in range(share)][:count]


def candidates(places: Dict[str, List[List[Mutant]]], folder: str, seed: str) -> Iterator[Mutant]:
    chance = random.Random(seed)
    while True:
        yield chance.choice(chance.choice(places[folder]))


def read_hand_made(path: Path) -> List[Mutant]:
    """Blocks of a name, a file, and lines that begin with - and +; an indented line continues the one before."""
    found = []
    for block in re.split(r"\n\s*\n", path.read_text()):
        lines = [line for line in block.splitlines() if line and not line.startswith("#")]
        if lines:
            old = "\n".join(line[1:] for line in lines[2:] if line.startswith("-"))
            new = "\n".join(line[1:] for line in lines[2:] if line.startswith("+"))
            found.append(Mutant(lines[0], lines[1], 0, old, new))
    return found


# ---- building and testing --------------------------------------------------------------------------


def run(command: Sequence[str], **more: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)  # type: ignore[call-overload]


def copy_tree() -> None:
    names = run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard"]).stdout.splitlines()
    for name in names:
        source, target = ROOT / name, TREE / name
        if source.is_file() and not (target.exists() and filecmp.cmp(source, target, shallow=False)):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    have = {
        str(path.relative_to(TREE))
        for folder in ("src", "tests")
        for path in (TREE / folder).rglob("*")
        if path.is_file()
    }
    for name in have - set(names):
        (TREE / name).unlink()


def configure() -> None:
    done = run(["cmake", "--preset", PRESET], cwd=TREE)
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)


def test_names(pattern: str) -> List[str]:
    listed = run(["ctest", "--test-dir", str(BUILD), "-N", "-R", f"^({pattern})$"]).stdout
    return re.findall(r"Test +#\d+: (\S+)", listed)


def targets(tests: Sequence[str]) -> List[str]:
    chosen = set()
    for test in tests:
        kind, name = test.split("/", 1)
        chosen.update(
            {
                "unit": [name],
                "golden": ["golden"],
                "golden_cuda": ["golden", "fake_cuda", "fake_nvrtc"],
                "cli": ["antler_cli"],
                "torture": ["antler_cli", "supervisor"],
            }.get(kind, ["all"])
        )
    return ["all"] if "all" in chosen else sorted(chosen)


def build(what: Sequence[str]) -> bool:
    return run(["ninja", "-C", str(BUILD), "-j", os.environ.get("JOBS", "2"), *what]).returncode == 0


def limit_cpu() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT, CPU_LIMIT))


def failing(tests: Sequence[str]) -> Optional[str]:
    """The first test that fails; None: all pass."""
    if not tests:
        return None
    pattern = "^(" + "|".join(re.escape(test) for test in tests) + ")$"
    jobs, costs = os.environ.get("JOBS", "2"), test_costs()
    limit = min(LIMIT, 40.0 + 15.0 * max(costs.get(test, 30.0) for test in tests))  # for one that hangs
    command = ["ctest", "--test-dir", str(BUILD), "-R", pattern, "-j", jobs, "--stop-on-failure"]
    done = run([*command, "--timeout", f"{limit:.0f}"], preexec_fn=limit_cpu)
    found = re.findall(r"^\s*\d+ - (\S+) \(([^)]*)\)", done.stdout, flags=re.M)
    if done.returncode == 0 or (found and all(why in ("Skipped", "Disabled") for _, why in found)):
        return None
    return f"{found[0][0]} ({found[0][1]})" if found else "ctest"


# ---- which tests first --------------------------------------------------------------------------


def test_source(test: str) -> str:
    kind, name = test.split("/", 1)
    for path in (TREE / f"tests/{kind}/{name}.c", TREE / f"tests/{kind}/{name}.sh", TREE / f"tests/{kind}/{name}.py"):
        if path.exists():
            return path.read_text()
    return ""


def functions(file: str) -> List[str]:
    """The functions of a file that others call."""
    text = masked((TREE / file).read_text())
    plain = re.findall(r"^(?!static)[a-z][^;{}#()=]*?\b(\w{5,})\(", text, flags=re.M)
    return sorted(set(plain + re.findall(r"^(?!static)[a-z].*\bANT_FN\((\w+)\)", text, flags=re.M)))


def test_costs() -> Dict[str, float]:
    """Seconds of each test, from the runs in the copy."""
    found = COSTS.read_text().splitlines() if COSTS.exists() else []
    rows = [line.split() for line in found if len(line.split()) == 3]
    return {name: float(seconds) for name, runs, seconds in rows if runs != "0"}


def ranked(file: str, pattern: str) -> List[str]:
    """All tests that match, the most promising for the cost first."""
    costs, names = test_costs(), functions(file)
    parts = set(re.sub(r"^cmd_|_tmpl$|_simd$", "", Path(file).stem).split("_"))
    related = re.compile(RELATED.get(str(Path(file).parent.relative_to("src")), ".*"))

    def promise(test: str) -> float:
        source, title = test_source(test), test.split("/")[1].split("_")
        score = sum(re.search(rf"\b{re.escape(name)}", source) is not None for name in names)
        score += 5 * len(parts.intersection(title)) + 2 * (related.fullmatch(test) is not None)
        return (score + 0.01) / (costs.get(test, 5.0) + 0.5) ** 0.5

    return sorted(test_names(pattern), key=promise, reverse=True)


def stages(file: str, pattern: str) -> List[List[str]]:
    """Tests in the order of their promise, ever more of them at a time; kills and power cuts come last."""
    tests = ranked(file, pattern)
    tests = [t for t in tests if not t.startswith("torture/")] + [t for t in tests if t.startswith("torture/")]
    ends = [0, 4, 12, 30, 60, 100, len(tests)]
    return [tests[i:j] for i, j in zip(ends, ends[1:])]


# ---- results --------------------------------------------------------------------------


FIELDS = ["slot", "key", "revision", "result", "by", "file", "line", "name", "old", "new"]
Row = Dict[str, str]


def read_results() -> List[Row]:
    if not RESULTS.exists():
        return []
    with open(RESULTS, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def keep(row: Row) -> None:
    """Add a row, in the place of one of the same mutant."""
    lock = os.open(RESULTS.parent, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    rows = [old for old in read_results() if old["key"] != row["key"]] + [row]
    with open(RESULTS, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda r: [int(x) if x.isdigit() else 0 for x in r["slot"].split("-")]))
    os.close(lock)


def tell(rows: Sequence[Row]) -> int:
    """Print survivors and the share; the exit status."""
    count = {result: sum(row["result"] == result for row in rows) for result in ("killed", "survived", "equivalent")}
    for row in rows:
        if row["result"] in ("survived", "equivalent"):
            print(f"{row['slot']} {row['result']} {row['file']}:{row['line']}: {row['name']} {row['by']}")
            print(f"  - {row['old'].strip()}\n  + {row['new'].strip()}")
    judged = count["killed"] + count["survived"]
    print(f"{count['killed']} of {judged} killed; besides, {count['equivalent']} that no test could notice")
    return 1 if count["survived"] > 0.05 * judged else 0


# ---- one mutant --------------------------------------------------------------------------


def mutated(mutant: Mutant, text: str) -> Optional[str]:
    """The changed text; the line may have moved since the mutant was made."""
    if mutant.line == 0:
        return text.replace(mutant.old, mutant.new) if text.count(mutant.old) == 1 else None
    lines = text.splitlines(keepends=True)
    there = [i for i, line in enumerate(lines) if line.rstrip("\n") == mutant.old]
    if not there:
        return None
    lines[min(there, key=lambda i: abs(i + 1 - mutant.line))] = mutant.new + "\n"
    return "".join(lines)


def objects(file: str) -> Dict[str, str]:
    """Hashes of what a source is compiled to."""
    found = [path for path in BUILD.rglob(f"{Path(file).name}.o")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def judge(mutant: Mutant, left_out: Sequence[str], chosen: argparse.Namespace) -> Tuple[str, str]:
    """killed, survived or invalid, and by what."""
    tried = 0
    path = TREE / mutant.file
    before, text = objects(mutant.file), path.read_text()
    new = mutated(mutant, text)
    if new is None:
        return "invalid", "the text is not there"
    path.write_text(new)
    try:
        for stage in stages(mutant.file, chosen.pattern):
            if tried >= chosen.tests:
                return "survived", f"the first {tried} tests"
            tests = [test for test in stage if test not in left_out]
            tried += len(tests)
            if not build(targets(tests)):
                return "invalid", "it does not compile"
            if before and objects(mutant.file) == before:
                return "invalid", "the same code"
            by = failing(tests)
            if by is not None:
                return "killed", by if PRESET == "release" else f"{by} {PRESET}"
        return "survived", "all tests" if chosen.pattern == ".*" else f"all {tried} tests of {chosen.pattern}"
    finally:
        path.write_text(text)


def judged(
    mutant: Mutant, slot: str, revision: str, left_out: Sequence[str], chosen: argparse.Namespace
) -> Row:
    begin = time.monotonic()
    result, by = judge(mutant, left_out, chosen)
    what = [mutant.file, str(mutant.line), mutant.name, mutant.old, mutant.new]
    row = dict(zip(FIELDS, [slot, mutant.key, revision, result, by, *what]))
    keep(row)
    seconds = time.monotonic() - begin
    print(f"{slot} {result} {by}  {mutant.file}:{mutant.line} {mutant.name}, {seconds:.0f} s", flush=True)
    return row


def unchanged() -> List[str]:
    """Build the copy without a mutant, once, and run all its tests: those that fail there are left out."""
    known = WORK / f"unchanged-{PRESET}.txt"
    if not known.exists():
        if not build(["all"]):
            sys.exit("the unchanged tree does not build")
        done = run(["ctest", "--test-dir", str(BUILD), "-j", os.environ.get("JOBS", "2"), "--timeout", str(LIMIT)])
        found = re.findall(r"^\s*\d+ - (\S+) \((?!Skipped|Disabled)", done.stdout, flags=re.M)
        known.write_text("\n".join(found))
    left_out = known.read_text().split()
    if left_out:
        print(f"left out, because they fail without a mutant: {' '.join(left_out)}", flush=True)
    return left_out


def choose(chosen: argparse.Namespace) -> List[Tuple[str, Iterator[Mutant]]]:
    """Slots, and what may fill each."""
    if chosen.hand_made:
        made = read_hand_made(ROOT / "tests/mutants/hand_made.txt")
        return [(f"hand-{i + 1}", iter([mutant])) for i, mutant in enumerate(made)]
    if chosen.again:
        rows = [row for row in read_results() if row["slot"] in chosen.again and row["result"] == "survived"]
        made = [Mutant(row["name"], row["file"], int(row["line"]), row["old"], row["new"]) for row in rows]
        return [(row["slot"], iter([mutant])) for row, mutant in zip(rows, made)]
    places = all_changes(TREE)
    folders = share_out(places, chosen.count)
    return [
        (f"{chosen.seed}-{i + 1}", candidates(places, folder, f"{chosen.seed}-{i + 1}"))
        for i, folder in enumerate(folders)
    ]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first mutant, from 1")
    parser.add_argument("--to", dest="last", type=int, default=10**9, help="the last one")
    parser.add_argument("--step", type=int, default=1, help="only every one of so many")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further one after this time")
    parser.add_argument("--tests", type=int, default=10**9, help="about so many tests for each, the most promising")
    parser.add_argument("--with", dest="pattern", default=".*", help="only tests that match this, as unit/test_fit")
    parser.add_argument("--hand-made", action="store_true", help="those of tests/mutants/hand_made.txt")
    parser.add_argument("--again", nargs="+", metavar="SLOT", help="survivors, once more")
    parser.add_argument("--list", action="store_true", help="print them and run nothing")
    parser.add_argument("--share", action="store_true", help="print what is known and run nothing")
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    if chosen.share:
        kind = "hand-" if chosen.hand_made else f"{chosen.seed}-"
        return tell([row for row in read_results() if row["slot"].startswith(kind)])
    begin = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    copy_tree()
    slots = choose(chosen)[chosen.first - 1 : chosen.last : chosen.step]
    if chosen.list:
        for slot, mutants in slots:
            made = next(mutants)
            print(f"{slot} {made.file}:{made.line}: {made.name}\n  - {made.old.strip()}\n  + {made.new.strip()}")
        return 0
    configure()
    left_out = unchanged()
    build(["antler_static", "fake_cuda"])  # what a mutant that was interrupted has left
    revision = run(["git", "-C", str(ROOT), "rev-parse", "--short=10", "HEAD"]).stdout.strip()
    done = {} if chosen.again else {row["slot"]: row for row in read_results() if row["result"] != "invalid"}
    rows = []
    for slot, mutants in slots:
        if slot in done:
            rows.append(done[slot])
            continue
        if time.monotonic() - begin > 60.0 * chosen.minutes:
            break
        tried = {row["key"] for row in read_results() if row["result"] == "invalid"}
        for mutant in mutants:
            if mutant.key not in tried:
                row = judged(mutant, slot, revision, left_out, chosen)
                if row["result"] != "invalid":
                    rows.append(row)
                    break
    print(f"{time.monotonic() - begin:.0f} s")
    return tell(rows)


if __name__ == "__main__":
    sys.exit(main())
