#!/usr/bin/env bash
# antler measure: the promised values, JSON, faults.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
samples=20000
[ -z "${SANITIZE:-}" ] || samples=2000 # instrumented code is slow

field() { sed -nE "s/^ +\"$1\": ([-0-9.e+]+),?\$/\1/p" <<<"$out" | head -n 1; }
between() { awk -v v="$1" -v low="$2" -v high="$3" 'BEGIN { exit !(v >= low && v < high) }' || die "$1 is not in [$2, $3)"; }

# Two orbits of the same system agree, one with rho = 24 does not (the paper's settings but for the samples).
# How well they agree is a matter of how long each stays on either wing: docs/measures.md has the scatter. Seeds 1 and
# 3 are a close pair (0.0005); seeds 1 and 2 are at 0.00196 with all samples, too near the bound for this few.
"$ANTLER" simulate lorenz63 --seed 1 --quiet --out a.npy || die "simulate"
"$ANTLER" simulate lorenz63 --seed 3 --quiet --out b.npy || die "simulate"
"$ANTLER" simulate lorenz63 --seed 2 --param rho=24 --standardise off --quiet --out wrong.npy || die "simulate"
"$ANTLER" simulate lorenz63 --seed 1 --standardise off --quiet --out raw.npy || die "simulate"
expect_ok "$ANTLER" measure --true a.npy --generated b.npy --samples $samples --json --quiet
between "$(field value)" -0.002 0.002
contains "$out" '"variant": "gmm"'
expect_ok "$ANTLER" measure --true raw.npy --generated wrong.npy --samples $samples --json --quiet
between "$(field value)" 0.17 0.22
expect_ok "$ANTLER" measure --true raw.npy --generated wrong.npy --samples $samples --dstsp gmm-silverman --json --quiet
between "$(field value)" 0.55 0.75
# Chaos at rho = 24 is a long transient; the attractors are fixed points, and an orbit that starts near one stays there.
"$ANTLER" simulate lorenz63 --initial 8,8,23 --transient 0 --param rho=24 --standardise off --quiet --out rest.npy || die "simulate"
expect_ok "$ANTLER" measure --true raw.npy --generated rest.npy --samples $samples --json --quiet
between "$(field value)" 5 20

# The table names variant and settings; every variant runs; JSON is JSON.
"$ANTLER" simulate lorenz63 --length 3000 --seed 1 --quiet --out s.npz || die "simulate"
"$ANTLER" simulate lorenz63 --length 9000 --seed 2 --quiet --out g.npz || die "simulate"
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 1000
contains "$out" "gmm, 1000 samples, seed 1, covariance 0.30862 x variance"
contains "$out" "3000 true, 9000 generated, d = 3"
contains "$out" "kernels/s"
contains "$out" "sigma = 20 bins, 3000 rows compared"
[ "$(sed -n '/^variable /,$p' <<<"$out" | wc -l)" = 4 ] || die "not a row for each variable: $out"
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 1000 --dstsp gmm-silverman
contains "$out" "covariance 0.0952463 x variance"
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --dstsp bins --bins 20
contains "$out" "bins, 20 bins per axis"
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 1000 --embed 3,10 --columns x
contains "$out" "D_stsp^DE"
contains "$out" "m = 3, tau = 10 rows"
contains "$out" "2980 true, 8980 generated, d = 3"
"$ANTLER" measure --measures >measures.md || die "--measures failed"
sed -n '/^| measure | column/,/^$/p' "$SOURCE/docs/measures.md" | sed '/^$/d' >documented.md
cmp -s measures.md documented.md || die "the table in docs/measures.md is old; write it with: antler measure --measures"
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 1000 --dstsp gmm-fixed --variance 0.25
contains "$out" "gmm-fixed, 1000 samples, seed 1, covariance 0.25 x identity"
expect_fault 2 "variance" "$ANTLER" measure --true s.npz --generated g.npz --dstsp gmm-fixed --variance -1
for kind in gmm gmm-silverman bins gmm-fixed; do
    expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 500 --dstsp $kind --json
    if command -v python3 >/dev/null; then python3 -m json.tool <.out >/dev/null || die "not JSON: $out"; fi
done

# The true system is far from noisy rows of itself, unless it gets their noise; without noise nothing changes.
"$ANTLER" simulate lorenz63 --seed 1 --noise 0.05 --length 20000 --quiet --out noisy.npy || die "simulate"
expect_ok "$ANTLER" measure --true noisy.npy --generated b.npy --dstsp bins --json
plain=$(field value)
expect_ok "$ANTLER" measure --true noisy.npy --generated b.npy --dstsp bins --match-noise --json
contains "$out" '"match_noise": true'
awk -v a="$plain" -v b="$(field value)" 'BEGIN { exit !(a > 0.5 && b < 0.5 * a) }' || die "noise: $plain, $(field value)"
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --dstsp bins --json
plain=$(field value)
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --dstsp bins --match-noise --json
[ "$plain" = "$(field value)" ] || die "noise was added to clean data: $plain, $(field value)"

# The same numbers whatever the threads and repeated runs.
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 777 --threads 1 --json
one=$(field value)
expect_ok "$ANTLER" measure --true s.npz --generated g.npz --samples 777 --threads 3 --json
[ "$one" = "$(field value)" ] || die "the value depends on the threads: $one, $(field value)"

# Faults.
printf 'x,y\n1,2\n3,4\n5,7\n' >two.csv
printf 'x,y,z\n1,2,3\n3,4,nan\n5,7,8\n2,3,1\n' >nan.csv
expect_fault 2 "there is no such file" "$ANTLER" measure --true none.npy --generated g.npz
expect_fault 2 "2" "$ANTLER" measure --true s.npz --generated two.csv
sed s/nan/inf/ nan.csv >inf.csv
expect_fault 2 "row 2" "$ANTLER" measure --true inf.csv --generated s.npz
expect_fault 1 "row 2" "$ANTLER" measure --true s.npz --generated nan.csv
expect_fault 2 "embed" "$ANTLER" measure --true s.npz --generated g.npz --embed 3,5000
expect_fault 2 "samples" "$ANTLER" measure --true s.npz --generated g.npz --samples 0
# Where it is computed: a GPU that is not there is a fault only for those who insist on it.
export ANTLER_CUDA_DRIVER=/nowhere/libcuda.so.1
expect_fault 3 "there is no NVIDIA driver" "$ANTLER" measure --true a.npy --generated b.npy --samples 500 --device cuda --quiet
expect_ok "$ANTLER" measure --true a.npy --generated b.npy --samples 500 --device auto --quiet
contains "$out" "a GPU pays from"
expect_ok "$ANTLER" measure --true a.npy --generated b.npy --samples 500 --device cpu --quiet --json
contains "$out" '"device": "cpu"'
finish
