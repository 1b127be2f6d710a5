#!/usr/bin/env bash
# build.sh PRESET [JOBS] - configure and build; the output is shown only when something fails.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 jobs=${2:-2}
folder=build
[ "$preset" = release ] || folder=build/$preset
mkdir -p "$folder"
log=$folder/configure.log
if ! cmake --preset "$preset" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    exit 1
fi
log=$folder/build.log
if ! cmake --build --preset "$preset" -j "$jobs" >"$log" 2>&1; then
    grep -E 'error|FAILED|warning' -A 6 "$log" | head -n 80 >&2
    echo "The build failed; the whole output is in $log." >&2
    exit 1
fi
