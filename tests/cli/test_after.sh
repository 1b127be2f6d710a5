#!/usr/bin/env bash
# What comes after training: generate, evaluate, lyapunov, info of a run, pictures.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

"$ANTLER" simulate lorenz63 --pair --length 3000 --quiet --out l63.npz || die "simulate"
cat >run.yaml <<'TXT'
experiment: e
name: n
data: l63_train.npz
latent_dim: 5
hidden_dim: 20
sequence_length: 60
batch_size: 4
gtf_alpha: 0.15
updates: 60
runs: 3
kappa: 0.9995
start_lr: 1e-3
validation: 0
TXT
"$ANTLER" train run.yaml --quiet || die "train"
run=Results/e/n/001

# generate: rows, units, latent states, the same bytes twice, one step at a time from the command line.
expect_ok "$ANTLER" generate $run --data l63_test.npz --steps 700 --standardised --out free.npz --latent z.npy
contains "$out" "700 x 3, in the model's units"
expect_ok "$ANTLER" generate $run --data l63_test.npz --steps 700 --standardised --out again.npz --quiet
[ -z "$out" ] || die "--quiet printed $out"
cmp free.npz again.npz || die "two equal runs differ"
expect_ok "$ANTLER" info free.npz
contains "$out" "user units value"
contains "$out" "dt 0.01"
expect_ok "$ANTLER" info z.npy
contains "$out" "700 x 5"
expect_ok "$ANTLER" generate $run/model.npz --data l63_test.npz --steps 50 --warmup 20 --first 5 --out user.csv
contains "$out" "in user units"
[ "$(wc -l <user.csv)" = 51 ] || die "user.csv has not 50 rows"
expect_ok "$ANTLER" generate $run/model.npz --steps 5 --out bare.npy

# The same values in user units as through the file's scaling.
"$ANTLER" generate $run --data l63_test.npz --steps 3 --standardised --quiet --out a.csv || die "generate"
"$ANTLER" generate $run --data l63_test.npz --steps 3 --quiet --out b.csv || die "generate"
"$ANTLER" info $run --json >model.json || die "info"

# lyapunov: a table with as many rows as latent units, and JSON.
expect_ok "$ANTLER" lyapunov $run --steps 300 --transient 20
contains "$out" "Kaplan-Yorke dimension"
contains "$out" "per time"
[ "$(grep -cE '^ +[1-5] ' <<<"$out")" = 5 ] || die "not five exponents: $out"
expect_ok "$ANTLER" lyapunov $run --data l63_test.npz --steps 300 --interval 4 --json
contains "$out" '"exponents_per_time"'

# evaluate: a table and metrics.json; many runs with statistics; what is left out stays out.
quick=(--data l63_test.npz --samples 500 --n 30 --windows 10 --lyapunov-steps 200)
expect_ok "$ANTLER" evaluate $run "${quick[@]}"
for word in "free run  9000 rows" "D_stsp " "D_H" "RMSE(30)" "10, each after a warm-up of" "Kaplan-Yorke" "mean true" "Means and sds are in the model's units"; do
    contains "$out" "$word"
