#!/usr/bin/env python3
"""kill -9 before every nth call on a file: nothing is lost, and the work goes on to the same bytes.

commands.py has what must hold.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import List, Optional

import commands
from commands import Command, Stage, Trial, Wrong


def trial(stage: Stage, command: Command, reference: Path, number: int, call: str, path: str) -> Optional[str]:
    with stage.copy(command.start) as copy:
        folder = copy.path
        outcome = stage.run(folder, command.arguments, "--at", str(number), "--kill")
        try:
            if outcome.code != 128 + 9:
                raise Wrong(f"it was not killed: exit {outcome.code}")
            commands.check_others(folder, copy.start)
            commands.check_whole(folder)
            commands.check_old_or_new(folder, command, copy.start, reference)
            stage.repair(folder, command)
            commands.compare(folder, reference, "after the repair")
        except Exception as wrong:  # whatever it is, it is reported with its place
            return f"{command.name} --at {number} {call} {path}: {wrong}"
    return None


def trials_of(stage: Stage, command: Command, chosen: argparse.Namespace) -> List[Trial]:
    reference = stage.root / f"whole-{command.name}"
    shutil.copytree(stage.start(command.start), reference)
    stage.must(reference, command.arguments)
    places = [row[:3] for row in stage.calls(command) if chosen.at in (0, row[0])]
    return [
        lambda place=place: trial(stage, command, reference, *place)
        for place in commands.sample(places, command, chosen)
    ]


if __name__ == "__main__":
    sys.exit(commands.main(__doc__, trials_of))
