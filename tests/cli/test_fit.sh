#!/usr/bin/env bash
# antler fit and tune: from a table to a model; the same plan gives the same choice; a stopped fit continues to it.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

expect_ok "$ANTLER" simulate lorenz63 --length 1500 --dt 0.03 --out lorenz.npy
fit=("$ANTLER" fit lorenz.npy --minutes 0.001 --device cpu --threads 2)

# small_plan FOLDER [RUNS]: a `fit` that need not plan by its time trains a tenth.
small_plan() {
    local runs=${2:-1}
    mkdir -p "$1"
    printf 'trials,runs,updates\n3,%d,20\n1,%d,40\n1,%d,80\n' "$runs" "$runs" "$runs" >"$1/plan.csv"
}

[ -z "${SANITIZE:-}" ] || small_plan whole/lorenz 2 # instrumented code is slow
expect_ok "${fit[@]}" --results whole
for word in "1500 rows, 3 variables" "Rung 1 of 3" "Rung 3 of 3" "leads" "D_stsp" "settings.yaml"; do contains "$out" "$word"; done
verdict=$(sed -nE 's/^Verdict: ([a-z_]+)\..*/\1/p' <<<"$out")
case $verdict in
    good | too_short) ;;
    *) contains "$out" "Give the fit more minutes: its longest training had" ;;
esac
for file in model.npz settings.yaml trials.csv plan.csv verdict.json; do [ -s "whole/lorenz/$file" ] || die "$file is missing"; done
expect_ok "$ANTLER" evaluate whole/lorenz/model.npz --data lorenz.npy --samples 1000 --no-lyapunov --no-files
expect_ok "$ANTLER" train whole/lorenz/settings.yaml --check

# The model of a fit can be evaluated and shown as that of a run: metrics.json goes beside it, and the report finds both.
contains "$(<whole/lorenz/verdict.json)" "\"kind\": \"$verdict\""
expect_ok "$ANTLER" evaluate whole/lorenz/model.npz --data lorenz.npy --samples 1000 --no-lyapunov --quiet
contains "$(<whole/lorenz/metrics.json)" '"run": "whole/lorenz/model.npz"'
contains "$out" "D_stsp"

# What compares bits of a second fit is for the builds without a sanitizer.
if [ -z "${SANITIZE:-}" ]; then
    # The plan decides: a copy of it in another folder leads to the same trials and the same model.
    mkdir -p again/lorenz
    cp whole/lorenz/plan.csv again/lorenz/
    expect_ok "${fit[@]}" --results again
    cmp whole/lorenz/trials.csv again/lorenz/trials.csv || die "another choice with the same plan"
    for member in A W V b h B; do
        cmp <(unzip -p whole/lorenz/model.npz "$member.npy") <(unzip -p again/lorenz/model.npz "$member.npy") || die "another $member"
    done

    # The settings repeat the training of the winner to the last bit.
    number=$(sed -nE 's/.*repeats it: run ([0-9]+).*/\1/p' <<<"$out")
    expect_ok "$ANTLER" train again/lorenz/settings.yaml --set results=repeated --run "$number" --quiet
    cmp <(unzip -p again/lorenz/model.npz W.npy) <(unzip -p "repeated/lorenz/fitted/00$number/best.npz" W.npy) || die "another W when repeated"
fi

# Stopped after its first trial, it has a result; the same command continues to the whole choice.
mkdir -p stopped/lorenz
updates=600
[ -z "${SANITIZE:-}" ] || updates=100 # instrumented code is slow
sed "s/,[0-9]*\$/,$updates/;1s/,$updates\$/,updates/" whole/lorenz/plan.csv >stopped/lorenz/plan.csv
"${fit[@]}" --results stopped >stopped.out 2>&1 &
job=$!
for _ in $(seq 6000); do [ -e stopped/lorenz/trials.csv ] && break; sleep 0.05; done
[ -e stopped/lorenz/trials.csv ] || die "no trial ended within 5 minutes: $(cat stopped.out)"
kill -INT "$job"
wait "$job" || die "a stopped fit ended with $?"
contains "$(cat stopped.out)" "the best so far"
cp whole/lorenz/plan.csv stopped/lorenz/plan.csv
expect_fault 2 "updates" "${fit[@]}" --results stopped # what was begun with other numbers is not continued

