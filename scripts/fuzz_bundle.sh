#!/usr/bin/env bash
# fuzz_bundle.sh BUILD - BUILD/fuzz-bundle, also as a tarball: the fuzzers of BUILD/asan with every library but the C
# library, and their seeds, to be carried to a machine with many cores, where run.sh in it needs nothing but bash.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
stage=$(realpath "$build")/fuzz-bundle
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --preset asan > /dev/null
names=()
for source in tests/fuzz/fuzz_*.c; do names+=("$(basename "$source" .c)"); done
cmake --build --preset asan -j"${JOBS:-$(nproc)}" --target "${names[@]}" > "$build/fuzz-bundle.log" 2>&1 ||
    { cat "$build/fuzz-bundle.log"; exit 1; }
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib"
cp "${names[@]/#/$build/asan/tests/}" "$stage/bin/"
cp -r tests/fuzz/corpus "$stage/corpus"
cp scripts/fuzz_run.sh "$stage/run.sh"
git rev-parse --short=10 HEAD > "$stage/revision"
strip --strip-debug "$stage"/bin/*
scripts/gather.sh "$stage/bin" "$stage/lib"
for name in "${names[@]}"; do # it must run alone, from any folder
    (cd / && env -i TMPDIR="$work" "$stage/bin/$name" -runs=0 "$stage/corpus/${name#fuzz_}") > "$build/fuzz-bundle.log" 2>&1 ||
        { cat "$build/fuzz-bundle.log"; exit 1; }
done
tar -C "$build" -czf "$stage.tar.gz" fuzz-bundle
echo "$stage and $stage.tar.gz ($(du -h "$stage.tar.gz" | cut -f1)); elsewhere:  fuzz-bundle/run.sh 7200"
echo "and then here:  scripts/fuzz.sh --merge fuzz-bundle/results"
