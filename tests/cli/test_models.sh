#!/usr/bin/env bash
# The kinds of models beside the shPLRNN: one key, and every command takes them.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

"$ANTLER" simulate lorenz63 --pair --length 2000 --quiet --out l63.npz || die "simulate"
{ echo "temperature,pressure,heater"; for i in $(seq 400); do echo "$((i % 17)).5,$((i * i % 29)),$((i % 2))"; done; } >driven.csv
cat >run.yaml <<'Y'
experiment: e
data: l63_train.npz
latent_dim: 8
hidden_dim: 12
sequence_length: 100
batch_size: 2
warmup: 20
updates: 30
log_interval: 10
checkpoint_interval: 10
check_interval: 10
runs: 2
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y

states_of() { [ "$1" = lssm ] && echo 8 || echo $((3 * 48 + 16 * 16 + 3)); }
for model in lssm mamba2; do
    for precision in float double; do
        expect_ok "$ANTLER" train run.yaml --set model=$model --set precision=$precision --set name=$model-$precision
        contains "$err" "Solver: auto chose scan: the $model is linear in its state"
    done
    run=Results/e/$model-float/001
    # No Newton iterations, no forcing strength; the check against plain steps is there.
    row=$(tail -n 1 $run/log.csv)
    [ "$(cut -d, -f7,10,15 <<<"$row")" = ",,scan" ] || die "log.csv has $row"
    [ -n "$(cut -d, -f13,14 <<<"$row" | tr -d ,)" ] || die "log.csv has no check: $row"
    expect_ok "$ANTLER" info $run
    contains "$out" "$model model, trained in float"
    expect_ok "$ANTLER" info $run --json
    contains "$out" "\"kind\": \"$model\""

    # The settings that were written train the same model again.
    expect_ok "$ANTLER" train $run/config.yaml --set name=$model-again --quiet
    cmp $run/model.npz Results/e/$model-again/001/model.npz || die "$model: config.yaml gave another model"

    expect_ok "$ANTLER" generate $run --data l63_test.npz --steps 300 --out free.npy --latent z.npy
    expect_ok "$ANTLER" generate $run --data l63_test.npz --steps 300 --out again.npy --quiet
    cmp free.npy again.npy || die "$model: two free runs differ"
    expect_ok "$ANTLER" info z.npy
    contains "$out" "300 x $(states_of $model)"
    expect_ok "$ANTLER" generate $run --steps 5 --out bare.npy
    expect_ok "$ANTLER" lyapunov $run --steps 50 --transient 10 --exponents 3
    [ "$(grep -cE '^ +[0-9]+ ' <<<"$out")" = 3 ] || die "not three exponents: $out"
    expect_ok "$ANTLER" evaluate Results/e/$model-float --data l63_test.npz --samples 200 --n 20 --windows 5 --lyapunov-steps 20
    contains "$out" "lyapunov_max"
    [ -s $run/metrics.json ] || die "$model: metrics.json is missing"

    # Inputs.
    expect_ok "$ANTLER" train run.yaml --set model=$model --set name=$model-driven --set data=driven.csv --set inputs=heater --quiet
    expect_ok "$ANTLER" generate Results/e/$model-driven/001 --data driven.csv --inputs heater --steps 20 --out driven.npy
    cp Results/e/$model-driven/001/model.npz alone.npz # without the settings of its run
    expect_fault 2 "name the columns that are inputs" "$ANTLER" generate alone.npz --data driven.csv --columns 1,2 --steps 20 --out driven.npy

    expect_fault 2 "gtf_alpha is 0.4, which does nothing with model: $model" "$ANTLER" train run.yaml --set model=$model --set gtf_alpha=0.4
    expect_fault 2 "take auto, scan or reference" "$ANTLER" train run.yaml --set model=$model --set solver=deer
done
expect_fault 2 "latent_dim is 6, but a mamba2" "$ANTLER" train run.yaml --set model=mamba2 --set latent_dim=6
expect_fault 2 "did you mean 'mamba2'" "$ANTLER" train run.yaml --set model=mamba

