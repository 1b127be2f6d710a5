#!/usr/bin/env bash
# antler bench solve: the table, JSON, faults.  Times are never judged.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
small=(--length "64,100" --hidden-dim 8 --updates 5 --seconds 0.01)

expect_ok "$ANTLER" bench solve --latent-dim 3,4 --solver sequential,deer,quasi-deer,shooting "${small[@]}"
[ "$(grep -cE '^ +[34] +8 +(64|100) +1 +(sequential|deer|quasi-deer|shooting) ' <<<"$out")" = 16 ] || die "not 16 rows: $out"
contains "$out" "of peak"
expect_ok "$ANTLER" bench solve --latent-dim 3 --batch 2 --precision double --warmup 0.5 --json "${small[@]}"
contains "$out" '"gradient_differs"'
if command -v python3 >/dev/null; then
    python3 -c 'import json, sys
cases = json.load(sys.stdin)["cases"]
assert len(cases) == 6, len(cases)
for c in cases:
    assert c["seconds_median"] > 0 and c["bytes"] > 0 and c["fraction_of_peak"] > 0, c
    assert c["states_differ"] < 1e-9 and c["gradient_differs"] < 1e-7, c' <.out || die "wrong JSON: $out"
fi
expect_ok "$ANTLER" bench solve --latent-dim 3 --no-check "${small[@]}"

# Its own model is finite over a long sequence, however little it was trained.
long=32768
[ -z "${SANITIZE:-}" ] || long=4096 # instrumented code is slow
for updates in 0 200; do
    expect_ok "$ANTLER" bench solve --latent-dim 4 --length $long --solver sequential,shooting,deer --updates $updates --seconds 0.01 --no-check
    [ "$(grep -cE '^ +4 +50 +'$long' ' <<<"$out")" = 3 ] || die "not 3 rows: $out"
    [[ $out != *"fell back"* ]] || die "a solver did not converge on the model of the bench: $out"
done
expect_ok "$ANTLER" bench solve --latent-dim 64 --length $long --solver auto --updates 20 --seconds 0.01 --no-check

# A model of another kind, by --model.
expect_ok "$ANTLER" simulate lorenz63 --length 400 --out orbit.npy
printf 'data: orbit.npy\nresults: runs\nlatent_dim: 4\nhidden_dim: 8\nsequence_length: 50\nupdates: 3\nkappa: 0.9995\nstart_lr: 1e-3\nvalidation: 0\n' >run.yaml
for kind in lssm mamba2; do
    expect_ok "$ANTLER" train run.yaml --set model=$kind --set name=$kind
    expect_ok "$ANTLER" bench solve --model runs/experiment/$kind/001 --data orbit.npy --length 90 --seconds 0.01
    [ "$(grep -cE '^ +4 +8 +90 +1 +auto ' <<<"$out")" = 1 ] || die "not one row: $out"
done
expect_fault 2 "linear in its state" "$ANTLER" bench solve --model runs/experiment/lssm/001 --data orbit.npy --solver shooting --length 90
expect_fault 2 "no benchmark 'solv'" "$ANTLER" bench solv
expect_fault 2 "lists of whole numbers" "$ANTLER" bench solve --latent-dim 3,x
expect_fault 2 "shoting" "$ANTLER" bench solve --solver shoting --length 64
expect_fault 2 "lorenz" "$ANTLER" bench solve --system lorens63 --length 64
expect_fault 3 "no NVIDIA driver" env ANTLER_CUDA_DRIVER=/nowhere/libcuda.so.1 "$ANTLER" bench solve --device cuda "${small[@]}"
expect_fault 2 "timed on the GPU" "$ANTLER" bench solve --update "${small[@]}"
expect_fault 2 "needs --data" "$ANTLER" bench solve --model nowhere "${small[@]}"
finish
