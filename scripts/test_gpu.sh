#!/usr/bin/env bash
# test_gpu.sh [--no-sanitizer] [NAME...] - run the GPU tests that lie beside this file (in bin/), once as they are and once
# under each tool of compute-sanitizer where there is one.  Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/bin" ] || here=$(cd "$here/../build/gpu-tests" && pwd) || exit 2
sanitize=yes
[ "${1:-}" != --no-sanitizer ] || { sanitize=no; shift; }
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
export ANTLER_CACHE=$cache OMP_WAIT_POLICY=passive
passed=0 failed=0

count() { # count FILE CODE: add up the tests of one program; one that died without a count is one failure
    local line
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$1" | tail -n 1)
    if [ -n "$line" ]; then
        read -r good _ bad _ <<<"$line"
        passed=$((passed + good)) failed=$((failed + bad))
        [ "$2" = 0 ] || [ "$bad" != 0 ] || failed=$((failed + 1))
    else
        failed=$((failed + 1))
    fi
}

programs=()
for program in "$here"/bin/gpu_test_*; do
    name=$(basename "$program")
    [ $# = 0 ] || [[ " $* " == *" ${name#gpu_test_} "* ]] || continue
    programs+=("$program")
done

"$here/bin/antler" info --devices
for program in "${programs[@]}"; do
    echo "== $(basename "$program")"
    begin=$SECONDS
    "$program" >"$cache/out" 2>&1
    code=$?
    cat "$cache/out"
    if [ "$code" = 77 ]; then echo "skipped"; continue; fi
    count "$cache/out" "$code"
    echo "== $(basename "$program"): exit $code after $((SECONDS - begin)) s"
done

if [ $# = 0 ] || [[ " $* " == *" golden "* ]]; then
    echo "== golden vectors of models"
    "$here/bin/golden" --device cuda "$here"/golden/* >"$cache/golden" 2>&1
    code=$?
    grep -E 'TOO LARGE|BROKEN|^golden' "$cache/golden"
    sed -nE 's/^golden: ([0-9]+) passed, ([0-9]+) failed.*/\1 passed, \2 failed/p' "$cache/golden" >"$cache/out"
    count "$cache/out" "$code"
fi

# interrupt FOLDER: a training that is told to stop and --resume ends gives the bytes of one that nobody stopped.
interrupt() {
    local antler=$here/bin/antler code=0
    cd "$1" || return 1
    "$antler" simulate lorenz63 --length 20000 --out x.npy --quiet || return 1
    printf 'data: x.npy\ndevice: cuda\nruns: 2\nlatent_dim: 5\nhidden_dim: 50\nsequence_length: 2000\nbatch_size: 2\nupdates: 30000\nlog_interval: 1000\ncheckpoint_interval: 5000\n' >run.yaml
    "$antler" train run.yaml --set name=whole --quiet || return 1
    "$antler" train run.yaml --set name=stopped >out 2>&1 &
    sleep 3
    kill -TERM $! # as Ctrl-C, which shells let background jobs ignore
    wait $! || code=$?
    [ "$code" = 0 ] && grep -q -- --resume out || { tail -n 3 out; return 1; }
    "$antler" train run.yaml --set name=stopped --resume Results/experiment/stopped --quiet || return 1
    for run in 001 002; do
        cmp "Results/experiment/whole/$run/model.npz" "Results/experiment/stopped/$run/model.npz" || return 1
    done
}

if [ $# = 0 ] || [[ " $* " == *" interrupt "* ]]; then
    echo "== stopped and resumed"
    mkdir -p "$cache/interrupt"
    if (interrupt "$cache/interrupt"); then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; fi | tee "$cache/out"
    count "$cache/out" 0
fi

if [ $# = 0 ] || [[ " $* " == *" free_runs "* ]]; then
    echo "== free runs of all kinds, by the command, on the CPU and the GPU"
    if ANTLER=$here/bin/antler SOURCE=$here GPU=real bash "$here/cli/test_free_runs.sh"; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; fi | tee "$cache/out"
    count "$cache/out" 0
fi

# Sanitizers slow kernels down by tens, so tests shrink their sizes when ANT_SANITIZER is set.
tool=$(command -v compute-sanitizer || ls /usr/local/cuda*/bin/compute-sanitizer 2>/dev/null | tail -n 1)
if [ "$sanitize" = yes ] && [ -n "$tool" ] && [ "$((passed + failed))" -gt 0 ]; then
    export ANT_SANITIZER=1
    for check in memcheck racecheck synccheck; do
        for program in "${programs[@]}"; do
            name=$(basename "$program")
            [ "$name" != gpu_test_fault ] || continue
            reports=() # running out of memory on purpose is no error of the program
            [ "$check" != memcheck ] || reports=(--report-api-errors no)
            "$tool" --tool "$check" "${reports[@]}" --error-exitcode 9 --target-processes all "$program" >"$cache/out" 2>&1
            code=$?
            [ "$code" = 77 ] && continue
            count "$cache/out" "$code"
            echo "== $check $name: exit $code; $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$cache/out" | tail -n 1)"
            [ "$code" = 0 ] || grep -vE '^ok ' "$cache/out" | head -n 40
        done
    done
elif [ "$sanitize" = yes ]; then
    echo "compute-sanitizer: not here, or nothing to run; skipped"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
