#!/usr/bin/env bash
# setup.sh GROUP... - make sure the Debian packages of these groups are there.
# Missing ones are installed when the user may; otherwise the exact line to run is printed and the exit code is 2.
set -euo pipefail

packages() {
    case $1 in
        build) echo gcc libc6-dev cmake ninja-build pkg-config git libzip-dev zlib1g-dev libcyaml-dev libjansson-dev ;;
        test) echo libcmocka-dev python3 python3-numpy python3-matplotlib python3-plotly python3-pytest binutils g++ strace locales mpich ;;
        clang) echo clang libomp-dev libclang-rt-14-dev llvm ;;
        format) echo clang-format-14 git ;;
        lint) echo shellcheck python3 python3-venv git ;;
        tidy) echo clang-tidy-14 python3 ;;
        wheel) echo python3 python3-venv python3-pip patchelf ;;
        wheel-old) echo python3 python3-venv python3-pip patchelf binutils dpkg-dev ;;
        bundle) echo patchelf binutils ;;
        plot) echo python3 python3-numpy python3-matplotlib ;;
        docs) echo python3 python3-numpy python3-matplotlib python3-pytest python3-sphinx furo node-normalize.css libjs-katex python3-myst-parser python3-nbconvert python3-ipykernel ;;
        browser) echo chromium chromium-driver python3-selenium python3-pytest python3-numpy python3-plotly ;;
        report) echo python3 python3-numpy python3-plotly ;;
        bench) echo python3 python3-numpy ;;
        kernels) echo python3 python3-venv ;;
        cache) echo ccache ;;
        *) echo "setup.sh: there is no group '$1'" >&2; exit 2 ;;
    esac
}

if ! command -v dpkg-query >/dev/null; then
    [ -n "${ANTLER_NO_SETUP:-}" ] || echo "This is no Debian system, so nothing is installed by itself; CONTRIBUTING.md lists what the build needs." >&2
    exit 0
fi

missing=()
for group in "$@"; do
    for package in $(packages "$group"); do
        state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
        [[ $state == installed || " ${missing[*]-} " == *" $package "* ]] || missing+=("$package")
    done
done
[ ${#missing[@]} -gt 0 ] || exit 0

install=(apt-get install --no-install-recommends -y "${missing[@]}")
if [ "$(id -u)" = 0 ]; then
    as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    as_root=(sudo -n)
else
    echo "These Debian packages are missing: ${missing[*]}" >&2
    echo "Install them with:  sudo ${install[*]}" >&2
    exit 2
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "Installing: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
if ! { "${as_root[@]}" apt-get update && "${as_root[@]}" "${install[@]}"; } >"$log" 2>&1; then
    tail -n 15 "$log" >&2
    echo "The packages could not be installed. Once the reason above is gone, run:  sudo ${install[*]}" >&2
    exit 2
fi
