#!/usr/bin/env python3
"""A power cut after every nth change on disk: what was promised is there, and the work goes on to the same bytes.

A command is recorded once: its changes of files and folders, and its calls of fsync. Then folders are built as a power
cut could leave them. POSIX promises the data of a file after an fsync of the file, and the names in a folder after an
fsync of the folder, nothing else. So until then, data may be lost, cut off or zero, and each change of a name (made,
renamed, removed) may be lost or kept by itself, in any order.

Promises: a checkpoint, once the command has gone on to write model.npz, with the rows of log.csv up to it; everything,
once the command has ended. commands.py has what else must hold.
"""

import argparse
import random
import re
import shutil
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple, Union

import commands
from commands import Command, Stage, Trial, Wrong

#: How the disk looks after the cut: what becomes of names, and of data, that were not synced.
MODES = {
    "all lost": ("lost", "lost"),
    "names kept, data lost": ("kept", "lost"),
    "names kept, data zero": ("kept", "zero"),
    "names lost, data kept": ("lost", "kept"),
    "mixed": ("mixed", "mixed"),
}


class File:
    """A file: its bytes after the last fsync, and the changes since then, (place, bytes) or (length, None)."""

    def __init__(self, data: bytes = b"") -> None:
        self.synced, self.changes = data, []  # type: bytes, List[Tuple[int, Optional[bytes]]]

    def after(self, changes: List[Tuple[int, Optional[bytes]]]) -> bytes:
        data = bytearray(self.synced)
        for place, new in changes:
            if new is None:
                data = data[:place] + bytes(place - len(data))
            else:
                data += bytes(max(0, place - len(data)))
                data[place : place + len(new)] = new
        return bytes(data)

    def sync(self) -> None:
        self.synced, self.changes = self.after(self.changes), []

    def left(self, how: str, chance: random.Random) -> bytes:
        """The bytes that are there after the cut."""
        how = chance.choice(["lost", "zero", "kept", "first", "cut"]) if how == "mixed" else how
        if how == "lost":
            return self.synced
        if how == "zero":
            return self.after([(place, new and bytes(len(new))) for place, new in self.changes])
        if how == "first":
            return self.after(self.changes[: chance.randint(0, len(self.changes))])
        whole = self.after(self.changes)
        return whole[: chance.randint(min(len(self.synced), len(whole)), len(whole))] if how == "cut" else whole


class Folder:
    """A folder: its names after the last fsync, and the changes since then, each of one name or two at once."""

    def __init__(self) -> None:
        self.synced: Dict[str, "Node"] = {}
        self.changes: List[Dict[str, Optional["Node"]]] = []

    @staticmethod
    def apply(names: Dict[str, "Node"], change: Dict[str, Optional["Node"]]) -> None:
        for name, node in change.items():
            if node is None:
                names.pop(name, None)
            else:
                names[name] = node

    def now(self) -> Dict[str, "Node"]:
        names = dict(self.synced)
        for change in self.changes:
            self.apply(names, change)
        return names

    def sync(self) -> None:
        self.synced, self.changes = self.now(), []

    def left(self, how: str, chance: random.Random) -> Dict[str, "Node"]:
        names = dict(self.synced)
        for change in self.changes:
            if how == "kept" or (how == "mixed" and chance.random() < 0.5):
                self.apply(names, change)
        return names


Node = Union[File, Folder]


class Disk:
    """A folder with all that is below it."""

    def __init__(self, start: Path) -> None:
        self.root = self._load(start)

    def _load(self, path: Path) -> Folder:
        folder = Folder()
        for entry in path.iterdir():
            folder.synced[entry.name] = self._load(entry) if entry.is_dir() else File(entry.read_bytes())
        return folder

    def find(self, path: str) -> Node:
        node: Node = self.root
        for part in Path(path).parts:
            assert isinstance(node, Folder), path
            node = node.now()[part]
        return node

    def parent(self, path: str) -> Folder:
        node = self.find(str(Path(path).parent))
        assert isinstance(node, Folder), path
        return node

    def change(self, record: List[str]) -> None:
        """Apply a line of the supervisor's record."""
        what, path = record[0], record[1]
        name = Path(path).name
        if what in ("create", "mkdir"):
            self.parent(path).changes.append({name: File() if what == "create" else Folder()})
        elif what == "unlink":
            self.parent(path).changes.append({name: None})
        elif what == "rename":
            node = self.find(path)
            if Path(path).parent != Path(record[2]).parent:
                raise Wrong(f"a rename between folders is not known here: {record}")
            self.parent(path).changes.append({name: None, Path(record[2]).name: node})
        elif what == "sync":
            self.find(path).sync()
        else:
            file = self.find(path)
            assert isinstance(file, File), path
            file.changes.append((int(record[2]), None if what == "truncate" else bytes.fromhex(record[3])))

    def write(self, folder: Path, mode: str, chance: random.Random) -> None:
        """The folder as a power cut leaves it."""
        self._write(self.root, folder, *MODES[mode], chance)

    def _write(self, node: Folder, folder: Path, names: str, data: str, chance: random.Random) -> None:
        folder.mkdir()
        for name, entry in node.left(names, chance).items():
            if isinstance(entry, Folder):
                self._write(entry, folder / name, names, data, chance)
            else:
                (folder / name).write_bytes(entry.left(data, chance))


