#!/usr/bin/env bash
# test_wheel.sh [--sdist|--old] - install the wheel into a fresh environment without a compiler, and run the package's
# tests there.  With --sdist: the source distribution instead, which the compiler of this machine builds first; with
# --old: the wheel for older systems.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
    --sdist) package=$(ls build/wheel/*.tar.gz) ;;
    --old) package=$(ls build/wheel-old/*.whl) ;;
    *) package=$(ls build/wheel/*.whl) ;;
esac
package=$PWD/$package
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --no-compile --quiet --disable-pip-version-check "${package}[test]"
cp -r tests/python examples "$folder/"
rm -f "$folder/python/test_package_abi.py" # compares with the header, which is not there

# Nothing but the environment itself and the few tools of a bare system: no compiler, no build folder.
mkdir "$folder/bin"
for tool in env rm cat ls; do ln -s "$(command -v $tool)" "$folder/bin/"; done
cd "$folder"
bare() { env -i HOME="$folder" PATH="$folder/venv/bin:$folder/bin" ANTLER_INSTALLED=1 OMP_WAIT_POLICY=passive "$@"; }
for compiler in cc gcc clang cmake; do
    if bare env sh -c "command -v $compiler" >/dev/null 2>&1; then
        echo "there is a $compiler on the path of the test" >&2
        exit 1
    fi
done
bare antler --version
bare antler report --help >/dev/null
bare antler-convert --help >/dev/null
bare ANTLER="$folder/venv/bin/antler" python -m pytest -q -rs -p no:cacheprovider "$folder"/python/test_package_*.py
