#!/usr/bin/env bash
# gather.sh BIN LIB - copy every library that the programs in BIN load into LIB, beside it, and make them look there.
# The C library stays out: it must be the machine's own.
set -euo pipefail
bin=$1 lib=$(realpath -m "$2")
mkdir -p "$lib"
for program in "$bin"/*; do
    LD_LIBRARY_PATH=$lib ldd "$program" | awk '$3 ~ /^\// {print $1, $3}'
done | sort -u | while read -r soname path; do
    case $soname in
        libc.so* | libm.so* | libpthread.so* | libdl.so* | librt.so* | ld-linux*) ;;
        *) [ -e "$lib/$soname" ] || cp -L "$path" "$lib/$soname" ;;
    esac
done
# shellcheck disable=SC2016 # $ORIGIN is for the dynamic linker
for file in "$bin"/*; do patchelf --set-rpath '$ORIGIN/../lib' "$file"; done
# shellcheck disable=SC2016
for file in "$lib"/*.so*; do [ -L "$file" ] || patchelf --set-rpath '$ORIGIN' "$file"; done