done
expect_ok "$ANTLER" evaluate $run "${quick[@]}" --user-units --no-files --no-lyapunov --no-rmse
[[ $out != *"in the model's units"* ]] || die "it names units that were not asked for: $out"
[ -s $run/metrics.json ] || die "metrics.json is missing"
expect_ok "$ANTLER" evaluate $run "${quick[@]}" --json --no-lyapunov --no-rmse
contains "$out" '"diverged": false'
[[ $out != *'"rmse"'* && $out != *'"lyapunov"'* ]] || die "left out, and yet there: $out"
expect_ok "$ANTLER" evaluate Results/e/n/ "${quick[@]}" --embed 2,5
contains "$out" "Results/e/n/003"
contains "$out" "diverged"
[ "$(wc -l <Results/e/n/metrics.csv)" = 4 ] || die "metrics.csv: $(cat Results/e/n/metrics.csv)"
[[ $(head -1 Results/e/n/metrics.csv), == run,diverged,dstsp,dstsp_embedded,hellinger,rmse,lyapunov_max,kaplan_yorke,* ]] || die "header"
columns=$("$ANTLER" measure --measures | sed -n '3,$s/^[^`]*`\([a-z_]*\)`.*/\1/p' | paste -sd,)
[ "$(head -1 Results/e/n/metrics.csv)" = "run,diverged,$columns" ] || die "metrics.csv has other columns than the table of measures"
contains "$(cat Results/e/n/metrics.csv)" "
002,0,"
[ "$(head -1 Results/e/n/statistics.csv)" = metric,runs,diverged,median,mad,mean,sem ] || die "header"
contains "$(cat Results/e/n/statistics.csv)" "
hellinger,3,0,"
rm Results/e/n/*.csv
expect_ok "$ANTLER" evaluate $run Results/e/n/002 "${quick[@]}" --embed 2,5 --only-embedded --no-files --json
contains "$out" '"statistics"'
[[ $out != *'"dstsp": {'* ]] || die "--only-embedded measured D_stsp"
[ ! -e Results/e/n/metrics.csv ] || die "--no-files wrote a file"
expect_ok "$ANTLER" evaluate $run "${quick[@]}" --horizon smape=7 --horizon prediction_error=50 --exponent 0.9
for word in "sMAPE(7)" "MASE(30)" "PE(50)" "Lyapunov times" "were valid to their end, after 1000 rows"; do contains "$out" "$word"; done
expect_fault 2 "is not a forecast measure" "$ANTLER" evaluate $run "${quick[@]}" --horizon dstsp=7
expect_fault 2 "NAME=STEPS" "$ANTLER" evaluate $run "${quick[@]}" --horizon smape
expect_ok "$ANTLER" evaluate $run "${quick[@]}" --user-units
contains "$out" "in user units"

# info of a run, a model, a checkpoint.
for what in "$run" "$run/model.npz" "$run"/checkpoints/*.npz; do
    expect_ok "$ANTLER" info "$what"
    for word in "shplrnn model" "M = 5 latent" "L = 20 hidden" "20 x 5" "user units value" "gtf_alpha: 0.15" "made by"; do
        contains "$out" "$word"
    done
done

# Faults.
printf 'x,y\n1,2\n3,4\n5,7\n' >two.csv
# several orbits at once: the first is the one that runs alone
expect_ok "$ANTLER" generate $run --data l63_test.npz --steps 20 --orbits 3 --out many.npz
contains "$out" "3 orbits of 20 x 3"
expect_ok "$ANTLER" info many.npz
contains "$out" "3 trajectories, 60 rows in all"
cp $run/model.npz copied.npz
expect_fault 2 "the data of its training are not known; give --data FILE" "$ANTLER" generate copied.npz --steps 20 --orbits 3 --out none.npz
expect_fault 2 "leave out --data, --first, --trajectory and --orbits" "$ANTLER" generate $run --from zero --steps 20 --orbits 3 --out none.npz
expect_fault 3 "there is no NVIDIA driver" env ANTLER_CUDA_DRIVER=/nowhere "$ANTLER" generate $run --data l63_test.npz --device cuda --out none.npz --quiet
expect_fault 3 "there is no NVIDIA driver" env ANTLER_CUDA_DRIVER=/nowhere "$ANTLER" lyapunov $run --device cuda --quiet
[ ! -e none.npz ] || die "a file was left"
expect_fault 2 "--out" "$ANTLER" generate $run
expect_fault 2 "none" "$ANTLER" generate none --out x.npy
expect_fault 2 "no run below it" "$ANTLER" evaluate Results --data l63_test.npz
expect_fault 2 "2 variables and the model 3" "$ANTLER" generate $run --data two.csv --out x.npy
expect_fault 2 "shorter warm-up" "$ANTLER" generate $run --data l63_test.npz --warmup 3000 --out x.npy
expect_fault 2 "--data" "$ANTLER" evaluate $run
expect_fault 2 "--only-embedded" "$ANTLER" evaluate $run "${quick[@]}" --only-embedded
expect_fault 2 "RMSE(5000)" "$ANTLER" evaluate $run "${quick[@]}" --n 5000
expect_fault 2 "count from 1" "$ANTLER" generate $run --first 0 --out x.npy
expect_fault 2 "l63_test.npz" "$ANTLER" lyapunov l63_test.npz
[ ! -e x.npy ] || die "a fault left a file"

# The rest needs NumPy, and the pictures matplotlib.
python=
for candidate in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! $candidate -c 'import numpy' 2>/dev/null || python=$candidate
done
if [ -z "$python" ]; then
    finish
    exit
fi
$python - $run <<'TXT' || die "user units, or JSON"
import json, sys, numpy as np
read = lambda name: np.loadtxt(name, delimiter=",", skiprows=1)
model = json.load(open("model.json"))
assert np.allclose(read("a.csv") * model["scale"] + model["mean"], read("b.csv"), rtol=1e-12)
metrics = json.load(open(sys.argv[1] + "/metrics.json"))
assert metrics["dstsp"]["samples"] == 500 and metrics["rmse"]["n"] == 30 and len(metrics["lyapunov"]["exponents"]) == 5
TXT

# A model that explodes: what came before is kept, and it is counted, not dropped.
mkdir -p grown/001 && cp -r Results/e/n/002 Results/e/n/003 grown/
$python - $run <<'TXT' || die "cannot change the model"
import sys, numpy as np
arrays = dict(np.load(sys.argv[1] + "/model.npz"))
arrays["h"][:] = 1e5
np.savez("grown/001/model.npz", **arrays)
TXT
run "$ANTLER" generate grown/001 --data l63_test.npz --steps 100000 --out grown.npy
[ "$code" = 1 ] && [[ $err == "antler: the free run diverged at step "*" rows before it are in grown.npy" ]] || die "code $code: $err"
rows=$(sed -E 's/.*the ([0-9]+) rows.*/\1/' <<<"$err")
expect_ok "$ANTLER" info grown.npy
contains "$out" "$rows x 3"
run "$ANTLER" evaluate grown/001 "${quick[@]}"
[ "$code" = 1 ] || die "a run that diverged ended with $code: $out $err"
contains "$out" "diverged at step"
expect_fault 1 "diverged at step" "$ANTLER" lyapunov grown/001
expect_ok "$ANTLER" evaluate grown "${quick[@]}" --no-lyapunov
contains "$(cat grown/metrics.csv)" "001,1,inf,"
contains "$(cat grown/statistics.csv)" "dstsp,3,1,"

