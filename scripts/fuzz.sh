#!/usr/bin/env bash
# Build the fuzzers in build/asan and run each for SECONDS (default 60), all or those that are named, JOBS side by side.
#
#   scripts/fuzz.sh 600              all of them, ten minutes each
#   scripts/fuzz.sh 600 npy csv      only these
#   scripts/fuzz.sh --record 600     and append their CPU time to tests/fuzz/record.csv
#   scripts/fuzz.sh --grow 600       and add the inputs that reach new code to tests/fuzz/corpus
#   scripts/fuzz.sh --hours          the CPU-hours of each so far, from the record
#
# New inputs collect in build/fuzz/found/<name>; a crash is left there as crash-... and the exit
# status is 1.  Ends with one line per fuzzer.
set -euo pipefail
cd "$(dirname "$0")/.."
record=tests/fuzz/record.csv recorded=no grow=no
while [[ ${1:-} == --* ]]; do
    case $1 in
        --record) recorded=yes ;;
        --grow) grow=yes ;;
        --hours)
            awk -F, 'NR > 1 { cpu[$3] += $4; runs[$3] += $5; faults[$3] += $7 }
                END { for (name in cpu) printf "%-12s %8.2f CPU-hours %12d runs %3d faults\n", name, cpu[name] / 3600, runs[name], faults[name] }' "$record" | sort
            exit 0 ;;
        *) echo "fuzz.sh: there is no option $1" >&2; exit 2 ;;
    esac
    shift
done
seconds=${1:-60}
shift || true
names=("$@")
if [ ${#names[@]} -eq 0 ]; then
    for source in tests/fuzz/fuzz_*.c; do
        name=${source##*/fuzz_}
        names+=("${name%.c}")
    done
fi
mkdir -p build/fuzz
cmake --preset asan > /dev/null
cmake --build --preset asan -j"${JOBS:-$(nproc)}" --target "${names[@]/#/fuzz_}" > build/fuzz/build.log 2>&1 || { cat build/fuzz/build.log; exit 1; }

limits=(-max_len=16384 -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10)

# fuzz NAME: run it; its line of the summary and of the record into files
fuzz() {
    local name=$1 found=build/fuzz/found/$1 log=build/fuzz/$1.log runs cover cpu faults=0
    mkdir -p "$found"
    rm -f "build/fuzz/$name.record"
    echo "fuzz_$name: FAULT, it did not come to its end" > "build/fuzz/$name.summary"
    TIMEFORMAT='%U %S'
    { time build/asan/tests/fuzz_"$name" "$found" tests/fuzz/corpus/"$name" -max_total_time="$seconds" \
        "${limits[@]}" -print_final_stats=1 -artifact_prefix="$found/" > "$log" 2>&1; } 2> "build/fuzz/$name.time" || faults=1
    cpu=$(awk '{ printf "%.0f", $1 + $2 }' "build/fuzz/$name.time")
    runs=$(sed -n 's/stat::number_of_executed_units: *//p' "$log")
    cover=$(grep -o 'cov: [0-9]*' "$log" | tail -1) || true
    if [ "$faults" = 0 ]; then
        echo "fuzz_$name: no fault in ${runs:-?} runs, $seconds s, ${cover:-cov: ?}" > "build/fuzz/$name.summary"
    else
        echo "fuzz_$name: FAULT, see $log and $found" > "build/fuzz/$name.summary"
    fi
    echo "$(date -u +%F),$(git rev-parse --short=10 HEAD),$name,$cpu,${runs:-0},${cover#cov: },$faults" > "build/fuzz/$name.record"
}

# grow NAME: add the found inputs of less than 1 KiB that reach code which the corpus does not, as few as libFuzzer can
grow() {
    rm -rf "build/fuzz/small/$1"
    mkdir -p "build/fuzz/small/$1"
    find "build/fuzz/found/$1" -type f -size -1024c ! -name '*-*' -exec cp -t "build/fuzz/small/$1" {} +
    build/asan/tests/fuzz_"$1" -set_cover_merge=1 "${limits[@]}" tests/fuzz/corpus/"$1" "build/fuzz/small/$1" > "build/fuzz/$1.merge" 2>&1 ||
        echo "fuzz_$1: the corpus could not be merged, see build/fuzz/$1.merge"
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
    [ "$recorded" = no ] || cat "build/fuzz/$name.record" >> "$record"
    [ "$grow" = no ] || grow "$name"
done
exit $failed
