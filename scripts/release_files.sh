#!/usr/bin/env bash
# release_files.sh [BUILD] - write tests/releases/VERSION: the files of this version that all later ones must read.
# A version that is released keeps its files; only one that CHANGELOG.md calls unreleased can be written again.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(cd "${1:-build}" && pwd)
version=$(sed -nE 's/^#define ANTLER_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/antler/antler.h | paste -sd.)
folder=tests/releases/$version
if [ -e "$folder" ] && ! grep -q "^## $version (unreleased)" CHANGELOG.md; then
    echo "$folder: version $version is released, so its files stay; raise the version in include/antler/antler.h" >&2
    exit 2
fi
rm -rf "$folder"
mkdir -p "$folder"
ANTLER_LIBRARY=$build/libantler.so PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 \
    /usr/bin/python3 tests/releases/release.py make "$folder"
find "$folder" \( -name '*.lock' -o -name 'lock' \) -delete
du -sh "$folder"
