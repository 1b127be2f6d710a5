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
cp "$build/bundle/installed/bin/antler-report" "$build/bundle/installed/bin/antler-convert" "$stage/bin/" # scripts: nothing to gather
rm -rf "$build/bundle/installed"

# The promise: no symbol newer than glibc 2.36.
newest=$(for f in "$stage"/bin/* "$stage"/lib/*.so*; do objdump -T "$f" 2>/dev/null; done | grep -oE 'GLIBC_[0-9.]+' | sort -uV | tail -n 1)
[ "$(printf '%s\nGLIBC_2.36\n' "$newest" | sort -V | tail -n 1)" = GLIBC_2.36 ] ||
    { echo "The bundle needs $newest, more than the promised GLIBC_2.36; build it on Debian 12." >&2; exit 1; }

tar -C "$build/bundle" -czf "$build/$name.tar.gz" "$name"

# Unpacked elsewhere it loads nothing of this machine but the C library, and goes the whole way from data to measures.
elsewhere=$(mktemp -d)
trap 'rm -rf "$elsewhere"' EXIT
tar -C "$elsewhere" -xzf "$build/$name.tar.gz"
foreign=$(for f in "$elsewhere/$name/bin/antler" "$elsewhere/$name"/lib/*.so*; do env -i /usr/bin/ldd "$f"; done |
    awk -v own="$elsewhere/" '/not found/ || ($3 ~ /^\// && index($3, own) != 1 && $1 !~ /^lib(c|m|pthread|dl|rt)\.so/)')
[ -z "$foreign" ] || { echo "The bundle loads what does not lie in it:" "$foreign" >&2; exit 1; }
(
    cd "$elsewhere"
    antler() { env -i "./$name/bin/antler" "$@"; }
    antler --version
    antler info --devices >/dev/null
    antler simulate lorenz63 --length 2000 --out x.npy --quiet
    printf 'data: x.npy\ndevice: cpu\nlatent_dim: 5\nhidden_dim: 20\nsequence_length: 50\nvalidation: 0\nupdates: 20\n' >run.yaml
    antler train run.yaml --quiet
    antler evaluate Results/experiment/run/001 --data x.npy >/dev/null
)
echo "$build/$name.tar.gz ($(du -h "$build/$name.tar.gz" | cut -f1), needs $newest or newer)"
