#!/usr/bin/env python3
"""Change src on purpose, one small change at a time, and count the changes that the tests notice.

    scripts/mutants.py                        100 mutants, chosen by --seed over all folders of src
    scripts/mutants.py --hand-made            those of tests/mutants.txt
    scripts/mutants.py --from 20 --to 40      a slice of them; --minutes 30 ends after that time
    scripts/mutants.py --list                 print them and run nothing

Each is made in a copy of the tree (build/mutants), built as `make` does, and run against the unit tests of its folder,
then against the command line tests and the golden vectors, and with --whole against all the others. It counts as
killed at the first test that fails. build/mutants/results.csv keeps the results: what is in there is not run again.
A mutant that does not compile, or compiles to the same code, is replaced by another.
"""

import argparse
import csv
import filecmp
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Iterator, List, Optional, Sequence, Tuple

ROOT = Path(__file__).resolve().parents[1]
WORK = ROOT / "build/mutants"
TREE, BUILD, RESULTS = WORK / "tree", WORK / "tree/build", WORK / "results.csv"
LIMIT = 300  # seconds for one test
os.environ.update(CCACHE_BASEDIR=str(TREE), CCACHE_NOHASHDIR="1", OMP_WAIT_POLICY="passive")

#: The unit tests that are run first, by folder; cli: command line tests.
FIRST = {
    "base": "unit/test_(base|lock|npy|npz|csv|out_of_memory|series|checkpoint)|torture/.*",
    "cli": "cli/test_(usage|info|simulate|measure|free_runs|sweep|verdict|extension|bench)",
    "data": "unit/test_(columns|csv|load|npy|npz|number|numpy|series|view|statistics|out_of_memory|model_file)",
    "data/systems": "unit/test_(systems|simulate|flows)|golden/system.*",
    "engine": "unit/test_(cuda|cuda_engine)",
    "engine/cuda": "unit/test_cuda.*|golden_cuda/.*",
    "engine/cuda/kernels": "unit/test_cuda.*|golden_cuda/.*",
    "fit": "unit/test_fit|cli/test_fit",
    "measure": "unit/test_(bins|embed|eval.*|fft|lyapunov|measure|mixture|rmse|spectrum|validation|verdict)|golden/.*",
    "model": "unit/test_(model|model_file|generate|initial|diagonal|lyapunov|evaluate|flows)|golden/.*",
    "solve": "unit/test_(solve|solve_golden|scan|linear|forcing|gradient|cell|alpha|problem)|golden/.*",
    "train": "unit/test_(train|check.*|settings|windows|optim.*|held_back|problem|initial|valid.*|stat.*)|torture/.*",
}
SECOND = "cli/.*|golden/.*|torture/.*"
WHOLE = ".*"


@dataclass(frozen=True)
class Mutant:
    name: str  #: what was changed
    file: str
    line: int  #: from 1; 0: the text is searched
    old: str
    new: str

    @property
    def folder(self) -> str:
        return str(Path(self.file).parent.relative_to("src"))

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
    done = run(["cmake", "--preset", "release"], cwd=TREE)
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


def failing(tests: Sequence[str]) -> Optional[str]:
    """The first test that fails; None: all pass."""
    if not tests:
        return None
    pattern = "^(" + "|".join(re.escape(test) for test in tests) + ")$"
    done = run(
        [
            "ctest",
            "--test-dir",
            str(BUILD),
            "-R",
            pattern,
            "-j",
            os.environ.get("JOBS", "2"),
            "--stop-on-failure",
            "--timeout",
            str(LIMIT),
        ]
    )
    found = re.findall(r"^\s*\d+ - (\S+) \((\S+)\)", done.stdout, flags=re.M)
    if done.returncode == 0 or (found and all(why in ("Skipped", "Disabled") for _, why in found)):
        return None
    return f"{found[0][0]} ({found[0][1]})" if found else "ctest"


def stages(folder: str, whole: bool) -> List[List[str]]:
    seen: List[str] = []
    result = []
    for pattern in [FIRST.get(folder, WHOLE), SECOND] + ([WHOLE] if whole else []):
        tests = [test for test in test_names(pattern) if test not in seen]
        seen += tests
        result.append(tests)
    return result


# ---- results --------------------------------------------------------------------------


FIELDS = ["key", "slot", "result", "by", "file", "line", "name", "old", "new"]


def read_results() -> Dict[str, Dict[str, str]]:
    if not RESULTS.exists():
        return {}
    with open(RESULTS, newline="", encoding="utf-8") as file:
        return {row["key"]: row for row in csv.DictReader(file)}


