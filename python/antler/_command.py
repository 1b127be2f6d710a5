"""The command ``antler`` of an installed package: the C program, which lies beside the library."""

import os
import sys
from pathlib import Path


def main() -> None:
    here = Path(__file__).resolve().parent
    # `antler NAME` looks for antler-NAME on the PATH, and those of this package lie beside this script.
    beside = str(Path(sys.argv[0]).resolve().parent)
    os.environ["PATH"] = os.pathsep.join([beside, *filter(None, [os.environ.get("PATH")])])
    program = here / "bin" / "antler"
    try:
        os.execv(program, ["antler", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"antler: {program}: {error.strerror}; install the package again")
