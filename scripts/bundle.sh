#!/usr/bin/env bash
# bundle.sh BUILD - a tarball with the command and every library but the C library itself.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
version=$("$build/antler" --version | awk '{print $2}')
name=antler-$version-linux-$(uname -m)
stage=$build/bundle/$name
rm -rf "$build/bundle"
mkdir -p "$stage"
DESTDIR="$PWD/$build/bundle/installed" cmake --install "$build" --prefix / >/dev/null
libraries=$(dirname "$(find "$build/bundle/installed" -name 'libantler.so')")
mkdir -p "$stage/bin" "$stage/lib"
cp "$build/bundle/installed/bin/antler" "$stage/bin/"
cp -a "$libraries"/libantler.so* "$stage/lib/"
cp -r "$build/bundle/installed/share" "$build/bundle/installed/include" "$stage/"
cp LICENSE README.md CHANGELOG.md "$stage/"
scripts/gather.sh "$stage/bin" "$stage/lib"
cp "$build/bundle/installed/bin/antler-report" "$stage/bin/" # a script: nothing to gather for it
rm -rf "$build/bundle/installed"

# The promise: no symbol newer than glibc 2.36.
newest=$(for f in "$stage"/bin/* "$stage"/lib/*.so*; do objdump -T "$f" 2>/dev/null; done | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_2.36\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.36 ] ||
    { echo "The bundle needs $newest, more than the promised GLIBC_2.36; build it on Debian 12." >&2; exit 1; }

env -i "$stage/bin/antler" --version
tar -C "$build/bundle" -czf "$build/$name.tar.gz" "$name"
echo "$build/$name.tar.gz ($(du -h "$build/$name.tar.gz" | cut -f1), needs $newest or newer)"
