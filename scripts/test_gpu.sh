#!/usr/bin/env bash
# test_gpu.sh [--no-sanitizer] [NAME...] - run the GPU tests that lie beside this file (in bin/), once as they are and once
# under each tool of compute-sanitizer where there is one.  NAME: a program (learner), one of its tests (same_bytes), golden,
# interrupt, shared_gpu or free_runs.  Every test is a process of its own, because most of their time goes into compiling kernels: JOBS of
# them run side by side (as many as there are cores, at most 8), each for LIMIT seconds (300) at most.  A line tells when a test
# is over; the output of all follows in order.  Ends with "N passed, N failed".
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[ -d "$here/bin" ] || here=$(cd "$here/../build/gpu-tests" && pwd) || exit 2
sanitize=yes
[ "${1:-}" != --no-sanitizer ] || { sanitize=no; shift; }
cores=$(nproc)
places=${JOBS:-$((cores < 8 ? cores : 8))} limit=${LIMIT:-300}
work=$(mktemp -d)
# shellcheck disable=SC2154 # job is set by the trap itself
trap 'for job in $(jobs -p); do kill "$job"; done 2>/dev/null; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export ANTLER_CACHE=$work/kernels OMP_WAIT_POLICY=passive
passed=0 failed=0
asked=("$@")

# ---- tasks: a name and a command each ---------------------------------------------------------------------------------------

names=() commands=()
task() { names+=("$1"); shift; commands+=("$(printf '%q ' "$@")"); }

# wanted NAME...: no name was asked for, or one of these
wanted() {
    local name ask
    [ ${#asked[@]} != 0 ] || return 0
    for name in "$@"; do for ask in "${asked[@]}"; do [ "$name" != "$ask" ] || return 0; done; done
    return 1
}

# within COMMAND...: end it after the limit, and when this shell is told to end, be it before it knows the command's number
within() {
    local told="" number="" code
    trap 'told=yes; [ -z "$number" ] || kill "$number"' TERM
    timeout -k 10 "$limit" "$@" &
    number=$!
    [ -z "$told" ] || kill "$number"
    wait "$number"
    code=$?
    trap - TERM
    return "$code"
}

# perform TASK: output to a file, exit code and seconds to another, a line for who waits
perform() {
    local begin=$SECONDS code word=FAILED
    eval "${commands[$1]}" >"$work/$1.out" 2>&1
    code=$?
    echo "$code $((SECONDS - begin))" >"$work/$1.code"
    case $code in 0) word=ok ;; 77) word=skipped ;; 124 | 137) word="no end" ;; esac
    printf '%5d s  %-7s  %s\n' "$((SECONDS - begin))" "$word" "${names[$1]}"
}

# side_by_side PLACES: all tasks that have not been run
begun=0
side_by_side() {
    local all=${#names[@]} begin=$SECONDS first=$begun
    for (( ; begun < all; begun++)); do
        while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done
        perform "$begun" &
    done
    wait
    [ "$first" = "$all" ] || echo "== $((all - first)) of them, $1 at a time: $((SECONDS - begin)) s"
}

# count TASK: add up its tests; one that died without a count is one failure.  Leaves its exit code in $code, seconds in $took
count() {
    local line good bad
    read -r code took <"$work/$1.code"
    [ "$code" != 77 ] || return 0
    line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$work/$1.out" | tail -n 1)
    if [ -n "$line" ]; then
        read -r good _ bad _ <<<"$line"
        passed=$((passed + good)) failed=$((failed + bad))
        [ "$code" = 0 ] || [ "$bad" != 0 ] || failed=$((failed + 1))
    else
        failed=$((failed + 1))
    fi
    case $code in 124 | 137) echo "stopped: no end after $limit s" >>"$work/$1.out" ;; esac
}

# ---- what is run ------------------------------------------------------------------------------------------------------------

# golden: every folder of golden vectors that is a model's
golden() {
    local code
    within "$here/bin/golden" --device cuda "$here"/golden/* >"$work/golden"
    code=$?
    grep -E 'TOO LARGE|BROKEN|^golden' "$work/golden"
    sed -nE 's/^golden: ([0-9]+) passed, ([0-9]+) failed.*/\1 passed, \2 failed/p' "$work/golden"
    return "$code"
}

# interrupt: a training that is told to stop and --resume ends gives the bytes of one that nobody stopped
interrupt() {
    local antler=$here/bin/antler code=0 begin=$SECONDS
    mkdir "$work/interrupt" && cd "$work/interrupt" || return 1
    "$antler" simulate lorenz63 --length 20000 --out x.npy --quiet || return 1
    printf 'data: x.npy\ndevice: cuda\nruns: 2\nlatent_dim: 5\nhidden_dim: 50\nsequence_length: 2000\nbatch_size: 2\nkappa: 0.9995\ngtf_alpha: 0.15\nstart_lr: 1e-3\nvalidation: 0\nupdates: 30000\nlog_interval: 1000\ncheckpoint_interval: 5000\n' >run.yaml
    within "$antler" train run.yaml --set name=whole --quiet || return 1
    # --foreground: otherwise timeout sends each signal twice, and a second one ends a training at once
    timeout --foreground -k 10 "$limit" "$antler" train run.yaml --set name=stopped >out 2>&1 &
    while kill -0 $! && [ $((SECONDS - begin)) -lt "$limit" ] &&
        ! ls Results/experiment/stopped/001/checkpoints/update-* >/dev/null 2>&1; do sleep 0.05; done
    kill -TERM $! # as Ctrl-C, which shells let background jobs ignore
    wait $! || code=$?
    [ "$code" = 0 ] && grep -q -- --resume out || { tail -n 3 out; return 1; }
    within "$antler" train run.yaml --set name=stopped --resume Results/experiment/stopped --quiet || return 1
    for run in 001 002; do
        cmp "Results/experiment/whole/$run/model.npz" "Results/experiment/stopped/$run/model.npz" || return 1
    done
}

