#!/usr/bin/env python3
"""count_tests.py STEP LOG... - what a step of .ci/run has run and skipped, compared with tests/expected_tests.txt.

Exit status 1, and a line for each difference, when there are fewer tests of a kind than the file has, or a skip that it
does not list. More tests than listed are no fault; the lines to put into the file are printed.

    STEP  the name of the step; LOG: what it printed, and for CTest also LastTest.log, which has the output of each test

The kinds: `ctest` tests of CTest, `cmocka` functions of unit tests, `pytest` functions of Python tests, `fuzzers` that
came to their end, `kernels` that were compiled. A line of the file is `STEP KIND NUMBER`, or `skip STEP TEXT: REASON`,
where TEXT is part of the line that names the skip and STEP may be `*`.
"""

import re
import sys
from collections import Counter
from pathlib import Path

EXPECTED = Path(__file__).resolve().parents[1] / "tests" / "expected_tests.txt"
NUMBERS = {
    "ctest": r"tests failed out of (\d+)$",
    "cmocka": r"\[  PASSED  \] (\d+) test\(s\)\.",
    "pytest": r"^(?:=+ )?(?:\d+ failed, )?(\d+) passed\b",
}
ONES = {"fuzzers": r"^fuzz_\w+: no fault in", "kernels": r"^\S+\.cu\b.* sm_\d+ .* registers "}
SKIPS = (
    r"Test +#\d+: (\S+) \.*\*\*\*(?:Skipped|Not Run)",  # CTest
    r"\[  SKIPPED \] (?!\d+ test)(\w+)",  # cmocka
    r"^SKIPPED \[\d+\] (.*)",  # pytest -rs
    r"^(?:\S+: )?skipped(?::|, because) (.*)",  # scripts of this tree
    r"\bskipped: (this build has no .*)",  # golden
    r"^(No tests were found.*)",
)


def read(log):
    """(how many tests of each kind, the skips) of a log."""
    counts, skips = Counter(), []
    for line in log.splitlines():
        for kind, pattern in NUMBERS.items():
            found = re.search(pattern, line)
            counts[kind] += int(found[1]) if found else 0
        for kind, pattern in ONES.items():
            counts[kind] += bool(re.search(pattern, line))
        skips += [found[1].strip() for found in (re.search(pattern, line) for pattern in SKIPS) if found]
    return counts, skips


def expected(text, step):
    """(numbers of each kind, texts of skips) that the file has for a step."""
    numbers, skips = {}, []
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words[:1] == ["skip"] and words[1] in (step, "*"):
            skips.append(line.split(None, 2)[2].split(": ")[0])
        elif len(words) == 3 and words[0] == step:
            numbers[words[1]] = int(words[2])
    return numbers, skips


def compare(step, logs, text):
    """(faults, remarks), each a list of lines."""
    counts, skips, faults, remarks = Counter(), [], [], []
    for log in logs:
        found, names = read(log)
        counts.update(found)
        skips += names
    numbers, allowed = expected(text, step)
    for kind, least in numbers.items():
        if counts[kind] < least:
            faults.append(f"{step}: {counts[kind]} {kind} tests, {least - counts[kind]} fewer than expected")
    for skip in skips:
        if not any(part in skip for part in allowed):
            faults.append(f"{step}: skipped, and not expected: {skip}")
    for kind, count in counts.items():
        if count > numbers.get(kind, 0):
            remarks.append(f"{step} {kind} {count}")
    return faults, remarks


def main(step, *paths):
    logs = [Path(path).read_text(errors="replace") for path in paths if Path(path).exists()]
    faults, remarks = compare(step, logs, EXPECTED.read_text())
    for fault in faults:
        print(fault)
    if faults:
        print(f"If this is meant: change {EXPECTED.name} in tests: 'STEP KIND NUMBER' or 'skip STEP TEXT: REASON'.")
    if remarks:
        print("More than tests/expected_tests.txt has: " + "; ".join(remarks))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
