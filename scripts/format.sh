#!/usr/bin/env bash
# format.sh [--check] - clang-format 14 over all C and CUDA sources: other versions lay code out differently.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=$(command -v clang-format-14 || command -v clang-format)
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.c' '*.h' '*.cu' '*.cuh' | while read -r f; do [ -f "$f" ] && echo "$f"; done)
if [ "${1:-}" = --check ]; then
    "$tool" --dry-run --Werror "${files[@]}"
else
    "$tool" -i "${files[@]}"
fi
