#!/usr/bin/env bash
# antler train and sweep: examples, run folders, faults, divergence, tables.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: 60
log_interval: 20
checkpoint_interval: 25
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy

# The documentation is what the command prints.
"$ANTLER" train --settings >settings.md || die "--settings failed"
cmp -s settings.md "$SOURCE/docs/settings.md" || die "docs/settings.md is old; write it with: antler train --settings"

# Every example parses and passes the check, on small data of its system.
for system in lorenz63 lorenz96 neuron; do
    expect_ok "$ANTLER" simulate "$system" --pair --length 6000 --transient 1 --out "$system.npz"
done
{ echo "temperature,pressure,heater"; for i in $(seq 600); do echo "$((i % 17)).5,$((i * i % 29)),$((i % 2))"; done; } >measurements.csv
examples=0
for example in "$SOURCE"/examples/*.yaml; do
    examples=$((examples + 1))
    if grep -q '^grid:' "$example"; then
        expect_ok "$ANTLER" sweep "$example" --list
        [ "$(wc -l <<<"$out")" -ge 2 ] || die "$example has no grid: $out"
    else
        expect_ok "$ANTLER" train "$example" --check
        contains "$out" "fit together"
    fi
done
[ "$examples" -ge 6 ] || die "only $examples examples"

# A run folder.
expect_ok "$ANTLER" train run.yaml --set name=a
contains "$out" "Results/e/a/001: 60 updates done"
contains "$err" "Solver: "
for file in config.yaml log.csv model.npz checkpoints/update-0000000060.npz; do
    [ -s "Results/e/a/001/$file" ] || die "there is no $file"
done
[ "$(cut -d, -f1 Results/e/a/001/log.csv | paste -sd' ')" = "update 1 20 40 60" ] || die "rows: $(<Results/e/a/001/log.csv)"
contains "$(<Results/e/a/001/config.yaml)" "latent_dim: 4"
[ -z "$(find Results -name '.*' ! -name .lock)" ] || die "temporary files are left"
expect_ok "$ANTLER" info Results/e/a/001/model.npz
expect_ok "$ANTLER" train run.yaml --set name=free --set diagonal=free --set kappa=0 --set sequence_length=100 --set latent_lambda=0.1
contains "$out$err" "initialisation: memory with kappa 0.9: the data forget within a window"
expect_ok "$ANTLER" info Results/e/free/001/model.npz
contains "$out" "shplrnn model, free diagonal, trained in"
expect_ok "$ANTLER" info --json Results/e/free/001/model.npz
contains "$out" '"free_diagonal": true'
if python3 -c 'import numpy' 2>/dev/null; then
    expect_ok python3 -c "
import numpy
m = numpy.load('Results/e/a/001/model.npz')
assert m['W'].shape == (4, 10) and m['W'].dtype == numpy.float32 and str(m['kind']) == 'shplrnn'
assert numpy.allclose(m['A'], numpy.tanh(m['Abar']), rtol=1e-6)
assert 'latent_dim: 4' in str(m['settings']) and m['mean'].shape == (3,)
c = numpy.load('Results/e/a/001/checkpoints/update-0000000060.npz')
assert int(c['update']) == 60 and c['m'].shape == c['v'].shape"
fi

# The written settings train again to the same bytes; names and places do not matter.
expect_ok "$ANTLER" train Results/e/a/001/config.yaml --set name=b --set results=Elsewhere --quiet
[ -z "$out$err" ] || die "--quiet is not quiet: $out$err"
cmp Results/e/a/001/model.npz Elsewhere/e/b/001/model.npz || die "config.yaml does not repeat the run"

expect_fault 2 "this run exists" "$ANTLER" train run.yaml --set name=a
expect_ok "$ANTLER" train run.yaml --set name=a --overwrite --quiet
cmp Results/e/a/001/model.npz Elsewhere/e/b/001/model.npz || die "--overwrite gave another model"

expect_fault 2 "needs a data file, a settings file, or --resume RUN" "$ANTLER" train
expect_fault 2 "none.yaml" "$ANTLER" train none.yaml
expect_fault 2 "did you mean 'gtf_alpha'" "$ANTLER" train run.yaml --set gtf_alfa=1
expect_fault 2 "gtf_alpha is 2" "$ANTLER" train run.yaml --set gtf_alpha=2
expect_fault 2 "longest trajectory has 1500" "$ANTLER" train run.yaml --set name=c --set sequence_length=1500
expect_fault 2 "missing.npy" "$ANTLER" train run.yaml --set name=c --set data=missing.npy
expect_fault 2 "no run 2" "$ANTLER" train run.yaml --set name=c --run 2
expect_fault 2 "--set needs a data file or a settings file" "$ANTLER" train --resume Results/e/a/001 --set updates=3
expect_fault 2 "began with updates: 60, not 70" "$ANTLER" train run.yaml --set updates=70 --resume Results/e/a/001
expect_fault 2 "holds no run" "$ANTLER" train --resume Results
echo 'gtf_alfa: 1' >bad.yaml
expect_fault 2 "bad.yaml, line 1: there is no setting 'gtf_alfa'" "$ANTLER" train bad.yaml
[ ! -e Results/e/c ] || die "a refused training left a folder"

# A diverged run says why and what to do, keeps a model, and does not stop its sibling.
expect_run() { run "$@"; }
expect_run "$ANTLER" train run.yaml --set name=wild --set runs=2 --set gtf_alpha=0 --set start_lr=10 --set end_lr=10 \
    --set schedule=constant --set sequence_length=200 --set updates=2000 --set gradient_clip=0
[ "$code" = 1 ] || die "divergence ended with $code: $err"
contains "$err" "diverged at update"
contains "$err" "larger gtf_alpha"
contains "$err" "of 2 runs diverged"
[ -s Results/e/wild/001/model.npz ] || die "a diverged run lost its model"
contains "$(cat Results/e/wild/00?/diverged.txt)" "diverged at update"

# A sweep: every combination, every run, two tables; a second call goes on.
{ cat run.yaml; printf 'runs: 2\ngrid:\n  gtf_alpha: [0.1, 0.2]\n  rank: [0, 2]\n'; } >grid.yaml
expect_fault 2 "belongs to a sweep" "$ANTLER" train grid.yaml
expect_fault 2 "has no 'grid:'" "$ANTLER" sweep run.yaml
expect_ok "$ANTLER" sweep grid.yaml --list
[ "$(wc -l <<<"$out")" = 4 ] || die "combinations: $out"
expect_ok "$ANTLER" sweep grid.yaml --set experiment=s
[ "$(wc -l <Results/s/metrics.csv)" = 9 ] || die "$(<Results/s/metrics.csv)"
contains "$(head -n 1 Results/s/metrics.csv)" "rank,gtf_alpha,name,run,diverged,loss"
contains "$(head -n 1 Results/s/statistics.csv)" "rank,gtf_alpha,metric,runs,diverged,median,mad,mean,sem"
grep -q '^2,0.1,loss,2,0,' Results/s/statistics.csv || die "$(<Results/s/statistics.csv)"
expect_ok "$ANTLER" simulate lorenz63 --length 1000 --seed 2 --out test.npy
{ cat run.yaml; printf 'runs: 2\ntest: test.npy\ngrid:\n  gtf_alpha: [0.2]\n'; } >judged.yaml
run "$ANTLER" sweep judged.yaml --set experiment=j --samples 1000
[ "$code" = 0 ] || [ "$code" = 1 ] || die "an evaluated sweep ended with $code: $err"
grep -q '^0.2,dstsp,2,' Results/j/statistics.csv || die "$(<Results/j/statistics.csv)"
grep -q '^0.2,rmse,2,' Results/j/statistics.csv || die "$(<Results/j/statistics.csv)"
cp Results/s/metrics.csv before.csv
expect_fault 2 "this run exists" "$ANTLER" sweep grid.yaml --set experiment=s --quiet
rm -r "Results/s/run_rank-2_gtf_alpha-0.2/002"
expect_ok "$ANTLER" sweep grid.yaml --set experiment=s --resume --quiet
cmp <(cut -d, -f1-8 before.csv) <(cut -d, -f1-8 Results/s/metrics.csv) || die "a resumed sweep gave another table"
finish
