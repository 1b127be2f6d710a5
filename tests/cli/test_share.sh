#!/usr/bin/env bash
# antler sweep --share: many processes on one folder give the bytes of one, whoever is killed or stopped in between.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >grid.yaml <<'Y'
experiment: e
data: ../train.npy
test: ../test.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: 600
log_interval: 10
checkpoint_interval: 40
runs: 5
threads: 1
kappa: 0.9995
start_lr: 1e-3
end_lr: 1e-3
validation: 0
grid:
  gtf_alpha: [0.1, 0.2]
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy
expect_ok "$ANTLER" simulate lorenz63 --length 1000 --seed 2 --out test.npy
pids=()
trap 'kill -9 "${pids[@]}" 2>/dev/null; rm -rf "$folder"' EXIT
options=(--samples 500)
without_times() { cut -d, -f1-11,13- "$1"; } # of log.csv
measures() { grep -v '"seconds"\|_per_second"' "$1/metrics.json"; }
without_seconds() { cut -d, -f1-7,9- "$1"; } # of metrics.csv
at() { cd "$1" && shift && exec "$@"; } # in a process of its own
inside() { (at "$@"); }
begin_sweep() { at "$1" "$ANTLER" sweep ../grid.yaml "${options[@]}" "${@:2}"; } # in the background
sweep() { (begin_sweep "$@"); }

# same WHERE FOLDER: all runs and tables of FOLDER are those of one process
same() {
    local run file left
    for run in whole/Results/e/*/0*; do
        run=${run#whole/}
        for file in model.npz config.yaml; do
            cmp "whole/$run/$file" "$2/$run/$file" || die "$1: another $run/$file"
        done
        cmp <(measures "whole/$run") <(measures "$2/$run") || die "$1: other measures of $run"
        cmp <(without_times "whole/$run/log.csv") <(without_times "$2/$run/log.csv") || die "$1: another log of $run"
        [ "$(ls "$2/$run/.claim")" = ended ] || die "$1: $run is not marked as ended: $(ls "$2/$run/.claim")"
    done
    cmp <(without_seconds whole/Results/e/metrics.csv) <(without_seconds "$2/Results/e/metrics.csv") || die "$1: metrics.csv"
    cmp <(grep -v ,seconds, whole/Results/e/statistics.csv) <(grep -v ,seconds, "$2/Results/e/statistics.csv") || die "$1: statistics.csv"
    # A kill may leave half a table, which is in nobody's way.
    left=$(find "$2" -name '.*' ! -name .lock ! -name .claim ! -name '.metrics.csv.*' ! -name '.statistics.csv.*')
    [ -z "$left" ] || die "$1: left behind: $left"
    checks=$((checks + 1))
}

mkdir whole
run sweep whole --quiet
[ "$code" -le 1 ] || die "the sweep of one process ended with $code: $err"
whole_code=$code
[ "$(find whole -name .claim | wc -l)" = 0 ] || die "a sweep that is not shared has leases"

# Ten at once: each run is trained once, and all ten end when all is done.
mkdir ten
for i in $(seq 10); do
    begin_sweep ten --share >".out$i" 2>".err$i" &
    pids+=($!)
done
for i in $(seq 10); do
    wait "${pids[i - 1]}"
    ended=$?
    [ $ended = "$whole_code" ] || die "process $i of ten ended with $ended: $(<".err$i")"
    contains "$(<".out$i")" "2 combinations, 10 runs"
done
same "ten processes" ten
[ "$(cat .out? .out?? | grep -c '600 updates done')" = 10 ] || die "not ten trainings: $(cat .out? .out??)"
[ "$(cat .out? .out?? | grep '600 updates done' | sort -u | wc -l)" = 10 ] || die "a run was trained twice"
[ "$(cat .err? .err?? | grep -c 'is taken\.$')" = 10 ] || die "not ten claims: $(cat .err? .err??)"
grep -q "^Others have" .err? .err?? || die "nobody has said what others have: $(cat .err?)"

# A complete sweep is read, not made again; runs of a sweep of one process are taken as they are.
marks=$(stat -c '%n %i %y' ten/Results/e/*/*/*.*)
run sweep ten --share --quiet
[ "$code" = "$whole_code" ] || die "a complete sweep ended with $code: $err"
[ "$marks" = "$(stat -c '%n %i %y' ten/Results/e/*/*/*.*)" ] || die "a complete sweep was made again"
cp -r whole again
run sweep again --share --quiet
same "after a sweep of one process" again

# Killed before every rename and removal in turn: the next process goes on, at once on the same machine.
mkdir killed
command -v strace >/dev/null || die "strace is needed to stop at a system call"
calls=rename,renameat,renameat2,unlink,unlinkat,mkdir
step=3
[ -z "${SANITIZE:-}" ] || step=60
for call in $(seq 1 $step 120) $(seq 150 150 900); do
    at killed strace -f -qq -o /dev/null -e trace=$calls -e inject=$calls:signal=KILL:when="$call" \
        "$ANTLER" sweep ../grid.yaml "${options[@]}" --share --quiet >/dev/null 2>&1 &
    wait $! 2>/dev/null
    checks=$((checks + 1))
done
run sweep killed --share --quiet
[ "$code" = "$whole_code" ] || die "after kills it ended with $code: $err"
same "killed at system calls" killed

# kill -9 at random moments, three processes at a time, until the sweep is complete.
mkdir random
kills=0 ended=137 jobs=()
while [ $ended = 137 ]; do
    for i in 0 1 2; do
        [ -n "${jobs[i]:-}" ] && kill -0 "${jobs[i]}" 2>/dev/null && continue
        begin_sweep random --share --quiet >/dev/null 2>.err &
        jobs[i]=$! pids+=($!)
    done
    sleep "0.$(printf %03d $((RANDOM % (60 + 5 * kills) + 10)))" # longer and longer, so that it ends
    victim=${jobs[RANDOM % 3]}
    kill -9 "$victim" 2>/dev/null && kills=$((kills + 1))
    wait "$victim" 2>/dev/null
    ended=$?
done
[ $ended = "$whole_code" ] || die "after $kills kills it ended with $ended: $(<.err)"
for i in 0 1 2; do wait "${jobs[i]}" 2>/dev/null; done
echo "$kills kills at random moments"
same "killed at random moments" random

# Two machines: the lease alone tells. One that is killed keeps its run until it expires, and no longer.
long=(--set updates=100000000 --set checkpoint_interval=200 --set runs=1 --lease 3)
begin() { # begin HOST FOLDER ARGUMENTS...: at work in the background, with a checkpoint
    local host=$1 where=$2
    shift 2
    ANTLER_HOST=$host begin_sweep "$where" --share "$@" >".out-$host" 2>".err-$host" &
    job=$!
    pids+=("$job")
    for _ in $(seq 1200); do
        grep -q "is taken" ".err-$host" && ls "$where"/Results/e/*/001/checkpoints/update-* >/dev/null 2>&1 && return
        sleep 0.05
    done
    die "no run, or no checkpoint: $(<".err-$host")"
}
claims() { find "$1" -path '*/.claim/*' -printf '%f\n' | sort; }
mkdir hosts
begin alpha hosts "${long[@]}"
[[ $(claims hosts) == alpha,* ]] || die "no lease of alpha: $(claims hosts)"
ANTLER_HOST=beta expect_fault 2 "another training uses this run at the moment, on alpha (pid $job)" \
    inside hosts "$ANTLER" train --resume Results/e/run_gtf_alpha-0.1/001
