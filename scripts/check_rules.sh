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
        engine) echo "base engine/cuda" ;;
        engine/cuda) echo "base engine" ;;
        data) echo "base" ;;
        data/systems) echo "base data" ;;
        model) echo "base data" ;;
        solve) echo "base model" ;;
        train) echo "base data model solve engine" ;;
        measure) echo "base data model engine" ;;
        cli) echo "" ;;
        *) echo "unknown" ;;
    esac
}

while read -r file; do
    room=$(dirname "${file#src/}")
    may=$(allowed "$room")
    [ "$may" != unknown ] || { fail "$file is in a room without a rule; add it to scripts/check_rules.sh and CONTRIBUTING.md"; continue; }
    while read -r included; do
        target=$(dirname "$included")
        [ "$target" = . ] && continue # generated
        [ "$target" = "$room" ] && continue
        [[ " $may " == *" $target "* ]] || fail "$file includes \"$included\": $room may use only: ${may:-nothing else}"
    done < <(sed -nE 's/^#include "([^"]+)".*/\1/p' "$file")
    if [ "$room" != cli ] && grep -nE '\b(printf|puts|fputs|putchar|perror|exit|abort)\(' "$file" | grep -vE 'snprintf|fprintf\(output|^\s*[0-9]+:\s*(/?\*|//)' | grep -q .; then
        fail "$file prints or exits: the library never does"
    fi
    if grep -qE '#include [<"](cuda|nvrtc)|\bcu[A-Z][A-Za-z]+\(|\bnvrtc[A-Z]|"lib(cuda|nvrtc)' "$file" && [[ $room != engine/cuda* ]]; then
        fail "$file names CUDA"
    fi
    if grep -qE '#include [<"]mpi\.h' "$file" && [ "$room" != comm ]; then fail "$file names MPI"; fi
done < <(find src -name '*.c' -o -name '*.h' | sort)

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

# The header and the changelog move together.
version=$(sed -nE 's/^#define ANTLER_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)/\2/p' include/antler/antler.h | paste -sd.)
grep -q "^## $version" CHANGELOG.md || fail "CHANGELOG.md has no section for version $version"

[ "$failures" = 0 ] || { echo "$failures rule(s) broken" >&2; exit 1; }
echo "All dependency and symbol rules hold."
