#!/usr/bin/env bash
# demo.sh ANTLER - a first look: two systems, a right and a wrong orbit, measured.
set -euo pipefail
antler=$1
folder=build/demo
mkdir -p "$folder"
say() { printf '\n%s\n' "$*"; }

say "Two systems, simulated (Lorenz-63 and Roessler), and two more orbits to compare with the first:"
"$antler" simulate lorenz63 --length 20000 --standardise off --seed 1 --out "$folder/truth.npz"
"$antler" simulate roessler --length 20000 --standardise off --seed 1 --out "$folder/roessler.npz"
"$antler" simulate lorenz63 --length 20000 --standardise off --seed 2 --out "$folder/right.npz"
"$antler" simulate lorenz63 --length 20000 --standardise off --seed 2 --param rho=24 --out "$folder/wrong.npz"

say "The true orbit, x against z:"
"$antler" info "$folder/truth.npz" --sketch x,z | sed -n '/ from /,$p'

say "Measured against it (gmm with 100,000 samples; the paper uses 1,000,000):"
printf '%-46s %12s %10s %14s\n' "" "D_stsp" "D_H" "kernels/s"
measure() {
    "$antler" measure --true "$folder/truth.npz" --generated "$2" --samples 1e5 --quiet --json >"$folder/$3.json"
    value() { sed -nE "s/^ {$1}\"$2\": ([-0-9.e+]+),?\$/\1/p" "$folder/$3.json" | head -n "${4:-1}" | tail -n 1; }
    printf '%-46s %12.4g %10.4g %14.3g\n' "$1" "$(value 4 value "$3")" "$(value 4 value "$3" 2)" "$(value 4 kernels_per_second "$3")"
}
measure "another orbit of the same system" "$folder/right.npz" right
measure "an orbit with rho = 24 instead of 28" "$folder/wrong.npz" wrong
measure "the Roessler system" "$folder/roessler.npz" roessler
cat <<TXT

D_stsp is near 0 when the orbit visits the same places equally often; D_H is near 0
when the power spectra agree. The wrong orbits are found out by at least one of them.

What to try next:
  build/antler simulate --list
  build/antler info $folder/roessler.npz --sketch x,y
  build/antler measure --true $folder/truth.npz --generated $folder/wrong.npz --embed 3,10
TXT