kill -9 $job; wait $job 2>/dev/null
killed_at=$(date +%s%N)
begin beta hosts "${long[@]}" # takes the other combination, and then waits for this one
kill -TERM $job; wait $job
contains "$(<.out-beta)" "--share"
[[ $(claims hosts) == *alpha,*free* ]] || die "beta has not given its run back: $(claims hosts)"
ANTLER_HOST=beta run sweep hosts --share --leave "${long[@]}" --set updates=100000001
[ "$code" = 2 ] || die "other settings were taken: $err"
until [ $(($(date +%s%N) - killed_at)) -gt 3500000000 ]; do sleep 0.1; done
ANTLER_HOST=beta begin_sweep hosts --share "${long[@]}" >.out 2>.err &
job=$!
pids+=("$job")
for _ in $(seq 1200); do grep -q 'alpha-0.1: Run 1 is taken and continues' .err && break; sleep 0.05; done
grep -q 'alpha-0.1: Run 1 is taken and continues after update' .err || die "beta has not taken over: $(<.err)"
kill -TERM $job; wait $job

# --leave: others have all that is left.
mkdir one
updates=60000
[ -z "${SANITIZE:-}" ] || updates=20000 # instrumented code is slow: as many seconds
sed "s/\[0.1, 0.2\]/[0.1]/; s/^runs:.*/runs: 1/; s/^updates:.*/updates: $updates/; s/^\(.*\)_interval:.*/\1_interval: 2000/" grid.yaml >one.yaml
begin_lone() { at one "$ANTLER" sweep ../one.yaml "${options[@]}" --share "$@"; }
lone() { (begin_lone "$@"); }
ANTLER_HOST=alpha begin_lone --lease 2 >.out-alpha 2>.err-alpha &
stopped=$!
pids+=("$stopped")
for _ in $(seq 1200); do ls one/Results/e/*/001/checkpoints/update-* >/dev/null 2>&1 && break; sleep 0.02; done
ANTLER_HOST=beta expect_ok lone --lease 2 --leave
contains "$err" "alpha (pid $stopped)"
contains "$out" "Others have all that is left"

# An owner that is stopped, and wakes after its lease has expired, leaves the run to the one that took it over.
kill -STOP $stopped
ANTLER_HOST=beta run lone --lease 2
[ "$code" -le 1 ] || die "the other machine ended with $code: $err"
contains "$err" "Run 1 is taken and continues after update"
state() { find one/Results -type f ! -name .lock -printf '%p %i %T@\n' | sort; }
before=$(state)
kill -CONT $stopped
wait $stopped
ended=$?
[ $ended = "$code" ] || die "the stopped process ended with $ended: $(<.err-alpha)"
contains "$(<.err-alpha)" "has taken this run over, because its lease of 2 s had expired"
diff <(grep -v '\.csv ' <<<"$before") <(state | grep -v '\.csv ') || die "it has written to a run that it had lost"
mkdir alone
inside alone "$ANTLER" sweep ../one.yaml "${options[@]}" --quiet >/dev/null 2>&1
cmp alone/Results/e/*/001/model.npz one/Results/e/*/001/model.npz || die "another model after a stop"

# What does not go together.
expect_fault 2 "--share keeps" "$ANTLER" sweep grid.yaml --share --overwrite
expect_fault 2 "--lease must be between 1 and 86400" "$ANTLER" sweep grid.yaml --share --lease 0.5
finish
