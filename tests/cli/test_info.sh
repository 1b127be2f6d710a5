#!/usr/bin/env bash
# antler info: every format, the sketch, JSON.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

expect_ok "$ANTLER" info
contains "$out" "antler 0."
for ending in npy npz csv; do "$ANTLER" simulate lorenz63 --length 4000 --quiet --out "a.$ending" || die "simulate"; done
expect_ok "$ANTLER" info a.npy
contains "$out" "4000 x 3 float64"
expect_ok "$ANTLER" info a.npz
contains "$out" "N = 3, dt 0.01"
contains "$out" "user units"
expect_ok "$ANTLER" info a.csv
contains "$out" "N = 3, dt 0.01"
expect_ok "$ANTLER" info --check a.npy a.npz a.csv
for ending in npy npz csv; do
    expect_ok "$ANTLER" info --json "a.$ending"
    if command -v python3 >/dev/null; then python3 -m json.tool <.out >/dev/null || die "not JSON: $out"; fi
done
expect_ok env LC_ALL=C.UTF-8 "$ANTLER" info a.npz --sketch x,z
contains "$out" "⣿"
expect_ok env LC_ALL=C "$ANTLER" info a.npz --sketch 1,3
contains "$out" "***"
expect_fault 2 "does not name two variables" "$ANTLER" info a.npy --sketch a,b
# A missing value is described by info, passes --check as it passes training, and is refused by --complete.
printf 'time,temp\n0,1\n1,nan\n2,3\n3,4\n' >gap.csv
expect_ok "$ANTLER" info --check gap.csv
contains "$out" "1 missing, first in row 2"
expect_fault 2 "value is NaN in row 2, column 1 (temp); 1 such value in all in this column; interpolate it, or let training" \
    "$ANTLER" info --complete gap.csv
printf 'time,temp\n0,nan\n1,nan\n2,nan\n3,nan\n' >none.csv
expect_fault 2 "has no value at all" "$ANTLER" info --check none.csv
printf 'time,temp\n0,1\n1,nan\n2,inf\n3,4\n' >bad.csv
expect_ok "$ANTLER" info bad.csv
contains "$out" "1 missing, 1 infinite, first in row 2"
contains "$out" "time       column 'time', 0 to 3"
expect_fault 2 "row 2" "$ANTLER" info --check bad.csv
expect_fault 2 "none.npy" "$ANTLER" info none.npy
# The GPUs: having none is an answer, not a fault.
export ANTLER_CUDA_DRIVER=/nowhere/libcuda.so.1 ANTLER_NVRTC=/nowhere/libnvrtc.so
expect_ok "$ANTLER" info --devices
contains "$out" "there is no NVIDIA driver"
contains "$out" "ANTLER_NVRTC=/nowhere/libnvrtc.so cannot be opened"
contains "$out" "No GPU can be used"
expect_ok "$ANTLER" info --devices --json
contains "$out" '"devices": []'
expect_fault 2 "takes no file" "$ANTLER" info --devices a.npy
fake=$BUILD/tests/libfake
if [ -e "${fake}_cuda.so" ]; then
    export ANTLER_CUDA_DRIVER=${fake}_cuda.so ANTLER_NVRTC=${fake}_nvrtc.so
    expect_ok "$ANTLER" info --devices
    contains "$out" "Imaginary GPU"
    contains "$out" " 9.0 "
    contains "$out" "NVRTC    13.7"
    expect_ok "$ANTLER" info --devices --json
    contains "$out" '"name": "Imaginary GPU"'
    FAKE_CUDA=none expect_ok "$ANTLER" info --devices
    contains "$out" "sees no GPU"
    FAKE_CUDA=old expect_fault 3 "needs 8.0" "$ANTLER" info --devices
fi
finish
