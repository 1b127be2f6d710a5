#!/usr/bin/env python3
"""old_glibc.py FOLDER - libraries to link against, so that the result runs with glibc 2.28 and newer.

Objects refer to functions of glibc without a version; the linker binds them to the newest version of the library that
it is given. Here it is given empty libraries of the same names. They hold the symbols of this machine's glibc in the
newest version that is not above 2.28: exp is then exp@GLIBC_2.2.5 and not exp@GLIBC_2.29. Functions that 2.28 has only
in a static part (stat and its kin) are in old_glibc.o. `gcc -LFOLDER FOLDER/old_glibc.o ...` links with all of it.
"""

import re
import subprocess
import sys
from pathlib import Path

NEWEST = (2, 28)
LIBRARIES = Path("/lib/x86_64-linux-gnu")

# glibc 2.28 keeps these in libc_nonshared.a, as calls of functions that it exports; 1 is the version of struct stat.
SHIM = """
#include <sys/stat.h>
#define HIDDEN __attribute__((visibility("hidden")))
int __xstat(int, const char *, struct stat *);
int __lxstat(int, const char *, struct stat *);
int __fxstat(int, int, struct stat *);
int __fxstatat(int, int, const char *, struct stat *, int);
HIDDEN int stat(const char *path, struct stat *out) { return __xstat(1, path, out); }
HIDDEN int lstat(const char *path, struct stat *out) { return __lxstat(1, path, out); }
HIDDEN int fstat(int file, struct stat *out) { return __fxstat(1, file, out); }
HIDDEN int fstatat(int folder, const char *path, struct stat *out, int flags)
{
    return __fxstatat(1, folder, path, out, flags);
}
"""


def number(version):
    """(2, 28) of "GLIBC_2.28"; None of a private one."""
    found = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(?:\.(\d+))?", version)
    return found and tuple(int(part or 0) for part in found.groups())


def symbols(library):
    """{name: (version, kind, bytes)} of the newest versions that are not above NEWEST."""
    listing = subprocess.run(["readelf", "--dyn-syms", "-W", library], check=True, capture_output=True, text=True)
    found = {}
    for line in listing.stdout.splitlines():
        words = line.split()
        if len(words) < 8 or words[6] in ("UND", "Ndx", "ABS") or "@" not in words[7]:
            continue
        name, version = words[7].split("@", 1)[0], words[7].rpartition("@")[2]
        key = number(version)
        if key is None or key[:2] > NEWEST or (name in found and number(found[name][0]) > key):
            continue
        found[name] = (version, words[3], int(words[2], 0))
    return found


def make_stub(library, soname, out):
    lines, versions = [], set()
    for i, (name, (version, kind, size)) in enumerate(sorted(symbols(library).items())):
        versions.add(version)
        section = {"OBJECT": ".data", "TLS": ".tbss"}.get(kind, ".text")
        flags = ',"awT",@nobits' if section == ".tbss" else ""
        mark = {"OBJECT": "object", "TLS": "tls_object"}.get(kind, "function")
        lines += [f".section {section}{flags}", f".globl s{i}", f".type s{i}, @{mark}", f".size s{i}, {max(size, 1)}"]
        lines += [f"s{i}: .zero {1 if mark == 'function' else max(size, 1)}"]
        lines += [f".symver s{i}, {name}@@{version}, remove"]
    source, script = out.with_suffix(".s"), out.with_suffix(".map")
    source.write_text("\n".join(lines) + "\n", encoding="ascii")
    script.write_text("".join(f"{version} {{}};\n" for version in sorted(versions, key=number)), encoding="ascii")
    options = ["-shared", "-nostdlib", f"-Wl,-soname,{soname}", f"-Wl,--version-script={script}"]
    subprocess.run(["gcc", *options, source, "-o", out], check=True)


def main():
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    make_stub(LIBRARIES / "libc.so.6", "libc.so.6", folder / "libc_stub.so")
    make_stub(LIBRARIES / "libm.so.6", "libm.so.6", folder / "libm.so")
    # What 2.28 has in these is in libc.so.6 today; symbols are found by name and version, in whichever is loaded.
    for name, soname in (("libpthread", "libpthread.so.0"), ("libdl", "libdl.so.2")):
        options = ["-shared", "-nostdlib", f"-Wl,-soname,{soname}", "-x", "c"]
        subprocess.run(["gcc", *options, "/dev/null", "-o", folder / f"{name}.so"], check=True)
    rest = f"/usr{LIBRARIES}/libc_nonshared.a AS_NEEDED ( /lib64/ld-linux-x86-64.so.2 )"
    (folder / "libc.so").write_text(f"GROUP ( {folder}/libc_stub.so {rest} )\n", encoding="ascii")
    shim = folder / "old_glibc.c"
    shim.write_text(SHIM, encoding="ascii")
    subprocess.run(["gcc", "-O2", "-fPIC", "-c", shim, "-o", folder / "old_glibc.o"], check=True)


if __name__ == "__main__":
    main()
