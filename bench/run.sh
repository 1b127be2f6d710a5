#!/usr/bin/env bash
# run.sh [FOLDER] - run the benchmarks, Antler and NumPy in the same run, and leave their JSON in FOLDER (build/bench).
# Compare two runs with bench/compare.py.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/bench}
mkdir -p "$folder"

build/bench/dstsp --json "$folder/dstsp.json"

# The system's Python comes first: that is where Debian puts python3-numpy.
for python in /usr/bin/python3 python3; do
    command -v "$python" >/dev/null && "$python" -c 'import numpy' 2>/dev/null && break
    python=
done
echo
if [ -z "$python" ]; then
    echo "There is no Python with NumPy here, so the comparison with it is left out (Debian: python3-numpy)."
    exit 0
fi
echo "The same log densities on one core, Antler beside NumPy:"
OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 "$python" bench/dstsp_numpy.py \
    --beside "$folder/dstsp.json" --json "$folder/dstsp_numpy.json"

echo
echo "Training from Python beside the command, and a free run:"
"$python" bench/fit.py
