#!/usr/bin/env bash
# antler sweep --resume: evaluations that are there and still hold are taken, all others made, and the tables are the same.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >grid.yaml <<'Y'
experiment: e
data: train.npy
test: test.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: 60
runs: 2
kappa: 0.9995
start_lr: 1e-3
validation: 0
grid:
  gtf_alpha: [0.1, 0.2]
Y
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy
expect_ok "$ANTLER" simulate lorenz63 --length 1000 --seed 2 --out test.npy
runs=(Results/e/run_gtf_alpha-0.1/001 Results/e/run_gtf_alpha-0.1/002 Results/e/run_gtf_alpha-0.2/001 Results/e/run_gtf_alpha-0.2/002)

sweep() {
    run "$ANTLER" sweep grid.yaml --samples 1000 --quiet "$@"
    [ "$code" = 0 ] || [ "$code" = 1 ] || die "the sweep ended with $code: $err"
}
marks() { stat -c '%i %y' "${runs[@]/%//metrics.json}"; } # a file that is written again has another number or time
whole() { for table in metrics statistics; do cmp $table.csv Results/e/$table.csv || die "$1: another $table.csv"; done; }
# again TEXT WHICH...: a resumed sweep gives the same tables and evaluates only the runs WHICH, counted from 0
again() {
    local text=$1 i before after
    shift
    mapfile -t before <<<"$kept"
    rm -f Results/e/metrics.csv Results/e/statistics.csv
    sweep --resume
    whole "$text"
    mapfile -t after < <(marks)
    for i in 0 1 2 3; do
        if [[ " $* " == *" $i "* ]]; then
            [ "${before[i]}" != "${after[i]}" ] || die "$text: run $i was not evaluated again"
        else
            [ "${before[i]}" = "${after[i]}" ] || die "$text: run $i was evaluated again"
        fi
    done
    kept=$(marks)
}

sweep
for r in "${runs[@]}"; do [ -s "$r/metrics.json" ] || die "$r: metrics.json is missing"; done
cp Results/e/metrics.csv Results/e/statistics.csv .
kept=$(marks)
again "all are there"
rm "${runs[1]}/metrics.json" && again "one is missing" 1
: >"${runs[0]}/metrics.json" && again "one is empty" 0
cp "${runs[3]}/metrics.json" good.json
head -c $(($(stat -c %s good.json) / 2)) good.json >"${runs[3]}/metrics.json" && again "one is cut" 3
grep -v '"rmse": [0-9"]' good.json >"${runs[3]}/metrics.json" && again "one lacks a measure" 3
cp "${runs[3]}/metrics.json" "${runs[2]}/metrics.json" && again "one belongs to another model" 2

# What `antler evaluate` wrote with the same options is as good; with others it is not.
run "$ANTLER" evaluate "${runs[2]}" --data test.npy --samples 1000 --quiet
kept=$(marks)
again "one is by 'antler evaluate'"
run "$ANTLER" evaluate "${runs[2]}" --data test.npy --samples 1000 --n 10 --quiet
kept=$(marks)
again "one was made with other options" 2

# Every option that D_stsp or D_H depends on is part of the stamp; the number of threads is not.
stamp() {
    run "$ANTLER" evaluate "${runs[2]}" --data test.npy --samples 10 --dstsp bins --no-rmse --no-lyapunov --quiet "$@"
    grep '"stamp"' "${runs[2]}/metrics.json"
}
first=$(stamp)
[ -n "$first" ] || die "an evaluation without a stamp"
[ "$(stamp --threads 1)" = "$first" ] || die "--threads changes the stamp"
for option in "dstsp gmm" "samples 11" "seed 2" "variance 2" "bins 20" "bin-margin 0.2" "bin-laplace 1e-4" \
    "smoothing 10" "embed 2,1" "device cpu"; do
    # shellcheck disable=SC2086 # name and value
    [ "$(stamp --$option)" != "$first" ] || die "--$option does not change the stamp"
done
again "its options were others" 2

# Other options of the sweep and other data under the same name: all are made anew.
changed() {
    sweep --resume "$@"
    ! cmp -s metrics.csv Results/e/metrics.csv || die "$*: the same table"
    [ "$(marks | sort - <(echo "$kept") | uniq -d | wc -l)" = 0 ] || die "$*: an old evaluation was taken"
    kept=$(marks)
}
changed --seed 7
again "back to the first options" 0 1 2 3
cp test.npy first.npy
expect_ok "$ANTLER" simulate lorenz63 --length 1000 --seed 3 --out test.npy
changed
cp first.npy test.npy
again "back to the first data" 0 1 2 3

# Stopped in the middle of the evaluations: the first is kept.
rm "${runs[@]/%//metrics.json}" Results/e/*.csv
"$ANTLER" sweep grid.yaml --samples 1000 --quiet --resume >/dev/null 2>&1 &
until [ -e "${runs[0]}/metrics.json" ] || ! kill -0 $! 2>/dev/null; do sleep 0.001; done
kill -TERM $! 2>/dev/null
wait $!
first=$(stat -c '%i %y' "${runs[0]}/metrics.json")
sweep --resume
whole "stopped while it evaluated"
[ "$first" = "$(stat -c '%i %y' "${runs[0]}/metrics.json")" ] || die "the first evaluation was not kept"

# Free runs that diverge are infinite in the tables, also when they are taken from the files.
wild=(--set experiment=wild --set start_lr=1 --set end_lr=1 --set schedule=constant)
sed 's/\[0.1, 0.2\]/[1.0]/' grid.yaml >wild.yaml
for call in "" --resume; do
    run "$ANTLER" sweep wild.yaml --samples 1000 --quiet "${wild[@]}" $call
    [ "$code" = 1 ] || die "a sweep whose runs diverge ended with $code: $err"
    grep -q ',1,[^i]*,inf,,inf,' Results/wild/metrics.csv || die "$(<Results/wild/metrics.csv)"
    marks=$(stat -c '%i %y' Results/wild/*/*/metrics.json)
    [ "$call" = "" ] || [ "$marks" = "$marks_before" ] || die "diverged runs were evaluated again"
    [ "$call" = "" ] || cmp metrics.csv Results/wild/metrics.csv || die "diverged runs: another metrics.csv"
    marks_before=$marks
    cp Results/wild/metrics.csv .
done

# A run that is replaced loses its evaluation.
expect_ok "$ANTLER" train "${runs[0]}/config.yaml" --overwrite --quiet
[ ! -e "${runs[0]}/metrics.json" ] || die "the evaluation of a replaced run is still there"
finish
