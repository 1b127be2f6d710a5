#!/usr/bin/env bash
# prove_clean_root.sh [FOLDER] - run `make demo` and `make test` in a bare Debian 12 with git and make only.
# Needs root.  FOLDER holds the roots (default: a temporary one, removed at the end).
set -euo pipefail
cd "$(dirname "$0")/.."
[ "$(id -u)" = 0 ] || { echo "prove_clean_root.sh: run as root; it makes a root file system" >&2; exit 2; }
command -v debootstrap >/dev/null || apt-get install -y debootstrap >/dev/null
folder=${1:-$(mktemp -d)}
root=$folder/root
mirror=$(sed -nE 's/^(URIs: |deb (\[[^]]*\] )?)([^ ]+).*/\3/p' /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | grep -v security | head -n 1 || true)

cleanup() {
    umount "$root/proc" "$root/dev" 2>/dev/null || true
    [ -n "${1:-}" ] || rm -rf "$folder"
}
trap 'cleanup "${KEEP:-}"' EXIT

debootstrap --variant=minbase --include=git,make,ca-certificates bookworm "$root" "${mirror:-http://deb.debian.org/debian}" >"$folder/debootstrap.log"
mount --bind /dev "$root/dev"
mount -t proc proc "$root/proc"
for f in /etc/apt/apt.conf.d /etc/apt/sources.list /etc/apt/sources.list.d /etc/resolv.conf /etc/ssl /usr/local/share/ca-certificates; do
    [ -e "$f" ] && mkdir -p "$root$(dirname "$f")" && cp -rL "$f" "$root$(dirname "$f")/" 2>/dev/null || true
done
git clone -q . "$root/antler"
read -ra proxy <<<"${PROXY_ENV:-}"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp LANG=C.UTF-8 "${proxy[@]}" "$@"; }
inside git config --system --add safe.directory /antler

echo "== installed beforehand: $(inside dpkg-query -W | wc -l) packages, gcc: $(inside sh -c 'command -v gcc || echo none')"
echo "== an ordinary user without sudo: make demo"
inside useradd -m someone
inside chown -R someone /antler
code=0
inside setpriv --reuid=someone --regid=someone --clear-groups make -C /antler demo || code=$?
[ "$code" = 2 ] || { echo "expected exit code 2, got $code" >&2; exit 1; }
inside chown -R root /antler
echo "== root: make demo"
inside make -C /antler demo
echo "== root: make test"
inside make -C /antler test
echo "The two commands hold on a bare Debian 12."
