#!/usr/bin/env bash
# check_rules.sh BUILD - the rules of CONTRIBUTING.md that a machine can check, by reading includes and symbols.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build}
failures=0
fail() { echo "rule broken: $*" >&2; failures=$((failures + 1)); }

# room: the rooms that it may include from, besides its own and <antler/antler.h>
allowed() {
    case $1 in
        base) echo "" ;;
        comm) echo "base" ;;
        engine) echo "base engine/cuda" ;;
        engine/cuda) echo "base engine engine/cuda/kernels" ;;
        engine/cuda/kernels) echo "" ;;
        data) echo "base" ;;
        data/systems) echo "base data" ;;
        model) echo "base data engine" ;;
        solve) echo "base comm model" ;;
        train) echo "base comm data model solve measure engine" ;;
        measure) echo "base data model engine" ;;
        fit) echo "base data measure" ;;
        cli) echo "" ;;
        *) echo "unknown" ;;
    esac
}

# Names of POSIX that nothing here may define again: the reader takes them for the system's.
posix="accept access alarm bind brk close connect dup flock fork index kill link listen lstat nice open pause pipe poll
    raise read recv remove rename select send signal sleep socket splice stat sync time times truncate unlink wait write"

sources=$(find src -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' | sort)
while read -r file; do
    room=$(dirname "${file#src/}")
    may=$(allowed "$room")
    [ "$may" != unknown ] || { fail "$file is in a room without a rule; add it to scripts/check_rules.sh and CONTRIBUTING.md"; continue; }
    while read -r included; do
        target=$(dirname "$included")
        if [ "$room" = engine/cuda/kernels ]; then # NVRTC knows the files of this folder, by their names alone
            [ -e "src/$room/$included" ] || fail "$file includes \"$included\": kernels may use only files of their own folder"
            continue
        fi
        [ "$target" = . ] && continue # generated
        [ "$target" = "$room" ] && continue
        [[ " $may " == *" $target "* ]] || fail "$file includes \"$included\": $room may use only: ${may:-nothing else}"
    done < <(sed -nE 's/^ *# *include "([^"]+)".*/\1/p' "$file")
    if [ "$room" = engine/cuda/kernels ]; then
        ! grep -nE '^ *# *include <' "$file" || fail "$file includes a header of the system: NVRTC has none"
        continue
    fi
    if [ "$room" != cli ] && grep -nE '\b(printf|puts|fputs|putchar|perror|exit|abort)\(' "$file" | grep -vE 'snprintf|fprintf\(output|^\s*[0-9]+:\s*(/?\*|//)' | grep -q .; then
        fail "$file prints or exits: the library never does"
    fi
    if grep -n '#pragma omp parallel' "$file" | grep -vE 'num_threads\((ant_threads_ready\(|team)' | grep -q .; then
        [ "$file" = src/base/threads.c ] || fail "$file has a parallel region without ant_threads_ready"
    fi
    if grep -qE '#include [<"](cuda|nvrtc)|\bcu[A-Z][A-Za-z]+\(|\bnvrtc[A-Z]|"lib(cuda|nvrtc)' "$file" && [[ $room != engine/cuda* ]]; then
        fail "$file names CUDA"
    fi
    if grep -qE '#include [<"]mpi\.h|\bMPI_[A-Z]|"libmpi' "$file" && [ "$room" != comm ]; then fail "$file names MPI"; fi
done <<<"$sources"

# Kernels include what their reading guide lists.
guide=src/engine/cuda/kernels/README.md
while read -r file; do
    name=$(basename "$file")
    grep -q "^| $name |" "$guide" || { fail "$guide does not list $name"; continue; }
    may=$(sed -nE "s/^\| ${name//./\\.} \|(.*)\|$/\1/p" "$guide")
    while read -r included; do
        [[ " $may " == *" $included "* ]] || fail "$file includes \"$included\", which $guide does not list"
    done < <(sed -nE 's/^ *# *include "([^"]+)".*/\1/p' "$file")
done < <(grep '^src/engine/cuda/kernels/' <<<"$sources")

# A file name says which file is meant.
while read -r name; do
    fail "several files are called $name: $(find src -name "$name" | sort | paste -sd' ')"
done < <(xargs -n 1 basename <<<"$sources" | sort | uniq -d)

# A definition begins in the first column, be it of a function, a type or a macro.
names=$(tr -s ' \n' '|' <<<"$posix" | sed 's/|$//')
while read -r line; do
    fail "a name of POSIX is defined: $line"
done < <(xargs grep -nE -e "^[a-z_][A-Za-z0-9_() *]*[ *]($names)\(" -e "^(typedef )?(struct|union|enum) ($names) \{" \
    -e "^#define ($names)\b" <<<"$sources" | grep -vE ':return ' || true)

# Headers stand alone; those without a guard are parts of one translation unit.
flags=(-std=c11 -D_POSIX_C_SOURCE=200809L -D_XOPEN_SOURCE=700 -DANT_REAL=32 -DANT_SIMD=base -DANT_SIMD_BASE -fopenmp -Isrc -Iinclude)
while read -r header; do
    echo "#include \"${header#src/}\"" | gcc -x c "${flags[@]}" -fsyntax-only - || fail "$header does not compile alone"
done < <(grep '\.h$' <<<"$sources" | grep -v '^src/engine/cuda/kernels/' | xargs grep -l '^#ifndef ANT_')

# The public header stands alone in C and in C++.
for language in c c++; do
    compiler=gcc; [ "$language" = c++ ] && compiler=g++
    command -v $compiler >/dev/null || continue
    standard=c11; [ "$language" = c++ ] && standard=c++11
    echo '#include <antler/antler.h>' | $compiler -x $language -std=$standard -Wall -Wextra -Wpedantic -Werror -Iinclude -fsyntax-only - ||
        fail "antler.h does not compile alone as $language"
done

# Only antler_ symbols leave the shared library.
if [ -e "$build/libantler.so" ]; then
    strange=$(nm -D --defined-only "$build/libantler.so" | awk '{print $3}' | sed 's/@.*//' | grep -vE '^antler_' || true)
    [ -z "$strange" ] || fail "libantler.so exports $(echo "$strange" | tr '\n' ' ')"
fi

# The header, the changelog, the citation and the files of the release move together.
version=$(sed -nE 's/^#define ANTLER_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/antler/antler.h | paste -sd.)
grep -q "^## $version" CHANGELOG.md || fail "CHANGELOG.md has no section for version $version"
[ -e "tests/releases/$version/structs.txt" ] || fail "tests/releases/$version has no files of this version; run scripts/release_files.sh"
grep -qx "version: $version" CITATION.cff || fail "CITATION.cff is not of version $version"

# Pages and comments name what exists, quote true defaults, and every file says what it is.
python3 scripts/check_docs.py >/dev/null || { python3 scripts/check_docs.py >&2; fail "scripts/check_docs.py finds faults"; }

[ "$failures" = 0 ] || { echo "$failures rule(s) broken" >&2; exit 1; }
echo "All dependency and symbol rules hold."
