#!/usr/bin/env bash
# gpu.sh [FOLDER] - the GPU's benchmarks: makes data, trains the models on the GPU, times forward + backward and whole updates beside
# their agreement with the plain loops in double, and times trainings.  Results and JSON are left in FOLDER (gpu-bench).
# Needs the command alone: ANTLER names it, else ./bin/antler, build/antler or the PATH.  QUICK=1 shortens the trainings.
set -euo pipefail
folder=${1:-gpu-bench}
antler=${ANTLER:-}
for candidate in "$PWD/bin/antler" "$PWD/build/antler" "$(command -v antler || true)"; do
    [ -n "$antler" ] || { [ -x "$candidate" ] && antler=$candidate; } || true
done
[ -n "$antler" ] || { echo "There is no antler here; name it by ANTLER." >&2; exit 2; }
mkdir -p "$folder"
cd "$folder"
"$antler" --version
"$antler" info --devices

[ -e l63.npy ] || "$antler" simulate lorenz63 --length 100001 --out l63.npy --quiet
[ -e l96.npy ] || "$antler" simulate lorenz96 --length 100001 --out l96.npy --quiet
[ -e l63_noisy.npy ] || "$antler" simulate lorenz63 --length 100000 --noise 0.05 --out l63_noisy.npy --quiet

common="results: runs
device: cuda
standardise: false
validation: 0
checkpoint_interval: 100000"
forced="data: l96.npy
latent_dim: 10
hidden_dim: 128
kappa: 0.9995
batch_size: 1
start_lr: 1e-3
MAR_lambda: 0.1
regularised_units: 4"

train() { # train NAME YAML: prints the seconds that the whole command took
    local begin end
    printf '%s\nname: %s\n%s\n' "$common" "$1" "$2" >"$1.yaml"
    begin=$(date +%s.%N)
    "$antler" train "$1.yaml" --overwrite --quiet
    end=$(date +%s.%N)
    awk -v a="$begin" -v b="$end" -v n="$1" 'BEGIN { printf "trained %-12s in %.2f s, all of the command\n", n, b - a }'
}

row() { # row NAME DATA ARGUMENTS...: one case of the bench, and its JSON
    local name=$1 data=$2
    shift 2
    "$antler" bench solve --device cuda --solver auto --update --model "runs/experiment/$name/001" --data "$data" "$@" --json >"$name-${*//[^0-9a-z]/}.json"
    "$antler" bench solve --device cuda --solver auto --update --model "runs/experiment/$name/001" --data "$data" "$@" | grep -E '^ +[0-9]|GPU'
}

echo "== models"
for m in 4 16 64 128; do
    train "l63-m$m" "data: l63.npy
latent_dim: $m
hidden_dim: 50
kappa: 0.9
gtf_alpha: 0.15
sequence_length: 512
batch_size: 1
updates: 600
schedule: constant
start_lr: 2e-3"
done
train l96 "$forced
gtf_alpha: 0.08
sequence_length: 8192
warmup: 4096
updates: 3000
schedule: constant"
train lssm "$forced
model: lssm
sequence_length: 8192
warmup: 4096
updates: 3000
schedule: constant"

for d in 16 32; do
    train "mamba2-d$d" "data: l96.npy
model: mamba2
latent_dim: $d
hidden_dim: 128
sequence_length: 8192
warmup: 4096
batch_size: 1
updates: 1000
schedule: constant
start_lr: 1e-3"
done

echo "== forward + backward, and a whole update (B = 1, float)"
printf '%4s %5s %8s %5s  %-11s %10s %10s %9s %6s %9s %9s %9s\n' M L T B solver time update ns/step iter. memory states gradient
for m in 4 16 64 128; do
    row "l63-m$m" l63.npy --length 32768 --alpha 0.15
done
row l96 l96.npy --length 32768 --alpha 0.08 --warmup 0.5
row l96 l96.npy --length 81920 --alpha 0.08 --warmup 0.2
row lssm l96.npy --length 81920 --warmup 0.2 # bar: an update in 0.15 ms
row mamba2-d16 l96.npy --length 81920 --warmup 0.2 # bar: an update in 1 ms
row mamba2-d32 l96.npy --length 81920 --warmup 0.2

echo "== 20 replicas, T = 200, B = 16, M = 5, L = 50, 20,000 updates each (bar: 30 s for all)"
updates=20000
[ -z "${QUICK:-}" ] || updates=2000
train fig2 "data: l63_noisy.npy
runs: 20
latent_dim: 5
hidden_dim: 50
sequence_length: 200
batch_size: 16
kappa: 0.9995
gtf_alpha: 0.15
start_lr: 1e-3
updates: $updates"
tail -n 1 runs/experiment/fig2/001/log.csv | awk -F, -v n="$updates" '{ printf "%d updates of 20 runs: %.2f s on the GPU, %.1f us an update of all; 20000 would take %.1f s%s\n", $1, $12, 1e6 * $12 / $1, 20000 * $12 / $1, n == 20000 ? " (measured)" : " (extrapolated)" }'

echo "== lorenz96, T = 32,768, B = 1 (bar: 75 s for 150,000 updates)"
train fig3a "$forced
gtf_alpha: 0.08
sequence_length: 32768
warmup: 16384
updates: 5000"
tail -n 1 runs/experiment/fig3a/001/log.csv | awk -F, '{ printf "%d updates: %.2f s on the GPU, %.1f us each; 150000 would take %.1f s (extrapolated)\n", $1, $12, 1e6 * $12 / $1, 150000 * $12 / $1 }'

echo "== one update of it, all of the command, with an empty cache of kernels and with a full one (bars: 3 s and 0.5 s)"
export ANTLER_CACHE=$PWD/kernels CUDA_CACHE_DISABLE=1 # NVRTC keeps a cache of its own
for _ in 1 2 3; do
    rm -rf "$ANTLER_CACHE"
    for name in cold warm; do
        train "$name" "$forced
gtf_alpha: 0.08
sequence_length: 32768
warmup: 16384
updates: 1"
    done
done
