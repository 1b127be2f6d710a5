#!/usr/bin/env bash
# Build the fuzzers and run each for SECONDS (default 60), all or those that are named, JOBS (the cores) side by side.
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
cmake --build --preset fuzz -j"${JOBS:-$(nproc)}" --target "${names[@]/#/fuzz_}" > build/fuzz/build.log 2>&1 || { cat build/fuzz/build.log; exit 1; }

# fuzz NAME: run it; its line of the summary into a file
fuzz() {
    local name=$1 found=build/fuzz/found/$1 log=build/fuzz/$1.log runs cover
    mkdir -p "$found"
    echo "fuzz_$name: FAULT, it did not come to its end" > "build/fuzz/$name.summary"
    if build/fuzz/tests/fuzz_"$name" "$found" tests/fuzz/corpus/"$name" -max_total_time="$seconds" \
        -max_len=8192 -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$found/" > "$log" 2>&1; then
        runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
        cover=$(grep -o 'cov: [0-9]*' "$log" | tail -1) || true
        echo "fuzz_$name: no fault in ${runs:-?} runs, $seconds s, ${cover:-cov: ?}" > "build/fuzz/$name.summary"
    else
        echo "fuzz_$name: FAULT, see $log and $found" > "build/fuzz/$name.summary"
    fi
}

for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "${JOBS:-$(nproc)}" ]; do wait -n || true; done
    fuzz "$name" &
done
wait
failed=0
for name in "${names[@]}"; do
    cat "build/fuzz/$name.summary"
    ! grep -q FAULT "build/fuzz/$name.summary" || failed=1
done
exit $failed