# Faults: one sentence each.
head -c 3000 lorenz.npy >cut.npy
expect_fault 2 "cut.npy" "$ANTLER" fit cut.npy
expect_ok "$ANTLER" simulate lorenz63 --length 60 --out short.npy
expect_fault 2 "held-back" "$ANTLER" fit short.npy --device cpu
expect_fault 2 "short.npy: 60 rows are too few for a fit of 3 variables" "$ANTLER" fit short.npy --device cpu
expect_ok "$ANTLER" simulate lorenz63 --length 600 --dt 0.05 --out table.csv
awk -v OFS=, '{print $0, NR == 1 ? "status" : 7}' table.csv >constant.csv
expect_fault 2 "constant.csv: column 4 (status) is constant (7)" "$ANTLER" fit constant.csv --device cpu --quiet
awk -F, -v OFS=, 'NR > 400 {$2 = 5} {print}' table.csv >dead.csv
expect_fault 2 "the held-back rows: dead.csv: column 2 (y) is constant (5)" "$ANTLER" fit dead.csv --device cpu --quiet
tail -n +2 table.csv | tr '\n' ',' | sed 's/,$/\n/' >side.csv
expect_fault 2 "so it looks transposed" "$ANTLER" fit side.csv --device cpu --quiet
expect_ok "$ANTLER" simulate lorenz63 --length 300 --dt 0.05 --out rows300.npy # more of short data is held back
small_plan Results/rows300
expect_ok "$ANTLER" fit rows300.npy --minutes 0.001 --device cpu --quiet
contains "$out" "the last 36 % of the rows were held back"
expect_fault 2 "validation" "$ANTLER" fit lorenz.npy --validation 1.5
expect_ok "$ANTLER" simulate lorenz63 --length 20 --dt 0.05 --out rows20.npy
if [ -z "${SANITIZE:-}" ]; then # cli/test_tables has the names of short trajectories, too
    small_plan two/rows300
    expect_ok "$ANTLER" fit rows300.npy rows20.npy --minutes 0.001 --device cpu --results two
    contains "$err" "antler: note: 1 of 2 trajectories does not contribute, because a window takes"
    contains "$err" "rows20.npy trajectory 2 (13 rows)"
fi
expect_fault 2 "needs" "$ANTLER" fit

# tune: around given settings, the first trial is those.
printf 'data: lorenz.npy\nexperiment: tuned\nlatent_dim: 4\nhidden_dim: 20\nsequence_length: 40\n' >run.yaml
small_plan Results/tuned
expect_ok "$ANTLER" tune run.yaml --minutes 0.001 --device cpu
contains "$out" "start auto"
grep -q ",auto,0," Results/tuned/trials.csv || die "trials.csv does not have the start: $(head -n 3 Results/tuned/trials.csv)"
contains "$out" "the given settings"
contains "$out" "the leader with another"
[ -s Results/tuned/model.npz ] || die "tune left no model"

# What the file says is kept unless the command line says otherwise; variations that a kind does not have are not tried.
printf 'data: lorenz.npy\nexperiment: linear\nmodel: lssm\nlatent_dim: 6\nhidden_dim: 8\nsequence_length: 40\nseed: 7\nthreads: 1\nvalidation: 0.3\n' >linear.yaml
small_plan Results/linear
small_plan Results/other
expect_ok "$ANTLER" tune linear.yaml --minutes 0.001 --device cpu
config=$(cat Results/linear/try-1-01/001/config.yaml)
for line in "seed: 7" "threads: 1" "validation: 0.3"; do contains "$config" "$line"; done
expect_ok "$ANTLER" tune linear.yaml --minutes 0.001 --device cpu --seed 8 --validation 0.25 --name other --quiet
config=$(cat Results/other/try-1-01/001/config.yaml)
for line in "seed: 8" "validation: 0.25"; do contains "$config" "$line"; done
printf 'data: lorenz.npy\nvalidation_data: lorenz.npy\n' >files.yaml
expect_fault 2 "validation_data is set" "$ANTLER" tune files.yaml
finish
