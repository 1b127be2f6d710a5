#!/usr/bin/env bash
# Missing values: every way to treat them, all kinds of models, resume, evaluation, and what is refused.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: bursts.csv
latent_dim: 4
hidden_dim: 12
sequence_length: 30
batch_size: 6
updates: 60
log_interval: 20
checkpoint_interval: 30
check_interval: 20
kappa: 0.9
start_lr: 1e-3
gtf_alpha: 0.2
device: cpu
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --quiet --out full.csv
# Bursts of whole rows, single values, and one variable that is dead in the second third of the rows.
awk -F, -v OFS=, '/^#/ || NR < 3 {print; next} NR % 40 > 24 {$1 = $2 = $3 = "nan"} {print}' full.csv >bursts.csv
awk -F, -v OFS=, '/^#/ || NR < 3 {print; next} NR % 7 == 3 {$2 = "nan"} NR % 11 == 5 {$3 = "nan"} {print}' full.csv >values.csv
awk -F, -v OFS=, '/^#/ || NR < 3 {print; next} NR > 500 && NR < 1000 {$1 = "nan"} {print}' full.csv >dead.csv
grep -q nan bursts.csv && grep -q nan values.csv && grep -q nan dead.csv || die "nothing is missing"

# One line says how many; the solver agrees with plain loops.
for data in bursts values dead; do
    expect_ok "$ANTLER" train run.yaml --set data=$data.csv --set name=$data --set precision=double
    [[ $err =~ ([0-9]+)" of 3600 values are missing ("[0-9.]+" %): masked" ]] || die "no line about missing values: $err"
    differs=$(tail -n 1 "Results/e/$data/001/log.csv" | cut -d, -f14)
    awk -v x="$differs" 'BEGIN {exit !(x != "" && x < 1e-9)}' || die "$data: the gradient differs by '$differs'"
done
for model in lssm mamba2; do
    expect_ok "$ANTLER" train run.yaml --set data=values.csv --set name=$model --set model=$model --set gtf_alpha=0.1 \
        --set latent_dim=8 --set updates=10 --set checkpoint_interval=10 \
        --set kappa="$([ $model = lssm ] && echo 0.9 || echo 0)"
    contains "$err" "auto chose reference: plain steps, because a $model takes its own prediction"
done

# A stop and a resume give the same bytes; complete data give the same model whatever `missing` is.
members() { python3 -c 'import sys, zipfile
a, b = (zipfile.ZipFile(p) for p in sys.argv[1:])
sys.exit(any(a.read(n) != b.read(n) for n in a.namelist() if n not in ("provenance.npy", "settings.npy")))' "$@"; }
expect_ok "$ANTLER" train run.yaml --set data=dead.csv --set name=again --set precision=double --quiet
rm Results/e/again/001/model.npz Results/e/again/001/checkpoints/*60.npz
expect_ok "$ANTLER" train --resume Results/e/again/001 --quiet
members Results/e/dead/001/model.npz Results/e/again/001/model.npz || die "a resumed run differs"
for missing in mask split interpolate refuse; do
    expect_ok "$ANTLER" train run.yaml --set data=full.csv --set name=full-$missing --set missing=$missing
    [[ $err != *"missing"* ]] || die "complete data have missing values: $err"
    members Results/e/full-mask/001/model.npz Results/e/full-$missing/001/model.npz || die "missing: $missing differs"
done

# The other ways.
expect_ok "$ANTLER" train run.yaml --set name=split --set missing=split --set sequence_length=20 --set validation=0
[[ $err =~ [0-9]+" of 4500 values are missing (3"[0-9.]+" %): trajectories are cut there" ]] || die "not cut: $err"
expect_ok "$ANTLER" train run.yaml --set data=values.csv --set name=filled --set missing=interpolate
[[ $err =~ [0-9][0-9]+" interpolated, "[0-9]" masked" ]] || die "not interpolated: $err"
expect_ok "$ANTLER" train run.yaml --set name=kept --set missing=interpolate --set missing_interpolate=5
contains "$err" "0 interpolated"

# Evaluation leaves out what is missing and says how much.
expect_ok "$ANTLER" evaluate Results/e/values/001 --data values.csv --samples 200 --n 20 --windows 10
contains "$out" "of 4500 true values"
[[ $(tr -d ' \n' <Results/e/values/001/metrics.json) =~ '"missing":{"values":'[0-9]+',"of":4500}' ]] || die "metrics.json does not say how much is missing"
expect_ok "$ANTLER" evaluate Results/e/values/001 --data full.csv --samples 200 --n 20 --windows 10
[[ $(<Results/e/values/001/metrics.json) != *'"missing"'* ]] || die "complete data have missing values"

# What is refused.
expect_fault 2 "value is NaN in row" "$ANTLER" train run.yaml --set name=x --set missing=refuse
expect_fault 2 "take missing: mask" "$ANTLER" train run.yaml --set name=x --set missing=split
expect_fault 2 "missing_interpolate is 3, which does nothing" "$ANTLER" train run.yaml --set name=x --set missing_interpolate=3
expect_fault 2 "solver: scan needs complete data" "$ANTLER" train run.yaml --quiet --set name=x --set model=lssm --set solver=scan \
    --set gtf_alpha=0.1
awk -F, -v OFS=, '/^#/ || NR < 3 {print; next} NR > 900 {$1 = "nan"} {print}' full.csv >late.csv
expect_fault 2 "has no value there; give other rows with validation_data" "$ANTLER" train run.yaml --set data=late.csv --set name=x
finish
