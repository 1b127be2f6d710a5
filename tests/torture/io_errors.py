#!/usr/bin/env python3
"""Every nth call on a file fails, with EIO, and where it may need space with ENOSPC: nothing is lost.

The command ends with 0 and the complete result, or with 3 and one sentence. commands.py has what else must hold.
"""

import argparse
import errno
import shutil
import sys
from pathlib import Path
from typing import List, Optional

import commands
from commands import Command, Stage, Trial, Wrong


def trial(
    stage: Stage, command: Command, reference: Path, wanted: bytes, number: int, call: str, path: str, error: int
) -> Optional[str]:
    with stage.copy(command.start) as copy:
        folder = copy.path
        outcome = stage.run(folder, command.arguments, "--at", str(number), "--error", str(error))
        try:
            commands.check_others(folder, copy.start)
            commands.check_whole(folder)
            commands.check_old_or_new(folder, command, copy.start, reference)
            if outcome.code != 0:
                commands.check_sentence(outcome, [3])
                if "unlink" not in call:
                    commands.check_no_temporary(folder, copy.start)
            elif command.prints and commands.without_times(outcome.out) != commands.without_times(wanted):
                raise Wrong("exit 0 and another result")
            else:
                commands.compare(folder, reference, "exit 0")
            stage.repair(folder, command)
            commands.compare(folder, reference, "after the repair")
        except Exception as wrong:  # whatever it is, it is reported with its place
            return f"{command.name} --at {number} {call} {path} {errno.errorcode[error]}: {wrong}"
    return None


def trials_of(stage: Stage, command: Command, chosen: argparse.Namespace) -> List[Trial]:
    reference = stage.root / f"whole-{command.name}"
    shutil.copytree(stage.start(command.start), reference)
    wanted = stage.must(reference, command.arguments).out
    faults = []
    for number, call, path, writes in stage.calls(command):
        for error in (errno.EIO, errno.ENOSPC) if writes else (errno.EIO,):
            if chosen.at in (0, number):
                faults.append((number, call, path, error))
    return [
        lambda fault=fault: trial(stage, command, reference, wanted, *fault)
        for fault in commands.sample(faults, command, chosen)
    ]


if __name__ == "__main__":
    sys.exit(commands.main(__doc__, trials_of))
