#!/usr/bin/env bash
# run.sh FOLDER [SYSTEM...] - `antler fit` and nothing else, on nine data sets, each with SEEDS seeds (10), and its test.
#
#   SEEDS=3 MINUTES=2 THREADS=2 JOBS=8 DEVICE=cpu experiments/fit/run.sh Results/fit lorenz63 ecg
#
# SYSTEM is one of the nine, any system of `antler simulate`, or a function of series.py.  Data are made in FOLDER/data;
# ecg needs ECG=FOLDER_WITH_ecg_5d_train.npy_AND_ecg_5d_test.npy.  ROWS is the length of simulated data, SAMPLES that of
# D_stsp on test orbits (50,000).  Every fit leaves one line in FOLDER/fits.csv: what is there
# already is not made again, so an interrupted call can be repeated.
# FIRST is the first seed (1); STOP, in seconds, the time after which no fit is begun.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=$(realpath "${ANTLER:-$here/../../build/antler}")
folder=${1:?folder of the results}
shift
seeds=${SEEDS:-10} minutes=${MINUTES:-0} threads=${THREADS:-0} jobs=${JOBS:-1} device=${DEVICE:-auto} first=${FIRST:-1}
systems=("$@")
[ $# -gt 0 ] || systems=(lorenz63 lorenz63_noise lorenz63_x roessler lorenz96 neuron mixed63 mixed96)
mkdir -p "$folder/fits"
cd "$folder"
# shellcheck source-path=SCRIPTDIR source=data.sh
. "$here/data.sh"
measures=dstsp,hellinger,prediction_error,verdict,dstsp_floor,hellinger_floor,figure
[ -e fits.csv ] || echo "system,seed,device,minutes,seconds,fit_verdict,$measures" >fits.csv

# one SYSTEM SEED: a fit, its evaluation on the test data, a line of fits.csv
one() {
    local system=$1 seed=$2 data=$1 id=$1-$2 begin=$SECONDS fit=() found
    ! grep -q "^$system,$seed," fits.csv || return 0
    if [ "$system" = lorenz63_x ]; then data=lorenz63 fit=(--columns 1); fi
    "$antler" fit "data/${data}_train.npy" "${fit[@]}" --seed "$seed" --minutes "$minutes" --threads "$threads" \
        --device "$device" --results "fits/$id" --name fit >"fits-$id.txt" 2>&1
    local seconds=$((SECONDS - begin))
    found=$(sed -nE 's/^Verdict: ([a-z_]+)\..*/\1/p' "fits-$id.txt")
    judge "$system" "fits/$id/fit/model.npz" >"fits-$id.json"
    "${PYTHON:-python3}" "$here/line.py" "fits-$id.json" "$system" "$seed" "$device" "$minutes" "$seconds" "$found" \
        >>fits.csv
    cp "fits/$id/fit/trials.csv" "fits-$id.csv"
    cp "fits/$id/fit/model.npz" "fits-$id.npz"
    rm -r "fits/$id" # the runs of all trials: some 10 MB for each fit
}

for system in "${systems[@]}"; do prepare "$system"; done
for ((seed = first; seed < first + seeds; seed++)); do
    for system in "${systems[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
        [ "$SECONDS" -lt "${STOP:-1000000}" ] || break 2
        one "$system" "$seed" &
    done
done
wait
{ head -n 1 fits.csv && tail -n +2 fits.csv | LC_ALL=C sort -t, -k1,1 -k2,2n; } | tee sorted.csv
mv sorted.csv fits.csv
