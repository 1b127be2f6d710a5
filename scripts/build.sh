#!/usr/bin/env bash
# build.sh PRESET [JOBS] - configure and build.  A terminal shows each step as it is made; otherwise every tenth of the
# steps is a line.  After a failure the faults are shown, and the whole output is in a log.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=${2:-2}
folder=build
[ "$preset" = release ] || folder=build/$preset
mkdir -p "$folder"
log=$folder/configure.log
[ -e "$folder/build.ninja" ] || echo "Configuring $folder"
if ! cmake --preset "$preset" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    exit 1
fi
log=$folder/build.log
if ! cmake --build --preset "$preset" -j "$jobs" 2>&1 | tee "$log" | scripts/progress.sh "Building $folder"; then
    grep -E 'error|FAILED|warning' -A 6 "$log" | head -n 80 >&2
    echo "The build failed; the whole output is in $log." >&2
    exit 1
fi
