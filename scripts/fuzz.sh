#!/usr/bin/env bash
# Build the fuzzers and run each for SECONDS (default 60), one after another or those that are named.
#
#   scripts/fuzz.sh 600              all of them, ten minutes each
#   scripts/fuzz.sh 600 npy csv      only these
#
# New inputs collect in build/fuzz/found/<name>; a crash is left there as crash-... and the exit
# status is 1.  Ends with one line per fuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
shift || true
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=${source##*/fuzz_}
        names+=("${name%.c}")
    done
fi
cmake --preset fuzz > /dev/null
cmake --build --preset fuzz -j"$(nproc)" > build/fuzz/build.log 2>&1 || { cat build/fuzz/build.log; exit 1; }

failed=0
summary=()
for name in "${names[@]}"; do
    found=build/fuzz/found/$name
    mkdir -p "$found"
    log=build/fuzz/$name.log
    if build/fuzz/tests/fuzz_"$name" "$found" tests/fuzz/corpus/"$name" -max_total_time="$seconds" \
        -max_len=8192 -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$found/" > "$log" 2>&1; then
        runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
        cover=$(grep -o 'cov: [0-9]*' "$log" | tail -1)
        summary+=("fuzz_$name: no fault in ${runs:-?} runs, $seconds s, ${cover:-cov: ?}")
    else
        failed=1
        summary+=("fuzz_$name: FAULT, see $log and $found")
    fi
done
printf '%s\n' "${summary[@]}"
exit $failed
