#!/usr/bin/env bash
# The command and the library are hardened as docs/files.md says, by what their ELF files hold.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v readelf >/dev/null || die "readelf is needed; it is in binutils"

elf() { readelf -W "$@" 2>/dev/null; }
library=$BUILD/libantler.so
for file in "$ANTLER" "$library"; do
    checks=$((checks + 1))
    symbols=$(elf --dyn-syms "$file") stack=$(elf -l "$file" | grep GNU_STACK)
    contains "$(elf -l "$file")" GNU_RELRO
    contains "$(elf -d "$file")" BIND_NOW
    [[ $stack == *" RW "* ]] || die "$file has an executable stack"
    # Libraries are searched for by absolute names alone; an empty one would be the current folder.
    path=$(elf -d "$file" | sed -nE 's/.*(runpath|rpath): \[(.*)\]/\2/p')
    [[ ":$path:" != *:[!/\$:]* && ":$path:" != *::* ]] || [ -z "$path" ] || die "$file looks for libraries in '$path'"
    [ -z "${SANITIZE:-}" ] || continue # which checks more, and brings symbols of its own
    contains "$symbols" __stack_chk_fail
    contains "$symbols" _chk@
    # umask(2) changes the permissions of every file that other threads make meanwhile.
    [[ $symbols != *" umask@"* ]] || die "$file calls umask"
    ! grep -qE ' (gets|system|popen|mktemp|tmpnam)@' <<<"$symbols" || die "$file calls a function that it should not"
done
contains "$(elf -h "$ANTLER")" "DYN (Position-Independent Executable file)"
contains "$(elf -d "$ANTLER")" PIE

# Probing the stack leaves no mark in the file: it is in the commands of the build, except for kernels.
if [ -z "${SANITIZE:-}" ]; then
    python3 - "$BUILD/compile_commands.json" <<'PY' || die "files are compiled without hardening"
import json, sys
bad = []
for entry in json.load(open(sys.argv[1])):
    file, command = entry["file"], entry["command"]
    if "/src/" not in file or "_simd" in file or "/tests/" in file:
        continue
    for flag in ("-fstack-clash-protection", "-fstack-protector-strong", "-D_FORTIFY_SOURCE="):
        if flag not in command:
            bad.append(f"{file}: {flag}")
print("\n".join(bad[:10]))
sys.exit(bool(bad))
PY
fi
finish
