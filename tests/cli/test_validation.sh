#!/usr/bin/env bash
# Held-back rows: columns of the log, best.npz, resume to the same bytes, and what is refused.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 16
sequence_length: 60
updates: 400
log_interval: 25
checkpoint_interval: 73
validation: 0.2
validation_interval: 45
runs: 2
device: cpu
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
Y
expect_ok "$ANTLER" simulate lorenz63 --length 2000 --noise 0.05 --out train.npy
expect_ok "$ANTLER" train run.yaml --set name=whole --quiet

# The log has the columns, with numbers in the first row after each of the nine validations.
log=Results/e/whole/001/log.csv
contains "$(head -n 1 $log)" ",solver,val_dstsp,val_hellinger,val_prediction_error"
[ "$(grep -cE ',,,$' $log)" = 8 ] || die "rows between validations have numbers: $(cat $log)"
[ "$(grep -cvE ',,,$|^update' $log)" = 9 ] || die "there are not 9 validations: $(cat $log)"

# Training on the rows before those that are held back gives the same model.
expect_ok python3 - <<'PY'
import struct
data = open("train.npy", "rb").read()
start = 10 + struct.unpack("<H", data[8:10])[0]
values = data[start : start + 1600 * 3 * 8]
head = data[10:start].decode().replace("(2000, 3)", "(1600, 3)")
open("cut.npy", "wb").write(data[:10] + head.encode() + values)
PY
expect_ok "$ANTLER" train run.yaml --set name=cut --set data=cut.npy --set validation=0 --set validation_interval=0 --quiet
contains "$(head -n 1 Results/e/cut/001/log.csv)" "gradient_agrees,solver"
[[ $(head -n 1 Results/e/cut/001/log.csv) != *val_* ]] || die "a log without validation has its columns"
[ ! -e Results/e/cut/001/best.npz ] || die "there is a best model without validation"
for k in 001 002; do
    cmp <(cut -d, -f1-11,13-15 "Results/e/whole/$k/log.csv") <(cut -d, -f1-11,13-15 "Results/e/cut/$k/log.csv") ||
        die "run $k: a validation changes the training"
    unzip -p "Results/e/whole/$k/model.npz" W.npy >a && unzip -p "Results/e/cut/$k/model.npz" W.npy >b
    cmp a b || die "run $k: another model"
done

# The best model is one of those that were validated, and every command takes its path.
expect_ok "$ANTLER" info Results/e/whole/001/best.npz
run "$ANTLER" evaluate Results/e/whole/001/best.npz Results/e/whole/002/best.npz --data train.npy --samples 100 --no-lyapunov --quiet
[ "$code" -le 1 ] || die "best.npz cannot be evaluated: $err" # 1: so short a training may leave the range of the data
expect_ok "$ANTLER" generate Results/e/whole/001/best.npz --data train.npy --steps 50 --out free.npy --quiet

same_runs() { # same_runs NAME WHAT: model, best model and log are those of the whole run
    local k file
    for k in 001 002; do
        for file in model.npz best.npz; do
            cmp "Results/e/whole/$k/$file" "Results/e/$1/$k/$file" || die "run $k, $2: another $file"
        done
        cmp <(cut -d, -f1-11,13- "Results/e/whole/$k/log.csv") <(cut -d, -f1-11,13- "Results/e/$1/$k/log.csv") || die "run $k, $2: another log"
    done
}

# Each run ends with a verdict on its held-back rows, as text and in verdict.json; none without validation.
expect_ok "$ANTLER" train run.yaml --set name=judged --set updates=60 --set validation_interval=30 --set runs=2
for k in 001 002; do
    kind=$(sed -nE 's/^ *"kind": "([a-z_]+)".*/\1/p' "Results/e/judged/$k/verdict.json")
    [ -n "$kind" ] || die "verdict.json of run $k has no kind"
    contains "$out" "Results/e/judged/$k: $kind. "
done
[ ! -e Results/e/cut/001/verdict.json ] || die "there is a verdict without validation"

# From the checkpoint of update 365: the validation of update 360 is in it, and not yet in the log.
cp -r Results/e/whole Results/e/back
rm Results/e/back/*/checkpoints/update-0000000400.npz Results/e/back/*/best.npz Results/e/back/*/model.npz
[ -e Results/e/back/001/checkpoints/update-0000000365.npz ] || die "there is no checkpoint of update 365"
expect_ok "$ANTLER" train --resume Results/e/back --quiet
same_runs back "resumed"

# Killed at some moment.
for limit in 0.1 0.2 0.4; do
    rm -rf Results/e/killed
    "$ANTLER" train run.yaml --set name=killed --quiet &
    sleep "$limit"
    kill -KILL $! 2>.killed
    wait $! 2>.killed # its lock ends with it
    [ -e Results/e/killed/001/config.yaml ] || expect_ok "$ANTLER" train run.yaml --set name=killed --quiet
    expect_ok "$ANTLER" train --resume Results/e/killed --quiet
    same_runs killed "killed after $limit s"
done

# The number that was chosen is recorded, and a run resumes with settings that leave it open, not with others.
expect_ok "$ANTLER" train run.yaml --set name=open --set validation_interval=0 --set runs=1 --quiet
interval=$(sed -n 's/^validation_interval: *\([0-9]*\).*/\1/p' Results/e/open/001/config.yaml)
[ "$interval" -gt 0 ] || die "config.yaml does not have the interval that was chosen"
expect_ok "$ANTLER" train run.yaml --resume Results/e/open --set name=open --set validation_interval=0 --set runs=1 --quiet
expect_fault 2 "the run began with validation_interval" "$ANTLER" train run.yaml --resume Results/e/open --set name=open --set validation_interval=7 --set runs=1 --quiet

