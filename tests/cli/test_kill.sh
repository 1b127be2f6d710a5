#!/usr/bin/env bash
# kill -9 at random moments, for every kind of model: the run stays readable and resumes to the same bytes.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
log_interval: 10
checkpoint_interval: 40
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy
without_times() { cut -d, -f1-11,13- "$1"; }

# kill_often MODEL UPDATES KILLS
kill_often() {
    local settings=(run.yaml --set model="$1" --set updates="$2") whole=Results/e/whole-$1/001 cut=Results/e/cut-$1/001
    local killed=0 finished=0 ended job before=${EPOCHREALTIME/./} took
    expect_ok "$ANTLER" train "${settings[@]}" --set name="whole-$1" --quiet
    took=$(((${EPOCHREALTIME/./} - before) / 1000)) # ms: most kills are to hit it at work
    local begin=(train "${settings[@]}" --set name="cut-$1" --overwrite --quiet)
    local command=("${begin[@]}")
    while [ "$killed" -lt "$3" ]; do
        "$ANTLER" "${command[@]}" 2>.err &
        job=$!
        sleep "$(printf %.3f "$((RANDOM % (took + took / 5) + 3))e-3")"
        kill -9 "$job" 2>/dev/null && killed=$((killed + 1))
        wait "$job" 2>/dev/null
        ended=$?
        checks=$((checks + 1))
        [ "$ended" = 137 ] || [ "$ended" = 0 ] || die "$1 ended with $ended: $(<.err)"
        if [ -e "$cut/model.npz" ]; then
            expect_ok "$ANTLER" info "$cut/model.npz"
            contains "$out" "$1 model"
            for checkpoint in "$cut"/checkpoints/update-*.npz; do expect_ok "$ANTLER" info "$checkpoint"; done
        fi
        command=("${begin[@]}")
        [ ! -e "$cut/config.yaml" ] || command=(train --resume "$cut" --quiet)
        if [ "$ended" = 0 ]; then # it was faster than the kill: compare, and begin again
            finished=$((finished + 1))
            cmp "$whole/model.npz" "$cut/model.npz" || die "another model after $killed kills"
            command=("${begin[@]}")
        fi
    done
    expect_ok "$ANTLER" "${command[@]}"
    cmp "$whole/model.npz" "$cut/model.npz" || die "another model after $killed kills"
    cmp <(without_times "$whole/log.csv") <(without_times "$cut/log.csv") || die "another log"
    [ -z "$(find Results -name '.*' ! -name .lock)" ] || die "temporary files are left: $(find Results -name ".*" ! -name .lock)"
    echo "$1: $killed kills, $finished finished in between"
}

fewer=1
[ -z "${SANITIZE:-}" ] || fewer=3 # processes start and train slowly there
kill_often shplrnn 4000 $((50 / fewer))
kill_often lssm 2000 $((10 / fewer))
kill_often mamba2 600 $((10 / fewer))
finish
