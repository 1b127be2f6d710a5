#!/usr/bin/env bash
# gpu_tests.sh BUILD - BUILD/gpu-tests, also as a tarball: the GPU tests and the command with every library but the C library, to be
# carried to a machine with a GPU, where run.sh in it needs nothing but bash, a driver and NVRTC.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
stage=$build/gpu-tests
rm -rf "$stage"
mkdir -p "$stage/bin" "$stage/lib" "$stage/kernels" "$stage/cli"
cp "$build"/tests/gpu_test_* "$build/tests/golden" "$build/bench/gaps_cuda" "$build/antler" "$stage/bin/"
cp -r tests/golden "$stage/golden"
cp src/engine/cuda/kernels/*.cu* "$stage/kernels/"
cp tests/cli/lib.sh tests/cli/test_free_runs.sh "$stage/cli/"
cp scripts/test_gpu.sh "$stage/run.sh"
cp bench/gpu.sh "$stage/bench.sh"
cp -L "$build/libantler.so.0" "$stage/lib/" # a copy of the command does not find the one of the build
scripts/gather.sh "$stage/bin" "$stage/lib"
env -i "$stage/bin/antler" --version >/dev/null
strip --strip-debug "$stage"/bin/* "$stage"/lib/*
tar -C "$build" -czf "$stage.tar.gz" gpu-tests
echo "$stage and $stage.tar.gz ($(du -h "$stage.tar.gz" | cut -f1)); on a machine with a GPU:  gpu-tests/run.sh"
