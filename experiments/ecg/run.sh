#!/usr/bin/env bash
# run.sh TRAIN.npy TEST.npy [FOLDER] - train on a five-dimensional ECG and measure with bins, as published tables do.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: run.sh TRAIN.npy TEST.npy [FOLDER]" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
antler=${ANTLER:-$here/../../build/antler}
train=$(realpath "$1") test=$(realpath "$2") folder=${3:-Results/ecg-experiment}
mkdir -p "$folder"
cd "$folder"
time "$antler" train "$here/ecg.yaml" --set data="$train"
time "$antler" evaluate Results/ecg/gtf/0* --data "$test" --dstsp bins | tee ecg.txt
