#!/usr/bin/env bash
# run.sh FOLDER [SYSTEM...] - `antler fit` and nothing else, on nine data sets, each with SEEDS seeds (10), and its test.
#
#   SEEDS=3 MINUTES=2 THREADS=2 JOBS=8 DEVICE=cpu experiments/fit/run.sh Results/fit lorenz63 ecg
#
# Data are simulated into FOLDER/data; ecg needs ECG=FOLDER_WITH_ecg_5d_train.npy_AND_ecg_5d_test.npy.  Every fit leaves
# one line in FOLDER/fits.csv: what is there already is not made again, so an interrupted call can be repeated.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=$(realpath "${ANTLER:-$here/../../build/antler}")
folder=${1:?folder of the results}
shift
seeds=${SEEDS:-10} minutes=${MINUTES:-0} threads=${THREADS:-0} jobs=${JOBS:-1} device=${DEVICE:-auto}
systems=("$@")
[ $# -gt 0 ] || systems=(lorenz63 lorenz63_noise lorenz63_x roessler lorenz96 neuron mixed63 mixed96)
mkdir -p "$folder/data"
cd "$folder"
[ -e fits.csv ] || echo "system,seed,device,minutes,seconds,dstsp,hellinger,prediction_error,verdict" >fits.csv

# simulate NAME SYSTEM [OPTION...]: training data with these options, and a clean test orbit from another start
simulate() {
    local name=$1 system=$2
    shift 2
    [ -e "data/${name}_train.npy" ] || "$antler" simulate "$system" --seed 1 --out "data/${name}_train.npy" --quiet "$@"
    [ -e "data/${name}_test.npy" ] || "$antler" simulate "$system" --seed 2001 --out "data/${name}_test.npy" --quiet
}

prepare() {
    case $1 in
        lorenz63 | lorenz63_x) simulate lorenz63 lorenz63 ;;
        lorenz63_noise) simulate lorenz63_noise lorenz63 --noise 0.05 ;;
        roessler | lorenz96 | neuron) simulate "$1" "$1" ;;
        mixed63 | mixed96) [ -e "data/$1_test.npy" ] || "${PYTHON:-python3}" "$here/mix.py" "$antler" "$1" data ;;
        ecg)
            [ -e data/ecg_train.npy ] || cp "${ECG:?folder of the ECG files}/ecg_5d_train.npy" data/ecg_train.npy
            [ -e data/ecg_test.npy ] || cp "$ECG/ecg_5d_test.npy" data/ecg_test.npy
            ;;
        *) echo "run.sh: there is no data set $1" >&2; exit 2 ;;
    esac
}

# one SYSTEM SEED: a fit, its evaluation on the test data, a line of fits.csv
one() {
    local system=$1 seed=$2 data=$1 id=$1-$2 begin=$SECONDS fit=() judge=()
    ! grep -q "^$system,$seed," fits.csv || return 0
    case $system in
        lorenz63_x) data=lorenz63 fit=(--columns 1) judge=(--columns 1 --embed '3,10' --only-embedded) ;;
        neuron) judge=(--embed '3,40' --only-embedded) ;;
        ecg) judge=(--dstsp bins) ;;
    esac
    "$antler" fit "data/${data}_train.npy" "${fit[@]}" --seed "$seed" --minutes "$minutes" --threads "$threads" \
        --device "$device" --results "fits/$id" --name fit >"fits-$id.txt" 2>&1
    local seconds=$((SECONDS - begin))
    "$antler" evaluate "fits/$id/fit/model.npz" --data "data/${data}_test.npy" "${judge[@]}" --samples 100000 \
        --no-lyapunov --no-files --json --quiet >"fits-$id.json" || true # 1: diverged
    "${PYTHON:-python3}" "$here/line.py" "$system" "$seed" "$device" "$minutes" "$seconds" "fits-$id.json" >>fits.csv
}

for system in "${systems[@]}"; do prepare "$system"; done
for ((seed = 1; seed <= seeds; seed++)); do
    for system in "${systems[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
        one "$system" "$seed" &
    done
done
wait
sort -t, -k1,1 -k2,2n fits.csv -o fits.csv
cat fits.csv