# ---- promises --------------------------------------------------------------------------


def promised(records: List[List[str]]) -> Dict[str, int]:
    """The newest promised checkpoint of each run: the model was written after it."""
    renamed: Dict[str, int] = {}
    found: Dict[str, int] = {}
    for record in records:
        if record[0] == "mkdir" or (record[0] == "rename" and record[2].endswith("/config.yaml")):
            renamed.pop(str(Path(record[1]).parent), None)  # a new run begins here
            found.pop(str(Path(record[1]).parent), None)
        match = re.fullmatch(r"(.*)/checkpoints/update-(\d+)\.npz", record[2]) if record[0] == "rename" else None
        if match:
            renamed[match[1]] = int(match[2])
        run = str(Path(record[1]).parent)
        if record[0] == "create" and Path(record[1]).name.startswith(".model.npz.") and run in renamed:
            found[run] = renamed[run]
    return found


def check_promises(folder: Path, records: List[List[str]]) -> None:
    for run, update in promised(records).items():
        there = [int(path.name[7:-4]) for path in (folder / run / "checkpoints").glob("update-0*.npz")]
        if max(there, default=0) < update:
            raise Wrong(f"{run}: the checkpoint of update {update} is lost, there are {there}")
        rows = (folder / run / "log.csv").read_text(errors="replace").splitlines()[1:]
        numbers = [int(row.split(",")[0]) for row in rows if re.match(r"\d+,", row)]
        wanted = [1, *range(5, update + 1, 5)]
        if numbers[: len(wanted)] != wanted:
            raise Wrong(f"{run}: rows up to update {update} are lost, there are {numbers}")


def trial(
    stage: Stage, command: Command, reference: Path, records: List[List[str]], count: int, mode: str
) -> Optional[str]:
    disk = Disk(stage.start(command.start))
    for record in records[:count]:
        disk.change(record)
    folder = stage.root / f"cut-{command.name}-{count}-{mode.replace(' ', '-')}"
    try:
        disk.write(folder, mode, random.Random(count))
        commands.check_others(folder, stage.start(command.start))
        commands.check_whole(folder)
        if command.name in ("train", "resume", "overwrite"):
            check_promises(folder, records[:count])
        if count == len(records):
            commands.compare(folder, reference, "it had ended")
        stage.repair(folder, command)
        commands.compare(folder, reference, "after the repair")
    except Exception as wrong:  # whatever it is, it is reported with its place
        place = "its end" if count == len(records) else " ".join(records[count][:2])
        return f"{command.name} --at {count}, before {place}, {mode}: {wrong}"
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return None


def trials_of(stage: Stage, command: Command, chosen: argparse.Namespace) -> List[Trial]:
    if command.name == "measure":
        return []  # it changes nothing
    reference, listing = stage.root / f"whole-{command.name}", stage.root / "record"
    shutil.copytree(stage.start(command.start), reference)
    stage.must(reference, command.arguments, "--record", str(listing))
    records = [line.split("\t") for line in listing.read_text().splitlines()]
    places = [(count, mode) for count in range(len(records)) for mode in MODES if chosen.at in (0, count)]
    modes = list(MODES) if chosen.sample == 0 or command.share == 1 else ["all lost"]
    ends = [(len(records), mode) for mode in modes if chosen.at in (0, len(records))]
    return [
        lambda place=place: trial(stage, command, reference, records, *place)
        for place in [*ends, *commands.sample(places, command, chosen)]
    ]


if __name__ == "__main__":
    sys.exit(commands.main(__doc__, trials_of))
