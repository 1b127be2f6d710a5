#!/usr/bin/env bash
# fuzz_run.sh [--out FOLDER] SECONDS [NAME...] - run every fuzzer, or those that are named, for SECONDS of CPU time each:
# one after another, each in JOBS processes (as many as there are cores) that share what they find.  The time on the clock
# is SECONDS / JOBS for each fuzzer.  Needs nothing but bash and the folders bin and corpus beside this file
# (scripts/fuzz_bundle.sh makes them), or BIN and CORPUS.
#
# FOLDER (results, beside this file) keeps, and a second run into it continues:
#   record.csv      date, revision, fuzzer, CPU seconds, executions, coverage, faults, new inputs; a line for each run
#   found/NAME      inputs that reach code which the corpus does not, as few as libFuzzer can, none larger than the
#                   largest of the corpus (or 1 KiB)
#   crashes/NAME    inputs that crashed, hung, leaked or took too much memory, with the end of the log of each
#   all/NAME, logs  everything that was found; what the fuzzers printed
# `scripts/fuzz.sh --merge FOLDER` brings this into the tree.  Exit status 1 when there was a fault.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
bin=${BIN:-$here/bin} corpus=${CORPUS:-$here/corpus} out=$here/results
[ "${1:-}" != --out ] || { out=$2; shift 2; }
seconds=${1:-60}
[[ $seconds =~ ^[0-9]+$ ]] || { echo "fuzz_run.sh: '$seconds' is no number of seconds" >&2; exit 2; }
shift || true
names=("$@")
if [ ${#names[@]} = 0 ]; then
    for program in "$bin"/fuzz_*; do names+=("${program##*/fuzz_}"); done
fi
for name in "${names[@]}"; do
    [ -x "$bin/fuzz_$name" ] || { echo "fuzz_run.sh: there is no fuzzer $name" >&2; exit 2; }
done
processes=${JOBS:-$(nproc)}
revision=${REVISION:-$(cat "$here/revision" 2>/dev/null || echo unknown)}
limits=(-max_len=16384 -rss_limit_mb=2048 -malloc_limit_mb=1024 -timeout=10)
mkdir -p "$out/found" "$out/all" "$out/crashes" "$out/logs"
shm=/dev/shm
[ -w $shm ] || shm=/tmp
work=$(mktemp -d "$shm/antler-fuzz-XXXXXX")
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work OMP_WAIT_POLICY=passive
ulimit -c 0

# Where a process may not be traced, as in some containers, leaks cannot be looked for.
if "$bin/fuzz_${names[0]}" -runs=0 2>&1 | grep -q "LeakSanitizer has encountered a fatal error"; then
    echo "leaks are not looked for: this machine does not let processes be traced"
    export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
fi

# one NAME PROCESS END: until that time, anew after each fault; CPU seconds, executions, inputs and faults to a file
one() {
    local name=$1 log=$out/logs/$1.$2.log end=$3 left runs new cpu faults=0 artifacts="$out/crashes/$1/"
    : > "$log"
    while left=$((end - SECONDS)) && [ $left -gt 0 ] && [ $faults -lt 20 ]; do
        "$bin/fuzz_$name" "$out/all/$name" "$corpus/$name" -max_total_time="$left" -seed=$((RANDOM * 32768 + RANDOM + 1)) \
            "${limits[@]}" -print_final_stats=1 -artifact_prefix="$artifacts" > "$work/log.$2" 2>&1 || {
            faults=$((faults + 1))
            tail -n 80 "$work/log.$2" > "$artifacts/log.$(date +%s).$2.$faults"
        }
        cat "$work/log.$2" >> "$log"
    done
    runs=$(awk '/^stat::number_of_executed_units:/ { sum += $2 } END { print sum + 0 }' "$log")
    new=$(awk '/^stat::new_units_added:/ { sum += $2 } END { print sum + 0 }' "$log")
    times > "$work/times.$2" # of this shell, and of its children
    cpu=$(awk 'NR == 2 { gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4 }' "$work/times.$2")
    echo "$cpu $runs $new $faults" > "$work/$name.$2"
}

# merge NAME: found/NAME becomes as small as can be
merge() {
    local name=$1 largest
    mkdir -p "$out/found/$name" "$work/small/$name"
    largest=$( (echo 1024; find "$corpus/$name" -type f -printf '%s\n') | sort -n | tail -n 1)
    find "$out/all/$name" -type f -size "-${largest}c" -exec cp -t "$work/small/$name" {} +
    rm -rf "$work/least/$name"
    mkdir -p "$work/least/$name"
    cp -r "$corpus/$name/." "$work/least/$name"
    timeout 600 "$bin/fuzz_$name" -set_cover_merge=1 -use_counters=0 "${limits[@]}" "$work/least/$name" "$work/small/$name" \
        > "$out/logs/$name.merge" 2>&1 || echo "fuzz_$name: what was found could not be merged, see $out/logs/$name.merge"
    find "$work/least/$name" -type f -printf '%f\n' | while read -r unit; do
        [ -e "$corpus/$name/$unit" ] || cp "$work/least/$name/$unit" "$out/found/$name/"
    done
}

[ -e "$out/record.csv" ] || echo "date,revision,fuzzer,cpu_seconds,runs,coverage,faults,new_inputs" > "$out/record.csv"
failed=0
for name in "${names[@]}"; do
    mkdir -p "$out/all/$name" "$out/crashes/$name"
    end=$((SECONDS + (seconds + processes - 1) / processes))
    for ((k = 0; k < processes; k++)); do one "$name" "$k" "$end" & done
    wait
    read -r cpu runs new faults < <(cat "$work/$name".* | awk '{ for (i = 1; i <= 4; i++) sum[i] += $i }
        END { printf "%.0f %d %d %d\n", sum[1], sum[2], sum[3], sum[4] }')
    cover=$(grep -ho 'cov: [0-9]*' "$out/logs/$name".*.log | sort -k2n | tail -n 1) || true
    echo "$(date -u +%F),$revision,$name,$cpu,$runs,${cover#cov: },$faults,$new" >> "$out/record.csv"
    word="no fault"
    [ "$faults" = 0 ] || { word="$faults FAULTS, see $out/crashes/$name;" failed=1; }
    echo "fuzz_$name: $word in $runs executions, $cpu s of CPU time, ${cover:-cov: ?}, $new new inputs"
done
for name in "${names[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$processes" ]; do wait -n; done
    merge "$name" &
done
wait
exit $failed
