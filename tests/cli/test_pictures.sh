#!/usr/bin/env bash
# The pictures, drawn from real runs by Python.
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || exit 0 # nothing of C is tested here that the other tests do not
python=$(find_python numpy matplotlib) || { echo "skipped: no Python with matplotlib"; exit 77; }
expect_ok env PYTHONPATH="$SOURCE/python" ANTLER="$ANTLER" "$python" "$SOURCE/tests/python/test_plot.py"
tail -n 3 <<<"$err"
finish
