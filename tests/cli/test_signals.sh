#!/usr/bin/env bash
# SIGUSR1 writes a checkpoint and the work goes on, to the same bytes; SIGTERM stops with a checkpoint.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

updates=16000
[ -z "${SANITIZE:-}" ] || updates=5000 # instrumented code is slow: as many seconds
cat >run.yaml <<Y
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: $updates
log_interval: 1000
checkpoint_interval: 1000000
runs: 2
threads: 2
kappa: 0.9995
start_lr: 1e-3
end_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy
job=""
trap '[ -z "$job" ] || kill -9 "$job" 2>/dev/null; rm -rf "$folder"' EXIT

# wait_for FILE: it appears while the job is at work
wait_for() {
    for _ in $(seq 1200); do
        compgen -G "$1" >/dev/null && return
        kill -0 "$job" 2>/dev/null || die "the job ended before there was $1: $(<.log)"
        sleep 0.02
    done
    die "there is no $1: $(<.log)"
}
# updates FOLDER: of its checkpoints
updates() { find "$1/checkpoints" -name 'update-*.npz' -printf '%f\n' | tr -dc '0-9\n' | sed 's/^0*//' | sort -n; }

# train: both runs get a checkpoint of the same request, where the settings ask for none.
"$ANTLER" train run.yaml --quiet --set name=warned >.log 2>&1 &
job=$!
for r in 001 002; do wait_for "Results/e/warned/$r/log.csv"; done
kill -USR1 $job
for r in 001 002; do wait_for "Results/e/warned/$r/checkpoints/update-*.npz"; done
first=$(updates Results/e/warned/001)
[ "$first" -lt $updates ] || die "the checkpoint is that of the end"
kill -USR1 $job # a second one is no stop, either
wait $job
ended=$?
[ $ended = 0 ] || die "a warned training ended with $ended: $(<.log)"
expect_ok "$ANTLER" train run.yaml --quiet --set name=calm
for r in 001 002; do
    cmp Results/e/calm/$r/model.npz Results/e/warned/$r/model.npz || die "a warning has changed run $r"
    [ "$(updates Results/e/calm/$r)" = $updates ] || die "a calm training has other checkpoints"
done

# A run that was warned and then killed goes on from that checkpoint, to the same bytes.
"$ANTLER" train run.yaml --quiet --set name=killed >.log 2>&1 &
job=$!
for r in 001 002; do wait_for "Results/e/killed/$r/log.csv"; done
kill -USR1 $job
for r in 001 002; do wait_for "Results/e/killed/$r/checkpoints/update-*.npz"; done
kill -9 $job 2>/dev/null
wait $job 2>/dev/null
expect_ok "$ANTLER" train --resume Results/e/killed
contains "$err" "continues after update"
for r in 001 002; do cmp Results/e/calm/$r/model.npz Results/e/killed/$r/model.npz || die "another model after a kill"; done

# SIGBUS, as of a mapped file that becomes shorter: one sentence, and nothing is lost.  ThreadSanitizer does not let a
# process end in a handler that interrupts one of its own functions.
if [ "${SANITIZE:-}" != thread ]; then
    "$ANTLER" train run.yaml --quiet --set name=bus 2>.log &
    job=$!
    for r in 001 002; do wait_for "Results/e/bus/$r/log.csv"; done
    kill -BUS $job
    wait $job 2>/dev/null
    ended=$?
    [ $ended = 3 ] || die "SIGBUS ended it with $ended: $(<.log)"
    contains "$(<.log)" "antler: a file became shorter while it was in use"
    expect_ok "$ANTLER" train --resume Results/e/bus
    for r in 001 002; do cmp Results/e/calm/$r/model.npz Results/e/bus/$r/model.npz || die "another model after SIGBUS"; done
fi

# A file that is mapped, and shorter before it has been read.
rows=40000000
printf "\x93NUMPY\x01\x00\x76\x00%-117s\n" "{'descr': '<f8', 'fortran_order': False, 'shape': ($rows, 2), }" >shorter.npy
truncate -s $((128 + 16 * rows)) shorter.npy # sparse
"$ANTLER" info shorter.npy >.log 2>&1 &
job=$!
until grep -q shorter.npy /proc/$job/maps 2>/dev/null; do
    kill -0 $job || die "shorter.npy was not mapped: $(<.log)"
done
truncate -s 1M shorter.npy
wait $job
ended=$?
[ $ended = 3 ] || die "a file that became shorter ended it with $ended: $(<.log)"
[ "$(<.log)" = "antler: a file became shorter while it was in use, or its disk failed; leave data as they are until the work is done" ] ||
    die "a file that became shorter: $(<.log)"
rm shorter.npy

# sweep, alone and shared, and fit; SIGTERM as ever.
sed 's/^gtf_alpha.*/grid:\n  gtf_alpha: [0.1]/; s/^experiment.*/experiment: s/; s/^updates.*/updates: 100000000/' run.yaml >grid.yaml
for how in "" --share; do
    # shellcheck disable=SC2086 # no argument where there is none
    "$ANTLER" sweep grid.yaml --quiet --set name=swept$how $how >.log 2>&1 &
    job=$!
    wait_for "Results/s/swept${how}_*/002/log.csv"
    kill -USR1 $job
    wait_for "Results/s/swept${how}_*/002/checkpoints/update-*.npz"
    before=$(updates Results/s/swept"${how}"_*/002)
    kill -TERM $job
    wait $job
    ended=$?
    [ $ended = 0 ] || die "sweep $how: SIGTERM ended it with $ended: $(<.log)"
    contains "$(<.log)" "Stopped; nothing is lost"
    [ "$(updates Results/s/swept"${how}"_*/002 | tail -n 1)" -gt "$before" ] || die "sweep $how: no checkpoint after SIGTERM"
done
mkdir Results/train # with a plan, `fit` does not spend time on one
printf 'trials,runs,updates\n4,1,40000\n1,1,40000\n1,1,40000\n' >Results/train/plan.csv
"$ANTLER" fit train.npy --quiet --minutes 5 --device cpu >.log 2>&1 &
job=$!
trial=Results/train/try-1-01/001 # its checkpoints are otherwise those of its end
wait_for "$trial/log.csv"
kill -USR1 $job
wait_for "$trial/checkpoints/update-*.npz"
kill -0 $job || die "fit has ended: $(<.log)"
[ "$(updates $trial | head -n 1)" -lt "$(sed -n 's/^updates: //p' $trial/config.yaml)" ] || die "the checkpoint is that of the end"
kill -9 $job
wait $job 2>/dev/null
job=""
finish
