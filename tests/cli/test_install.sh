#!/usr/bin/env bash
# An installed Antler is found by pkg-config and by CMake, and the README's C program builds and runs with it.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || exit 0 # programs built without the sanitizer cannot load the library

expect_ok env DESTDIR= cmake --install "$BUILD" --prefix "$folder/usr"
[ -s usr/share/man/man1/antler-measure.1 ] || die "no man page"
[ -s usr/share/bash-completion/completions/antler ] || die "no completion"
expect_ok usr/bin/antler --version

# The installed `antler report` finds its package and library from where it lies.
[ -z "$(find usr -name __pycache__)" ] || die "compiled Python was installed"
expect_ok usr/bin/antler report --help
contains "$out" "RUN|SWEEP"
printf 'a,b\n1,2\n3,4\n' >table.csv
expect_ok usr/bin/antler convert table.csv table.npz
expect_ok usr/bin/antler info table.npz
contains "$out" "2 rows in all, N = 2"
printf '[{"a": 1, "b": 2}, {"a": 3, "b": 5}]' >records.json # read through the package
expect_ok usr/bin/antler info records.json
contains "$out" "2 rows in all, N = 2"

# shellcheck disable=SC2016 # a fence of Markdown
sed -n '/^```c$/,/^```$/p' "$SOURCE/README.md" | sed '1d;$d' >first.c
contains "$(<first.c)" "antler_series_load"
usr/bin/antler simulate lorenz63 --length 300 --quiet --out train-1.npy || die "simulate"
usr/bin/antler simulate lorenz63 --length 200 --quiet --out train-2.npy || die "simulate"
PKG_CONFIG_PATH=$(dirname "$(find "$folder/usr" -name antler.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046
expect_ok cc first.c -o first $(pkg-config --cflags --libs antler) -Wl,-rpath,"$(pkg-config --variable=libdir antler)"
expect_ok ./first
contains "$out" "2 trajectories of 3 variables"

# shellcheck disable=SC2046
expect_ok cc "$SOURCE/examples/first.c" -o example $(pkg-config --cflags --libs antler) -Wl,-rpath,"$(pkg-config --variable=libdir antler)"
expect_ok ./example updates=20 hidden_dim=8 sequence_length=20
contains "$out" "update    20 of 20"
[ -s first.npz ] || die "the example wrote no model"
"$BUILD/antler" info first.npz >/dev/null || die "the example's model cannot be read"
run ./example updates=many
[ "$code" = 1 ] || die "the example took updates=many"
contains "$err" "updates"

mkdir project
cat >project/CMakeLists.txt <<'TXT'
cmake_minimum_required(VERSION 3.25)
project(first C)
find_package(antler 0.1 REQUIRED)
add_executable(shared ../first.c)
target_link_libraries(shared antler::antler_shared)
add_executable(static ../first.c)
target_link_libraries(static antler::antler_static)
TXT
expect_ok cmake -S project -B project/build -DCMAKE_PREFIX_PATH="$folder/usr"
expect_ok cmake --build project/build
expect_ok project/build/shared
expect_ok project/build/static
contains "$out" "2 trajectories of 3 variables"
finish