# Inputs: the rows of the data that follow the warm-up, held, repeated, or from another file.
$python - <<'TXT' || die "cannot write the driven series"
import numpy as np
rng = np.random.default_rng(1)
s = rng.normal(size=400)
x = np.zeros(400)
for t in range(1, 400):
    x[t] = 0.8 * x[t - 1] + s[t]
np.savetxt("driven.csv", np.column_stack([x, s]), delimiter=",", header="x,s", comments="")
TXT
"$ANTLER" train run.yaml --quiet --set name=driven --set data=driven.csv --set inputs=s --set runs=1 --set latent_dim=2 || die "train"
driven=Results/e/driven/001
expect_ok "$ANTLER" generate $driven --data driven.csv --inputs s --steps 100 --warmup 9 --out d.npy
expect_ok "$ANTLER" generate $driven --steps 100 --warmup 9 --out d2.npy # no inputs are known after the last row
contains "$out" "from row 1 of driven.csv on"
cmp d.npy d2.npy || die "not from the start"
expect_fault 2 "give them with --input-file, or begin at the first rows with --from start" "$ANTLER" generate $driven --from end --out d.npy
expect_ok "$ANTLER" generate $driven --input-file d.npy --steps 5 --out d2.npy
contains "$out" "goes on after the last row of driven.csv"
expect_fault 2 "390 follow the warm-up" "$ANTLER" generate $driven --data driven.csv --inputs s --steps 391 --warmup 9 --out d.npy
expect_ok "$ANTLER" generate $driven --data driven.csv --inputs s --steps 391 --warmup 9 --inputs-end hold --out d.npy
expect_ok "$ANTLER" generate $driven --input-file d.npy --steps 50 --out e.npy
expect_ok "$ANTLER" generate $driven --data driven.csv --steps 100 --warmup 9 --out d.npy # inputs as in training
cp $driven/model.npz alone.npz
expect_fault 2 "name the columns that are inputs" "$ANTLER" generate alone.npz --data driven.csv --columns x --out d.npy
expect_ok "$ANTLER" evaluate $driven --data driven.csv --inputs s --samples 300 --n 10 --lyapunov-steps 100
contains "$out" "free run  1200 rows"
expect_ok "$ANTLER" evaluate $driven --data driven.csv --samples 300 --n 10 --lyapunov-steps 100 # inputs as in training
expect_fault 2 "'y'" "$ANTLER" evaluate $driven --data driven.csv --columns y
expect_ok "$ANTLER" lyapunov $driven --data driven.csv --inputs s --steps 100

if $python -c 'import matplotlib' 2>/dev/null; then
    export PYTHONPATH=$SOURCE/python
    for kind in attractor series spectra; do
        expect_ok $python -m antler.plot $kind l63_test.npz free.npz --out $kind.png
        [ "$(head -c 4 $kind.png | tail -c 3)" = PNG ] || die "$kind.png is no picture"
    done
    expect_ok $python -m antler.plot attractor l63_test.npz free.npz --variables x,3 --out flat.pdf
    expect_ok $python -m antler.plot attractor user.csv user.csv --out csv.png
    run $python -m antler.plot attractor l63_test.npz free.npz --variables x,q --out no.png
    [ "$code" = 2 ] && [[ $err == *"there is no variable 'q'"* ]] || die "code $code: $err"
fi
finish