def keep(mutant: Mutant, slot: str, result: str, by: str) -> Dict[str, str]:
    row = dict(
        zip(
            FIELDS, [mutant.key, slot, result, by, mutant.file, str(mutant.line), mutant.name, mutant.old, mutant.new]
        )
    )
    fresh = not RESULTS.exists()
    with open(RESULTS, "a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if fresh:
            writer.writeheader()
        writer.writerow(row)
    return row


def mutated(mutant: Mutant, text: str) -> Optional[str]:
    if mutant.line == 0:
        return text.replace(mutant.old, mutant.new) if text.count(mutant.old) == 1 else None
    lines = text.splitlines(keepends=True)
    lines[mutant.line - 1] = mutant.new + "\n"
    return "".join(lines)


def objects(file: str) -> Dict[str, str]:
    """Hashes of what a source is compiled to."""
    found = [path for path in BUILD.rglob(f"{Path(file).name}.o")]
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in found}


def judge(mutant: Mutant, whole: bool) -> Tuple[str, str]:
    """killed, survived or invalid, and by what."""
    path = TREE / mutant.file
    before, text = objects(mutant.file), path.read_text()
    new = mutated(mutant, text)
    if new is None:
        return "invalid", "the text is not there once"
    path.write_text(new)
    try:
        for tests in stages(mutant.folder, whole):
            if not build(targets(tests)):
                return "invalid", "it does not compile"
            if before and objects(mutant.file) == before:
                return "invalid", "the same code"
            by = failing(tests)
            if by is not None:
                return "killed", by
        return "survived", ""
    finally:
        path.write_text(text)


def check_unchanged(folders: Sequence[str], whole: bool) -> None:
    """Without a mutant, all pass."""
    if not build(["all"]):
        sys.exit("the unchanged tree does not build")
    for folder in sorted(set(folders)):
        for tests in stages(folder, whole):
            by = failing(tests)
            if by is not None:
                sys.exit(f"{by} fails without a mutant")


def choose(chosen: argparse.Namespace) -> List[Tuple[str, Iterator[Mutant]]]:
    """Slots, and what may fill each."""
    if chosen.hand_made:
        made = read_hand_made(ROOT / "tests/mutants.txt")
        return [(f"hand-{i + 1}", iter([mutant])) for i, mutant in enumerate(made)]
    places = all_changes(TREE)
    folders = share_out(places, chosen.count)
    return [
        (f"{chosen.seed}-{i + 1}", candidates(places, folder, f"{chosen.seed}-{i + 1}"))
        for i, folder in enumerate(folders)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from", dest="first", type=int, default=1, help="the first mutant, from 1")
    parser.add_argument("--to", dest="last", type=int, default=10**9, help="the last one")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no further one after this time")
    parser.add_argument("--hand-made", action="store_true", help="those of tests/mutants.txt")
    parser.add_argument("--whole", action="store_true", help="run the whole suite against survivors of the rest")
    parser.add_argument("--list", action="store_true", help="print them and run nothing")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutant first")
    chosen = parser.parse_args()
    begin = time.monotonic()
    copy_tree()
    slots = choose(chosen)[chosen.first - 1 : chosen.last]
    if chosen.list:
        for slot, mutants in slots:
            mutant = next(mutants)
            print(
                f"{slot} {mutant.file}:{mutant.line}: {mutant.name}\n  - {mutant.old.strip()}\n  + {mutant.new.strip()}"
            )
        return 0
    configure()
    if not chosen.unchecked:
        check_unchanged([next(choose(chosen)[i][1]).folder for i in range(len(slots))], chosen.whole)
    elif not build(["all"]):
        sys.exit("the unchanged tree does not build")
    rows, done = [], read_results()
    for slot, mutants in slots:
        if time.monotonic() - begin > 60.0 * chosen.minutes:
            break
        for mutant in mutants:
            row = done.get(mutant.key) or keep(mutant, slot, *judge(mutant, chosen.whole))
            done[mutant.key] = row
            print(f"{slot} {row['result']} {row['by']}  {row['file']}:{row['line']} {row['name']}", flush=True)
            if row["result"] != "invalid":
                rows.append(row)
                break
    survivors = [row for row in rows if row["result"] == "survived"]
    for row in survivors:
        print(
            f"SURVIVED {row['file']}:{row['line']}: {row['name']}\n  - {row['old'].strip()}\n  + {row['new'].strip()}"
        )
    print(f"{len(rows) - len(survivors)} of {len(rows)} killed; {time.monotonic() - begin:.0f} s")
    return 1 if len(survivors) > 0.05 * len(rows) else 0


if __name__ == "__main__":
    sys.exit(main())
