"""The command ``antler`` of an installed package: the C program, which lies beside the library."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).resolve().parent / "bin" / "antler"
    # `antler report` is a script beside this one, also where that folder is not on the PATH.
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.argv[0]).resolve().parent), os.environ.get("PATH", os.defpath)])
    try:
        os.execv(program, ["antler", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"antler: {program}: {error.strerror}; install the package again")
