#!/usr/bin/env bash
# The record of compiled kernels (tests/kernels.c): what it has is not compiled again, and what is false in it is found.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
export ANTLER_NVRTC=$BUILD/tests/libfake_nvrtc.so FAKE_NVRTC_COUNT=$folder/count FAKE_NVRTC_REGISTERS=30
kernels=$BUILD/tests/kernels
compiled() { wc -c <"$FAKE_NVRTC_COUNT"; }
again() { : >"$FAKE_NVRTC_COUNT"; run "$kernels" --record record.csv "$@"; }

again --write
[ "$code" = 0 ] || die "no record could be written: $out"
all=$(compiled)
[ "$all" -gt 200 ] || die "only $all compilations"
contains "$out" " 30 registers"

# One in eight is compiled again, at least one and not nearly all; the lines are the same.
before=$(grep " B shared" <<<"$out")
again --sample 8
[ "$code" = 0 ] || die "the record is not accepted: $out"
[ "$(compiled)" -gt 0 ] && [ "$(compiled)" -lt $((all / 4)) ] || die "$(compiled) of $all were compiled"
[ "$(grep " B shared" <<<"$out")" = "$before" ] || die "the lines of the record are others"
contains "$out" "$((all - $(compiled))) taken from the record, 0 not in it"

# Another compiler's answer for the same text is a fault, in the sample, too.
FAKE_NVRTC_REGISTERS=31 again --sample 8
[ "$code" = 1 ] || die "a false record was accepted"
contains "$out" "the record says otherwise"
FAKE_NVRTC_REGISTERS=31 again
[ "$(grep -c "the record says otherwise" <<<"$out")" = "$all" ] || die "not every false row was found"

# A changed source is compiled, the others are not.
cp -r "$SOURCE/src/engine/cuda/kernels" changed
echo "// another text" >>changed/lssm.cu
ANTLER_KERNEL_DIR=$folder/changed again --sample 1000000
[ "$code" = 0 ] || die "a changed source is a fault: $out"
own=$(grep -c "// variant:" changed/lssm.cu)
contains "$out" "$((3 * own)) not in it"
[ "$(compiled)" -lt $((3 * own + 4)) ] || die "$(compiled) were compiled, of which $((3 * own)) are new"

echo "no record" >record.csv
again --sample 8
[ "$code" = 2 ] || die "a file that is no record was read"
run "$kernels" --sample 8
[ "$code" = 2 ] || die "a sample of no record"
finish
