"""``python -m antler COMMAND``: the command ``antler``, or one of the package where no program is installed."""

import sys

from . import _command, convert, report

if __name__ == "__main__":
    own = {"convert": convert.main, "report": report.main}.get(sys.argv[1] if len(sys.argv) > 1 else "")
    if own is not None:
        sys.exit(own(sys.argv[2:]))
    _command.main()
