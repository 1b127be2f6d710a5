#!/usr/bin/env bash
# pack.sh FOLDER OUT - put models trained in FOLDER, judge.sh and the program itself into OUT, for a machine
# with more cores or a GPU: copy OUT there and run OUT/judge.sh OUT; then copy OUT/judged back.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
out=$2
make --no-print-directory -C "$here/../.." bundle
mkdir -p "$out"
tar -xzf "$here"/../../build/antler-*-linux-*.tar.gz -C "$out"
for case in full partial; do
  for run in "$folder/Results/lorenz63/$case"/0*; do
    copy=$out/Results/lorenz63/$case/${run##*/}
    mkdir -p "$copy"
    cp "$run/model.npz" "$run/config.yaml" "$copy"
  done
done
cp "$here/judge.sh" "$here/summary.py" "$out"
du -sh "$out"
