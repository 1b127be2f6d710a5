#!/usr/bin/env bash
# test.sh PRESET [JOBS] - build, and run the tests, one more at a time than there are jobs: some tests mostly wait.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=${2:-2}
scripts/build.sh "$preset" "$jobs"
[ "$preset" = release ] || . scripts/sanitizers.sh
ctest -j $((jobs + 1)) --preset "$preset"
