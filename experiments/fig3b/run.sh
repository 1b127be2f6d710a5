#!/usr/bin/env bash
# run.sh [FOLDER] [OPTIONS of 'antler train'...] - train the six models of Fig. 3B on the forced Lorenz-96 system and
# measure D_stsp^DE on delay vectors (m, tau) = (3, 4096).
#
# The paper's settings are 150,000 updates on windows of 81,920 steps, 10 runs each: days on a CPU. A short try:
#     experiments/fig3b/run.sh /tmp/fig3b --set updates=20 --set runs=1
# MODELS="rank7 lssm" takes some of the models; SAMPLES=20000 makes the measuring quick and less certain.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=${ANTLER:-$here/../../build/antler}
folder=${1:-Results/fig3b-experiment}
[ $# -eq 0 ] || shift
samples=${SAMPLES:-1000000}
mkdir -p "$folder"
cd "$folder"
[ -e train.npz ] || "$antler" simulate lorenz96 --seed 1 --noise 0.05 --out train.npz
[ -e test.npz ] || "$antler" simulate lorenz96 --seed 1001 --out test.npz
for model in ${MODELS:-shplrnn rank6 rank7 lssm mamba2_7k mamba2_17k}; do
    if [ -e "Results/fig3b/$model/001/config.yaml" ]; then
        "$antler" train --resume "Results/fig3b/$model"
    else
        "$antler" train "$here/$model.yaml" "$@"
    fi
    # A diverged free run is an outcome: exit code 1, and it counts in the statistics.
    "$antler" evaluate "Results/fig3b/$model" --data test.npz --embed 3,4096 --only-embedded --samples "$samples" | tee "$model.txt" ||
        [ $? = 1 ]
done
