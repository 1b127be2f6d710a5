#!/usr/bin/env bash
# check_kernels.sh BUILD [--sample K | --write] [NAME.cu...] - compile every GPU kernel for every architecture, without a
# GPU, and compare with tests/kernels.csv (tests/kernels.c has the options).
# NVRTC is the machine's own or, where it has none, comes from PyPI into BUILD/nvrtc.  Skipped, by name, when neither is there.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
shift
code=0
said=$("$build/tests/kernels" --record tests/kernels.csv "$@") || code=$?
[ "$code" = 77 ] || { echo "$said"; exit "$code"; }

scripts/setup.sh kernels
find_nvrtc() { find "$build/nvrtc" -name 'libnvrtc.so*' 2>/dev/null | sort | tail -n 1; }
if [ -z "$(find_nvrtc)" ]; then
    log=$(mktemp)
    trap 'rm -f "$log"' EXIT
    if ! { python3 -m venv "$build/nvrtc" && "$build/nvrtc/bin/pip" install --quiet nvidia-cuda-nvrtc; } >"$log" 2>&1; then
        tail -n 5 "$log" >&2
        echo "check-kernels: skipped, because NVRTC is neither installed nor to be had from PyPI." >&2
        exit 0
    fi
fi
ANTLER_NVRTC=$(find_nvrtc) "$build/tests/kernels" --record tests/kernels.csv "$@"