# Files in place of a share; other held-back rows than before are refused.
expect_ok "$ANTLER" simulate lorenz63 --length 600 --seed 2 --out other.npy
expect_ok "$ANTLER" simulate lorenz63 --length 600 --seed 3 --out third.npy
expect_ok "$ANTLER" train run.yaml --set name=files --set validation=0 --set validation_data=other.npy --set runs=1 --quiet
[ -e Results/e/files/001/best.npz ] || die "there is no best model with validation_data"
expect_ok "$ANTLER" train run.yaml --set name=instead --set validation_data=other.npy --set runs=1 --quiet
[ "$(cut -d, -f1-5 Results/e/files/001/log.csv)" = "$(cut -d, -f1-5 Results/e/instead/001/log.csv)" ] ||
    die "files do not take the place of the share"
cp third.npy other.npy
expect_fault 2 "was validated on other rows" "$ANTLER" train --resume Results/e/files --quiet

# An old run is replaced whole.
expect_ok "$ANTLER" train run.yaml --set name=whole --set validation=0 --set validation_interval=0 --overwrite --quiet
[ ! -e Results/e/whole/001/best.npz ] || die "the best model of the old run is still there"

expect_fault 2 "holds back 60 rows of the longest trajectory, and 106 are needed" "$ANTLER" train run.yaml --set validation=0.03 --check

# Without any setting but sizes: a fifth is held back, the start is chosen and recorded, and the run ends with a verdict.
printf 'data: train.npy\nexperiment: plain\nlatent_dim: 3\nhidden_dim: 10\nsequence_length: 30\nupdates: 60\ndevice: cpu\n' >plain.yaml
expect_ok "$ANTLER" train plain.yaml
contains "$err" "initialisation: memory with kappa 0.9: the data forget within a window"
[ "$(grep -c '^Results/plain/run/001: ' <<<"$out")" = 2 ] && [ -s Results/plain/run/001/verdict.json ] || die "there is no verdict: $out"
config=$(<Results/plain/run/001/config.yaml)
for line in "initialisation: memory" "kappa: 0.9" "validation: 0.2"; do
    [[ $'\n'$config$'\n' == *$'\n'"$line"$'\n'* ]] || die "config.yaml lacks '$line'"
done
expect_ok "$ANTLER" train Results/plain/run/001/config.yaml --set name=again --quiet
for file in model.npz best.npz; do
    cmp Results/plain/{run,again}/001/$file || die "config.yaml does not repeat $file"
done
expect_ok "$ANTLER" train plain.yaml --resume Results/plain/run/001 --quiet # what was chosen need not be named
expect_fault 2 "began with kappa: 0.9, not 0.5" "$ANTLER" train plain.yaml --set kappa=0.5 --resume Results/plain/run/001
expect_ok "$ANTLER" simulate lorenz63 --length 400 --out few.npy
expect_fault 2 "holds back 80 rows of the longest trajectory, and 106 are needed; set it to 0.27 or more, or to 0 for no validation" "$ANTLER" train plain.yaml --set data=few.npy --check

# Where runs diverge, those that were validated still have their verdict, and the exit code stays 1.
run "$ANTLER" train plain.yaml --set name=wild --set runs=2 --set gtf_alpha=0 --set start_lr=10 --set end_lr=10 --set schedule=constant \
    --set gradient_clip=0 --set sequence_length=300 --set updates=2000 --set validation_interval=1 --set log_interval=1
[ "$code" = 1 ] || die "a training that diverges ended with $code"
for number in 001 002; do
    [ -s Results/plain/wild/$number/diverged.txt ] && [ -s Results/plain/wild/$number/verdict.json ] || die "run $number has no verdict"
done
run "$ANTLER" train plain.yaml --set name=early --set gtf_alpha=0 --set start_lr=10 --set end_lr=10 --set schedule=constant \
    --set gradient_clip=0 --set sequence_length=300 --set updates=2000 --set validation_interval=2000
[ "$code" = 1 ] && [ ! -e Results/plain/early/001/verdict.json ] || die "a run without a validation: $code $out $err"
[[ $err != *best.npz* ]] || die "a missing model is a fault: $err"

# A run of an earlier version, whose files do not have the settings, had no validation.
expect_ok "$ANTLER" train plain.yaml --set name=former --set validation=0 --set kappa=0.9995 --set checkpoint_interval=20 --quiet
sed -i '/^validation:/d; /^initialisation:/d' Results/plain/former/001/config.yaml
expect_ok "$ANTLER" train --resume Results/plain/former/001 --quiet
finish