# Scheduled sampling: plain steps and Newton's method train the same model, on any number of threads and after a kill.
sampled=(--set validation=0 --set precision=double --set sampling_end=0.6 --set runs=1)
for model in lssm mamba2; do
    expect_ok "$ANTLER" train run.yaml --set model=$model "${sampled[@]}" --set name=sampled-$model
    contains "$err" "plain steps, because a $model takes its own predictions in by scheduled sampling"
    expect_ok "$ANTLER" train run.yaml --set model=$model "${sampled[@]}" --set name=again-$model --set threads=1 --quiet
    cmp Results/e/{sampled,again}-$model/001/model.npz || die "$model: threads changed the model"
    expect_ok "$ANTLER" evaluate Results/e/sampled-$model --data l63_test.npz --samples 200 --n 20 --windows 5 --lyapunov-steps 20
    expect_fault 2 "scan cannot do scheduled sampling" "$ANTLER" train run.yaml --set model=$model --set sampling_end=0.5 --set solver=scan
    expect_fault 2 "is not on the GPU; use device: cpu" "$ANTLER" train run.yaml --set model=$model --set sampling_end=0.5 --set device=cuda
done
newton=(--set model=lssm "${sampled[@]}" --set solver=deer --set tolerance=1e-12)
expect_ok "$ANTLER" train run.yaml "${newton[@]}" --set name=newton
contains "$err" "Solver: deer: Newton on all steps at once, because a lssm takes its own predictions in"
last() { tail -n 1 "Results/e/$1/001/log.csv" | cut -d, -f"$2"; }
awk -v a="$(last newton 2)" -v b="$(last sampled-lssm 2)" 'BEGIN { exit !(a - b < 1e-9 * b && b - a < 1e-9 * b) }' ||
    die "losses by deer $(last newton 2), by plain steps $(last sampled-lssm 2)"
awk -v n="$(last newton 7)" -v d="$(last newton 13)" 'BEGIN { exit !(n >= 2 && d < 1e-10) }' ||
    die "deer took $(last newton 7) iterations and is $(last newton 13) from plain steps"
[ "$(last newton 15)" = deer ] || die "the log has solver $(last newton 15)"
long=("${newton[@]}" --set updates=1500 --set checkpoint_interval=100 --set check_interval=0)
expect_ok "$ANTLER" train run.yaml "${long[@]}" --set name=whole --quiet
"$ANTLER" train run.yaml "${long[@]}" --set name=cut --quiet 2>/dev/null &
until compgen -G "Results/e/cut/001/checkpoints/update-*.npz" >/dev/null; do sleep 0.01; done
kill -9 $!
wait $! 2>/dev/null
expect_ok "$ANTLER" train --resume Results/e/cut --quiet
cmp Results/e/{whole,cut}/001/model.npz || die "a resumed training under scheduled sampling gave another model"
expect_fault 2 "take auto, scan or reference" "$ANTLER" train run.yaml --set model=mamba2 --set sampling_end=0.5 --set solver=deer
expect_fault 2 "sampling_end is 0.5, which does nothing with model: shplrnn" "$ANTLER" train run.yaml --set sampling_end=0.5
expect_fault 2 "tolerance is 1e-06, which does nothing with model: lssm" "$ANTLER" train run.yaml --set model=lssm --set tolerance=1e-6

if python3 -c 'import numpy' 2>/dev/null; then
    expect_ok python3 -c "
import numpy
m = numpy.load('Results/e/lssm-double/001/model.npz')
assert str(m['kind']) == 'lssm' and m['U'].shape == (8, 3) and m['B'].shape == (3, 12) and m['U'].dtype == numpy.float64
assert numpy.allclose(m['A'], numpy.tanh(m['Abar']))
m = numpy.load('Results/e/mamba2-float/001/model.npz')
assert str(m['kind']) == 'mamba2' and m['proj_in'].shape == (72, 8) and m['A_log'].shape == (8,) and 'A' not in m
c = numpy.load('Results/e/lssm-driven/001/checkpoints/update-0000000030.npz')
assert c['C'].shape == (8, 1) and int(c['update']) == 30"
fi
finish
