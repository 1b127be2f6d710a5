#!/usr/bin/env bash
# torture.sh BUILD [OPTION...] - run every program of tests/torture in full, with its time: *.sh, and *.py that can be
# executed.  The options are passed on; `--sample 20` makes each of them short.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
BUILD=$(realpath "$1") SOURCE=$PWD ANTLER=$(realpath "$1")/antler
export BUILD SOURCE ANTLER OMP_WAIT_POLICY=passive
shift
failed=()
for program in tests/torture/*.sh tests/torture/*.py; do
    [ -x "$program" ] || continue
    begin=$SECONDS
    echo "== $program"
    "$program" "$@" || failed+=("$program")
    echo "== $program: $((SECONDS - begin)) s"
done
[ ${#failed[@]} = 0 ] || { echo "Failed: ${failed[*]}" >&2; exit 1; }
