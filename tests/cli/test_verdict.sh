#!/usr/bin/env bash
# Verdicts of `antler evaluate` and `antler sweep`: of trained runs, on the terminal, in JSON, in files and as exit codes.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# field FILE NAME...: a value in a JSON file, by the names that lead to it
field() {
    /usr/bin/python3 -c 'import json, sys
value = json.load(open(sys.argv[1]))
for name in sys.argv[2:]:
    value = value[name]
print(value)' "$@"
}
expect_kind() { [ "$(field "$1" verdict kind)" = "$2" ] || die "$1 says $(field "$1" verdict kind) instead of $2: $(field "$1" verdict text)"; }

expect_ok "$ANTLER" simulate lorenz63 --length 6000 --seed 1 --out train.npy --quiet
expect_ok "$ANTLER" simulate lorenz63 --length 12000 --seed 2 --out test.npy --quiet
quick=(--samples 1000 --no-lyapunov --quiet)
echo '{data: train.npy, experiment: e, latent_dim: 3, hidden_dim: 10, sequence_length: 30, batch_size: 4, device: cpu,
    kappa: 0.9995, start_lr: 1e-3, gtf_alpha: 0.15, validation: 0}' >run.yaml

# A model that was trained well, without a log.
expect_ok "$ANTLER" evaluate "$SOURCE/tests/models/lorenz63.npz" --data test.npy "${quick[@]}"
contains "$out" "verdict   good: The free run differs from the data about as much"
contains "$out" ", floor 0.0"
contains "$out" ", last row "
expect_ok "$ANTLER" evaluate "$SOURCE/tests/models/lorenz63.npz" --data test.npy "${quick[@]}" --json
echo "$out" >good.json
expect_kind good.json good
for name in dstsp hellinger rmse smape mase prediction_error valid_time; do field good.json floors $name >value || die "$name has no floor"; done
expect_ok "$ANTLER" evaluate "$SOURCE/tests/models/lorenz63.npz" --data test.npy "${quick[@]}" --no-verdict --json
[[ $out != *'"verdict"'* && $out != *'"floors"'* ]] || die "--no-verdict leaves a verdict: $out"

# 50 updates: the log says that the training had not come to an end; the model alone does not.
expect_ok "$ANTLER" train run.yaml --set name=short --set updates=50 --set log_interval=1 --quiet
expect_ok "$ANTLER" evaluate Results/e/short/001 --data test.npy "${quick[@]}"
contains "$out" "verdict   undertrained: "
expect_kind Results/e/short/001/metrics.json undertrained
expect_ok "$ANTLER" evaluate Results/e/short/001/model.npz --data test.npy "${quick[@]}" --json
echo "$out" >alone.json
[ "$(field alone.json verdict kind)" != undertrained ] || die "a model without its log is called undertrained"

# Data that cannot judge a model: 200 rows, and a random walk.
expect_ok "$ANTLER" simulate lorenz63 --length 200 --seed 2 --out few.npy --quiet
expect_ok "$ANTLER" evaluate "$SOURCE/tests/models/lorenz63.npz" --data few.npy "${quick[@]}" --n 20
contains "$out" "verdict   too_short: "
awk 'BEGIN { srand(3); print "x"; for (i = 0; i < 3000; i++) { x += rand() - 0.5; print x } }' >walk.csv
awk 'BEGIN { srand(4); print "x"; for (i = 0; i < 3000; i++) print rand() }' >noise.csv
for data in walk noise; do
    expect_ok "$ANTLER" train run.yaml --set name=$data --set data=$data.csv --set latent_dim=1 --set updates=600 --set start_lr=5e-3 --quiet
    run "$ANTLER" evaluate Results/e/$data/001 --data $data.csv "${quick[@]}"
done
expect_kind Results/e/walk/001/metrics.json too_short
field Results/e/walk/001/metrics.json verdict text >sentence
grep -qE "autocorrelation times of x\.|the mean of x differs" sentence || die "the variable is not named: $(cat sentence)"
expect_kind Results/e/noise/001/metrics.json noise

# The same model in wrong units leaves the range of the data: diverged in every table, exit code 1.
awk 'BEGIN { for (i = 0; i < 3000; i++) print 1e-3 * sin(0.05 * i) "," 1e-3 * cos(0.05 * i) "," 1e-3 * sin(0.07 * i) }' >small.csv
run "$ANTLER" evaluate "$SOURCE/tests/models/lorenz63.npz" --data small.csv "${quick[@]}"
[ "$code" = 1 ] || die "a free run that leaves the range ended with $code: $out"
contains "$out" "verdict   left_range: The free run left the data's range at step"
expect_ok "$ANTLER" evaluate "$SOURCE/tests/models/lorenz63.npz" --data small.csv "${quick[@]}" --dstsp bins --range-factor 0
contains "$out" "verdict   far: "
mkdir -p two/001 two/002
cp "$SOURCE/tests/models/lorenz63.npz" two/001/model.npz
cp "$SOURCE/tests/models/lorenz63.npz" two/002/model.npz
run "$ANTLER" evaluate two --data small.csv "${quick[@]}"
[ "$code" = 1 ] || die "two runs that leave the range ended with $code: $out"
contains "$out" "left_range"
grep -q '^001,1,inf,' two/metrics.csv || die "metrics.csv does not count it as diverged: $(cat two/metrics.csv)"
grep -q '^dstsp,2,2,inf' two/statistics.csv || die "statistics.csv does not count it as diverged: $(cat two/statistics.csv)"

# A sweep judges its runs as well.
cat >grid.yaml <<'Y'
{data: train.npy, test: test.npy, experiment: g, latent_dim: 3, hidden_dim: 10, sequence_length: 30, batch_size: 4, updates: 20,
 log_interval: 5, device: cpu, kappa: 0.9995, start_lr: 1e-3, validation: 0, grid: {gtf_alpha: [0.1, 0.2]}}
Y
expect_ok "$ANTLER" sweep grid.yaml --samples 500 --quiet
for alpha in 0.1 0.2; do expect_kind Results/g/run_gtf_alpha-$alpha/001/metrics.json undertrained; done
finish
