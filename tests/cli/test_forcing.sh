#!/usr/bin/env bash
# Sparse forcing with an interval from the data, and a strength by schedule: recorded, logged, and exact on resume.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 16
sequence_length: 60
updates: 60
log_interval: 10
checkpoint_interval: 20
device: cpu
threads: 1
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 3000 --noise 0.05 --out train.npy

# The older of the two checkpoints takes the place of the newest: the run resumes from update 40.
cut_back() { rm "$1/model.npz" "$(find "$1/checkpoints" -type f | sort | tail -n 1)"; }
log_of() { cut -d, -f"$2" "Results/e/$1/001/log.csv" | tail -n +2 | tr '\n' ' '; }
same_again() { # same_again NAME SETTING...: the resumed run has the bytes of the whole one
    local name=$1 word options=()
    shift
    for word in "$@"; do options+=(--set "$word"); done
    expect_ok "$ANTLER" train run.yaml --set name="$name" "${options[@]}"
    local told=$out$err
    cp -r "Results/e/$name" whole
    cut_back "Results/e/$name/001"
    expect_ok "$ANTLER" train run.yaml --set name="$name" "${options[@]}" --resume "Results/e/$name/001"
    cmp "whole/001/model.npz" "Results/e/$name/001/model.npz" || die "$name: another model"
    cmp <(cut -d, -f1-11,13- whole/001/log.csv) <(cut -d, -f1-11,13- "Results/e/$name/001/log.csv") || die "$name: another log"
    rm -r whole
    out=$told
}

for method in autocorrelation mutual_information; do
    same_again "$method" forcing_interval_method="$method"
    interval=$(sed -n 's/^forcing_interval: //p' "Results/e/$method/001/config.yaml")
    [ "$interval" -ge 5 ] && [ "$interval" -le 100 ] || die "$method: an interval of $interval steps"
    contains "$out" "sparse forcing every $interval steps (first minimum of the ${method/_/ })"
    [ -z "$(log_of "$method" 10 | tr -d ' ')" ] || die "$method: a strength in the log: $(log_of "$method" 10)"
done
# ln 2 / (0.9056 * 0.01) = 76.5
same_again predictability forcing_interval_method=predictability lyapunov_exponent=0.9056 dt=0.01
contains "$out" "sparse forcing every 77 steps (predictability time)"

same_again schedule gtf_alpha=0.7 gtf_alpha_schedule=linear gtf_alpha_end=0.11
strengths=$(log_of schedule 10 | tr ' ' '\n' | grep . | LC_ALL=C xargs printf '%.6f ')
[ "$strengths" = "0.700000 0.610000 0.510000 0.410000 0.310000 0.210000 0.110000 " ] || die "strengths: $strengths"
same_again estimated gtf_alpha_method=product_upper_bound gtf_alpha_interval=7
expect_fault 2 "does nothing with sparse forcing" "$ANTLER" train run.yaml --set forcing_interval=9 --set gtf_alpha_method=explog
finish
