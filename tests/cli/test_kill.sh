#!/usr/bin/env bash
# kill -9 at 50 random moments: the run always stays readable and resumes to the same bytes.
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: 4000
log_interval: 10
checkpoint_interval: 40
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy
expect_ok "$ANTLER" train run.yaml --set name=whole --quiet
without_times() { cut -d, -f1-11,13- "$1"; }

killed=0 finished=0
command=(train run.yaml --set name=cut --overwrite --quiet)
while [ "$killed" -lt 50 ]; do
    "$ANTLER" "${command[@]}" 2>.err &
    job=$!
    sleep "0.$(printf %03d $((RANDOM % 300 + 5)))"
    kill -9 "$job" 2>/dev/null && killed=$((killed + 1))
    wait "$job" 2>/dev/null
    ended=$?
    checks=$((checks + 1))
    [ "$ended" = 137 ] || [ "$ended" = 0 ] || die "ended with $ended: $(<.err)"
    if [ -e Results/e/cut/001/model.npz ]; then
        expect_ok "$ANTLER" info Results/e/cut/001/model.npz
        for checkpoint in Results/e/cut/001/checkpoints/update-*.npz; do expect_ok "$ANTLER" info "$checkpoint"; done
    fi
    command=(train run.yaml --set name=cut --overwrite --quiet)
    [ ! -e Results/e/cut/001/config.yaml ] || command=(train --resume Results/e/cut/001 --quiet)
    if [ "$ended" = 0 ]; then # it was faster than the kill: compare, and begin again
        finished=$((finished + 1))
        cmp Results/e/whole/001/model.npz Results/e/cut/001/model.npz || die "another model after $killed kills"
        command=(train run.yaml --set name=cut --overwrite --quiet)
    fi
done
expect_ok "$ANTLER" "${command[@]}"
cmp Results/e/whole/001/model.npz Results/e/cut/001/model.npz || die "another model after $killed kills"
cmp <(without_times Results/e/whole/001/log.csv) <(without_times Results/e/cut/001/log.csv) || die "another log"
[ -z "$(find Results -name '.*')" ] || die "temporary files are left"
echo "$killed kills, $finished finished in between"
finish
