#!/usr/bin/env bash
# hand.sh FOLDER [SYSTEM...] - the best settings that we know by hand (hand.txt), ten runs each, on the data of run.sh.
#
#   DEVICE=cuda ECG=FOLDER experiments/fit/hand.sh Results/fit lorenz63 ecg
#
# Every run leaves one line in FOLDER/hand.csv: settings (their number in hand.txt), run, and its measures on the test
# data, as run.sh has them.  A system whose lines are there is not trained again.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=$(realpath "${ANTLER:-$here/../../build/antler}")
folder=${1:?folder of the results}
shift
threads=${THREADS:-0} device=${DEVICE:-auto}
mkdir -p "$folder"
cd "$folder"
# shellcheck source-path=SCRIPTDIR source=data.sh
. "$here/data.sh"
measures=dstsp,hellinger,prediction_error,verdict,dstsp_floor,hellinger_floor,figure
[ -e hand.csv ] || echo "system,settings,run,seconds,$measures" >hand.csv

# one NUMBER SYSTEM SETTING...: a training of ten runs, and one line for each
one() {
    local number=$1 system=$2 data=$2 id=$2-$1 begin=$SECONDS options=() setting
    shift 2
    if [ "$system" = lorenz63_x ]; then data=lorenz63 options=(--set columns=1); fi
    for setting in "$@"; do options+=(--set "$setting"); done
    echo "experiment: $id" >"hand-$id.yaml"
    "$antler" train "hand-$id.yaml" --overwrite --quiet --set "data=data/${data}_train.npy" --set results=hand \
        --set name=hand --set validation=0 --set runs=10 --set "threads=$threads" --set "device=$device" "${options[@]}" ||
        true # 1: a run diverged
    local seconds=$((SECONDS - begin))
    judge "$system" "hand/$id/hand" >"hand-$id.json"
    "${PYTHON:-python3}" "$here/line.py" "hand-$id.json" "$system" "$number" RUN "$seconds" >>hand.csv
    rm -r "hand-$id.yaml" "hand/$id"
}

number=0
while read -r system settings <&3; do
    number=$((number + 1))
    [ -n "$system" ] && [ "$system" != "#" ] || continue
    [ $# = 0 ] || [[ " $* " == *" $system "* ]] || continue
    ! grep -q "^$system,$number," hand.csv || continue
    prepare "$system"
    # shellcheck disable=SC2086 # one word per setting
    one "$number" "$system" $settings
done 3<"$here/hand.txt"
cat hand.csv
