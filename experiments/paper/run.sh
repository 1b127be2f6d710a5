#!/usr/bin/env bash
# run.sh [FIGURE...] [--scale quick|full] [--minutes N] [OPTION...] - the figures of the paper, task by task (paper.py --help).
# Needs Python 3.9 with NumPy, and matplotlib for the page (--no-page without it).  The command and the library are those of
# build/, of build/gpu-tests where there is no build, or ANTLER and ANTLER_LIBRARY name them.  PAPER_PYTHON names the Python.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
python=${PAPER_PYTHON:-}
for modules in numpy,matplotlib numpy; do
    for candidate in python3 /usr/bin/python3; do
        [ -n "$python" ] || { "$candidate" -c "import $modules" 2>/dev/null && python=$candidate; } || true
    done
done
[ -n "$python" ] || { echo "There is no python3 with NumPy; name one in PAPER_PYTHON." >&2; exit 2; }
export PYTHONDONTWRITEBYTECODE=1 OMP_WAIT_POLICY=passive
exec "$python" "$here/paper.py" "$@"
