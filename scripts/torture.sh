#!/usr/bin/env bash
# torture.sh BUILD [OPTION...] - run every program of tests/torture in full, with its time: *.sh, and *.py that can be
# executed.  tests/torture/record.csv keeps what was done, so a run that was stopped is continued by the next.  The
# options are passed on: `--minutes 20` ends each after that time, `--only sweep` takes one command.
#
#   scripts/torture.sh --counts      print the sums of the record and run nothing
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
[ "${1:-}" != --counts ] || exec python3 tests/torture/record.py
BUILD=$(realpath "$1") SOURCE=$PWD ANTLER=$(realpath "$1")/antler
export BUILD SOURCE ANTLER OMP_WAIT_POLICY=passive
shift
failed=()
for program in tests/torture/*.sh tests/torture/*.py; do
    [ -x "$program" ] || continue
    begin=$SECONDS
    echo "== $program"
    "$program" --record tests/torture/record.csv "$@" || failed+=("$program")
    echo "== $program: $((SECONDS - begin)) s"
done
python3 tests/torture/record.py
[ ${#failed[@]} = 0 ] || { echo "Failed: ${failed[*]}" >&2; exit 1; }
