#!/usr/bin/env bash
# Build the fuzzers in build/asan and run each for SECONDS of CPU time (default 60), all or those that are named, in JOBS
# processes (scripts/fuzz_run.sh).
#
#   scripts/fuzz.sh 600              all of them, ten minutes each
#   scripts/fuzz.sh 600 npy csv      only these
#   scripts/fuzz.sh --record 600     and append their CPU time to tests/fuzz/record.csv
#   scripts/fuzz.sh --grow 600       and add the inputs that reach new code to tests/fuzz/corpus
#   scripts/fuzz.sh --merge FOLDER   both, from the results of fuzz_run.sh on another machine (`make fuzz-bundle`)
#   scripts/fuzz.sh --hours          the CPU-hours of each so far, from the record
#
# build/fuzz keeps what was found, and the inputs that crashed; then the exit status is 1.
set -euo pipefail
cd "$(dirname "$0")/.."
record=tests/fuzz/record.csv recorded=no grow=no results=build/fuzz run=yes
while [[ ${1:-} == --* ]]; do
    case $1 in
        --record) recorded=yes ;;
        --grow) grow=yes ;;
        --merge) recorded=yes grow=yes run=no results=$(realpath "$2"); shift ;;
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
REVISION=$(git rev-parse --short=10 HEAD)
BIN=$PWD/build/asan/tests CORPUS=$PWD/tests/fuzz/corpus
export REVISION BIN CORPUS
mkdir -p build/fuzz
cmake --preset asan > /dev/null
cmake --build --preset asan -j"${JOBS:-$(nproc)}" --target "${names[@]/#/fuzz_}" > build/fuzz/build.log 2>&1 || { cat build/fuzz/build.log; exit 1; }

# grow NAME: add the found inputs that reach code which the corpus does not, as few as libFuzzer can
grow() {
    mkdir -p "$results/found/$1" build/fuzz/scratch
    TMPDIR=build/fuzz/scratch build/asan/tests/fuzz_"$1" -set_cover_merge=1 -use_counters=0 tests/fuzz/corpus/"$1" "$results/found/$1" > "build/fuzz/$1.merge" 2>&1 ||
        echo "fuzz_$1: the corpus could not be merged, see build/fuzz/$1.merge"
}

failed=0
if [ $run = yes ]; then
    rm -f "$results/record.csv"
    scripts/fuzz_run.sh --out "$results" "$seconds" "${names[@]}" || failed=1
fi
if [ $recorded = yes ]; then
    tail -n +2 "$results/record.csv" | { grep -vxFf "$record" || true; } > build/fuzz/new.csv # no line twice
    cat build/fuzz/new.csv >> "$record"
    awk -F, 'NR > 1 { faults += $7 } END { exit faults > 0 }' "$results/record.csv" || failed=1
fi
if [ $grow = yes ]; then
    for name in "${names[@]}"; do grow "$name"; done
    rm -rf build/fuzz/scratch
fi
exit $failed
