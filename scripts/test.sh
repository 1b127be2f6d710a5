#!/usr/bin/env bash
# test.sh PRESET [JOBS] - build, and run the tests, one more at a time than there are jobs: some tests mostly wait.
# Their files are in memory unless TMPDIR is set: they sync thousands of small files, and a disk takes its time for each.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=${2:-2}
scripts/build.sh "$preset" "$jobs"
[ "$preset" = release ] || . scripts/sanitizers.sh
room=$(df --output=avail -B1M /dev/shm 2>/dev/null | tail -n 1) || room=0
if [ -z "${TMPDIR:-}" ] && [ -w /dev/shm ] && [ "$room" -ge 2048 ]; then
    TMPDIR=$(mktemp -d /dev/shm/antler-tests.XXXXXX)
    export TMPDIR
    trap 'rm -rf "$TMPDIR"' EXIT
fi
ctest -j $((jobs + 1)) --preset "$preset"
