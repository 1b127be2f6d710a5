#!/usr/bin/env bash
# The number of threads changes no byte of a model: training on 1, 2 and 3, and resumes on others than it began with.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 6
hidden_dim: 40
sequence_length: 4096
batch_size: 1
updates: 20
log_interval: 10
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
device: cpu
Y
expect_ok "$ANTLER" simulate lorenz63 --length 6000 --noise 0.05 --out train.npy
model() { echo "Results/e/$1/001/model.npz"; }
train() { expect_ok "$ANTLER" train run.yaml --quiet --set "name=$1" "${@:2}"; }
same() { cmp "$(model "$1")" "$(model "$2")" || die "$2 has other bytes than $1"; }

# One long window in 2 and in 3 segments, by both solvers that cut time.
for segments in 2 3; do
    for threads in 1 2 3; do
        train "cut$segments.$threads" --set "segments=$segments" --set "threads=$threads"
        same "cut$segments.1" "cut$segments.$threads"
    done
done
for threads in 1 3; do
    train "shooting.$threads" --set solver=shooting --set precision=double --set segments=2 --set "threads=$threads"
done
same shooting.1 shooting.3
cmp -s "$(model cut2.1)" "$(model cut3.1)" && die "segments change nothing, so nothing was tested"

# Batches, missing values, Newton and several runs do not need segments.
batch=(--set sequence_length=150 --set batch_size=16 --set updates=10)
for threads in 1 2 3; do
    train "batch.$threads" "${batch[@]}" --set "threads=$threads"
    train "deer.$threads" "${batch[@]}" --set solver=deer --set batch_size=2 --set "threads=$threads"
    train "runs.$threads" "${batch[@]}" --set runs=2 --set "threads=$threads"
    for name in batch deer runs; do same $name.1 "$name.$threads"; done
    cmp "Results/e/runs.1/002/model.npz" "Results/e/runs.$threads/002/model.npz" || die "run 2 has other bytes"
done

# Chosen segments are written down, and kept by a resume on another number of threads.
train whole --set threads=2 --set updates=400
grep -q '^segments: 2' Results/e/whole/001/config.yaml || die "config.yaml has no segments: 2"
stop() { # stop NAME: begin on two threads, and end at a checkpoint
    "$ANTLER" train run.yaml --quiet --overwrite --set "name=$1" --set threads=2 --set updates=400 \
        --set checkpoint_interval=20 >/dev/null 2>&1 &
    local child=$!
    until compgen -G "Results/e/$1/001/checkpoints/*" >/dev/null || ! kill -0 $child 2>/dev/null; do sleep 0.01; done
    kill -TERM $child 2>/dev/null
    wait $child
}
stopped() { # the same again where it had finished
    for _ in 1 2 3 4 5; do
        rm -rf "Results/e/$1"
        stop "$1"
        cmp -s "$(model whole)" "$(model "$1")" || return 0
    done
    die "$1 was never stopped in time"
}
stopped cut
expect_ok "$ANTLER" train run.yaml --quiet --resume Results/e/cut/001 --set name=cut --set threads=1 --set updates=400
same whole cut
expect_fault 2 "segments: 2, not 3" "$ANTLER" train run.yaml --resume Results/e/cut/001 --set name=cut --set segments=3 \
    --set updates=400

# So does a run that is older than the setting.
stopped old
sed -i '/^segments:/d' Results/e/old/001/config.yaml
expect_ok "$ANTLER" train run.yaml --quiet --resume Results/e/old/001 --set name=old --set threads=1 --set updates=400
same whole old

expect_fault 2 "segments is 2, which does nothing" "$ANTLER" train run.yaml --set solver=sequential --set segments=2
expect_fault 2 "segments is 5000, above" "$ANTLER" train run.yaml --set segments=5000
finish