# shared_gpu: trainings that share the GPU, and whose blocks therefore drift apart, give the bytes of one that has it alone
shared_gpu() {
    local antler=$here/bin/antler name
    mkdir "$work/shared_gpu" && cd "$work/shared_gpu" || return 1
    "$antler" simulate lorenz63 --length 20000 --out x.npy --quiet || return 1
    printf 'data: x.npy\ndevice: cuda\nruns: 2\nlatent_dim: 5\nhidden_dim: 50\nsequence_length: 2000\nbatch_size: 2\nkappa: 0.9995\ngtf_alpha: 0.15\nstart_lr: 1e-3\nvalidation: 0\nupdates: 10000\n' >run.yaml
    within "$antler" train run.yaml --set name=first --quiet || return 1
    for name in one two three four; do within "$antler" train run.yaml --set "name=$name" --quiet & done
    wait
    for name in one two three four; do
        for run in 001 002; do
            cmp "Results/experiment/first/$run/model.npz" "Results/experiment/$name/$run/model.npz" || return 1
        done
    done
}

# free_runs: by the command, of all kinds, on the CPU and the GPU
free_runs() { ANTLER=$here/bin/antler SOURCE=$here GPU=real within bash "$here/cli/test_free_runs.sh"; }

# as_one COMMAND...: it is one test
as_one() {
    "$@"
    local code=$?
    if [ "$code" = 0 ]; then echo "1 passed, 0 failed"; else echo "0 passed, 1 failed"; fi
    return "$code"
}

# each_test KIND PREFIX COMMAND...: a task PREFIX PROGRAM TEST for each wanted test; KIND: shared or alone
each_test() {
    local kind=$1 prefix=$2 program name list test how
    shift 2
    for program in "$here"/bin/gpu_test_*; do
        name=${program##*/gpu_test_}
        if ! list=$("$program" --list 2>/dev/null); then # it cannot even start, and will say why
            [ "$kind" = alone ] || ! wanted "$name" || task "$prefix$name" within "$program"
            continue
        fi
        while read -r test how; do
            [ -n "$test" ] && [ "${how:-shared}" = "$kind" ] && wanted "$name" "$test" || continue
            task "$prefix$name $test" within "$@" "$program" "$test"
        done <<<"$list"
    done
}

known=" shared_gpu free_runs golden interrupt "
for program in "$here"/bin/gpu_test_*; do
    known+="${program##*/gpu_test_} $("$program" --list 2>/dev/null | sed 's/ .*//' | tr '\n' ' ')"
done
for name in "${asked[@]}"; do
    [[ $known == *" $name "* ]] || { echo "no test or program is called $name; they are:$known" >&2; exit 2; }
done

"$here/bin/antler" info --devices
! wanted free_runs || task free_runs as_one free_runs
! wanted golden || task golden golden
! wanted interrupt || task interrupt as_one interrupt
! wanted shared_gpu || task shared_gpu as_one shared_gpu
each_test shared ""
side_by_side "$places"
each_test alone ""
side_by_side 1
for i in "${!names[@]}"; do
    echo "== ${names[i]}"
    count "$i"
    cat "$work/$i.out"
    if [ "$code" = 77 ]; then echo "skipped"; else echo "== ${names[i]}: exit $code after $took s"; fi
done

# ---- the same under sanitizers, whose slowness the tests know of ------------------------------------------------------------

tool=$(command -v compute-sanitizer || find /usr/local/cuda*/bin -name compute-sanitizer 2>/dev/null | sort | tail -n 1)
if [ "$sanitize" = yes ] && [ -n "$tool" ] && [ "$((passed + failed))" -gt 0 ]; then
    export ANT_SANITIZER=1
    for check in racecheck memcheck synccheck; do # the slowest first
        reports=() # running out of memory on purpose is no error of the program
        [ "$check" != memcheck ] || reports=(--report-api-errors no)
        each_test shared "$check " "$tool" --tool "$check" "${reports[@]}" --error-exitcode 9 --target-processes all
    done
    first=$begun
    side_by_side "$places"
    for ((i = first; i < begun; i++)); do
        count "$i"
        [ "$code" != 77 ] || continue
        echo "== ${names[i]}: exit $code after $took s; $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$work/$i.out" | tail -n 1)"
        [ "$code" = 0 ] || grep -vE '^ok ' "$work/$i.out" | head -n 40
    done
elif [ "$sanitize" = yes ]; then
    echo "compute-sanitizer: not here, or nothing to run; skipped"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
