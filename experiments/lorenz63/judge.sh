#!/usr/bin/env bash
# judge.sh [FOLDER] - measure the trained models in FOLDER/Results/lorenz63 on orbits that were fixed beforehand.
#
# Test orbits: seeds 2001 to 2005.  Beside each stands its floor: another true orbit (seeds 3001 to 3005) of the length of
# the free runs, measured in place of one.  Seed 1001 is the validation orbit, on which settings were chosen.
# Answers go to FOLDER/judged, one file each; what is there already is kept, so an interrupted call can be repeated.
# A GPU is used where there is one; two cores of a 3.7 GHz Zen 4 take about 2 minutes per model and orbit.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=${ANTLER:-$here/../../build/antler}
for packed in "$here"/antler-*/bin/antler; do # as pack.sh leaves it
  [ -x "$packed" ] && antler=$packed
done
folder=${1:-Results/lorenz63-experiment}
samples=${SAMPLES:-1000000}
mkdir -p "$folder/judged"
cd "$folder"

# keep FILE COMMAND... - the answer of COMMAND, unless FILE has it from before
keep() {
  local file=judged/$1
  shift
  [ -e "$file" ] && return
  "$@" >"$file.part"
  mv "$file.part" "$file"
  echo "$file"
}

# orbit FILE SEED ROWS - simulate once, in the units of the system
orbit() {
  [ -e "$1" ] || "$antler" simulate lorenz63 --seed "$2" --length "$3" --standardise off --out "$1" --quiet
}

judge=("$antler" evaluate --samples "$samples" --no-rmse --no-lyapunov --no-files --json --quiet)
floor=("$antler" measure --samples "$samples" --json --quiet)
for number in 1 2 3 4 5; do
  test=test_200$number.npz
  other=other_300$number.npz
  orbit "$test" "200$number" 100000
  orbit "$other" "300$number" 300000
  keep "floor_full_200$number.json" "${floor[@]}" --true "$test" --generated "$other"
  keep "floor_partial_200$number.json" "${floor[@]}" --true "$test" --generated "$other" --columns 1 --embed 3,10
  keep "full_200$number.json" "${judge[@]}" Results/lorenz63/full --data "$test"
  keep "partial_200$number.json" "${judge[@]}" Results/lorenz63/partial --data "$test" --embed 3,10 --only-embedded
done
orbit valid_1001.npz 1001 100000
keep full_1001.json "${judge[@]}" Results/lorenz63/full --data valid_1001.npz
keep partial_1001.json "${judge[@]}" Results/lorenz63/partial --data valid_1001.npz --embed 3,10 --only-embedded
if command -v python3 >/dev/null; then
  python3 "$here/summary.py" judged
fi
