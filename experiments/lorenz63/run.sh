#!/usr/bin/env bash
# run.sh [FOLDER] - train ten models each on full and partial Lorenz-63 and measure them as the paper does.
# Training takes about 4 minutes on two busy cores of a 3.7 GHz Zen 4; judge.sh says what measuring takes.
# SAMPLES=20000 instead of 1000000 brings the measuring down to minutes and the third digit into doubt.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=${ANTLER:-$here/../../build/antler}
folder=${1:-Results/lorenz63-experiment}
mkdir -p "$folder"
[ -e "$folder/train.npz" ] || "$antler" simulate lorenz63 --seed 1 --out "$folder/train.npz"
(
  cd "$folder"
  time "$antler" train "$here/full.yaml"
  time "$antler" train "$here/partial.yaml"
)
time "$here/judge.sh" "$folder"
