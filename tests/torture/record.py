"""What the programs of tests/torture have done so far, in tests/torture/record.csv, so that a later run continues.

The trials of a command are numbered from 0; a row has a range of them, the revision, how many were wrong, and seconds
on the clock. A range without a wrong trial is not run again. `python3 tests/torture/record.py` prints the sums.
"""

import csv
import datetime
import fcntl
import os
import subprocess
from pathlib import Path
from typing import Dict, Iterator, List, Optional

HERE = Path(__file__).resolve().parent
FIELDS = ["date", "revision", "program", "command", "first", "last", "of", "wrong", "seconds"]
CHUNK = 40  #: trials between two writes of the record


def read(path: Path) -> List[Dict[str, str]]:
    if not path.exists():
        return []
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Record:
    """The rows of a program; without a path nothing is kept, and nothing counts as done."""

    def __init__(self, path: Optional[str], program: str) -> None:
        self.path, self.program = Path(path) if path else None, program
        done = subprocess.run(
            ["git", "-C", str(HERE), "rev-parse", "--short=10", "HEAD"], capture_output=True, text=True, check=False
        )
        self.revision = done.stdout.strip() or "unknown"

    def _is_mine(self, row: Dict[str, str], command: str) -> bool:
        return (row["program"], row["command"]) == (self.program, command)

    def left(self, command: str, of: int) -> Iterator[range]:
        """Ranges of trials that have not been seen to be right, a chunk at a time."""
        rows = [row for row in read(self.path) if self._is_mine(row, command)] if self.path else []
        right = {i for row in rows if row["wrong"] == "0" for i in range(int(row["first"]), int(row["last"]) + 1)}
        first = 0
        while first < of:
            if first in right:
                first += 1
                continue
            end = first
            while end < of and end not in right and end < first + CHUNK:
                end += 1
            yield range(first, end)
            first = end

    def add(self, command: str, trials: range, of: int, wrong: int, seconds: float) -> None:
        """Keep a range, in place of those in it that were wrong, and joined to the one before it."""
        if self.path is None:
            return
        lock = os.open(HERE, os.O_RDONLY)  # other programs may write it, too
        fcntl.flock(lock, fcntl.LOCK_EX)
        self._write(self._joined(command, trials, of, wrong, seconds))
        os.close(lock)

    def _joined(self, command: str, trials: range, of: int, wrong: int, seconds: float) -> List[Dict[str, str]]:
        """The rows of the file and the new one."""
        first, last = trials[0], trials[-1]
        rows = [
            row
            for row in read(Path(str(self.path)))
            if not (self._is_mine(row, command) and row["wrong"] != "0" and first <= int(row["first"]) <= last)
        ]
        for row in list(rows):
            near = self._is_mine(row, command) and int(row["last"]) == first - 1 and row["revision"] == self.revision
            if near and row["wrong"] == "0" and wrong == 0:
                rows.remove(row)
                first, seconds = int(row["first"]), seconds + float(row["seconds"])
        today = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
        values = [today, self.revision, self.program, command, first, last, of, wrong, f"{seconds:.0f}"]
        return rows + [dict(zip(FIELDS, map(str, values)))]

    def _write(self, rows: List[Dict[str, str]]) -> None:
        with open(f"{self.path}.new", "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda r: (r["program"], r["command"], int(r["first"]))))
        os.replace(file.name, str(self.path))


def main() -> None:
    """A line for each command of each program, and the sums."""
    programs: Dict[str, Dict[str, List[float]]] = {}
    for row in read(HERE / "record.csv"):
        sums = programs.setdefault(row["program"], {}).setdefault(row["command"], [0, 0, 0, 0])
        sums[0] += int(row["last"]) - int(row["first"]) + 1
        sums[1] = int(row["of"])
        sums[2] += int(row["wrong"])
        sums[3] += float(row["seconds"])
    for program, commands in programs.items():
        for command, (trials, of, wrong, seconds) in commands.items():
            print(f"{program:12} {command:14} {trials:6.0f} of {of:6.0f} trials, {wrong:.0f} wrong, {seconds:.0f} s")
        trials, of, wrong, seconds = [sum(values) for values in zip(*commands.values())]
        print(f"{program:12} {'in all':14} {trials:6.0f} of {of:6.0f} trials, {wrong:.0f} wrong, {seconds:.0f} s")


if __name__ == "__main__":
    main()
