#!/usr/bin/env bash
# run.sh FOLDER [SET...] - trainings with each set of defaults in sets.txt on seven data sets, judged on test data.
#
#   UPDATES=5000 RUNS=8 JOBS=1 THREADS=2 DEVICE=cpu ECG=FOLDER experiments/defaults/run.sh Results/defaults old new
#
# FOLDER/runs.csv gets one line per model: `last` is model.npz, `best` is best.npz, where rows
# were held back.  ECG is the folder of ecg_5d_train.npy and ecg_5d_test.npy; without it the ECG is left out.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
antler=$(realpath "${ANTLER:-$here/../../build/antler}")
updates=${UPDATES:-5000} runs=${RUNS:-8} jobs=${JOBS:-1} threads=${THREADS:-2} device=${DEVICE:-cpu} ecg=${ECG:+$(realpath "$ECG")}
folder=${1:?folder of the results}
shift
mkdir -p "$folder/data"
cd "$folder"
[ -e runs.csv ] || echo "system,set,updates,run,model,dstsp,hellinger,verdict" >runs.csv

# simulate NAME SYSTEM [OPTION...]: training data with these options, and a clean test orbit from another start
simulate() {
    local name=$1 system=$2
    shift 2
    [ -e "data/${name}_test.npy" ] || {
        "$antler" simulate "$system" --seed 1 --out "data/${name}_train.npy" --quiet "$@"
        "$antler" simulate "$system" --seed 2001 --out "data/${name}_test.npy" --quiet
    }
}

# one SYSTEM SET SETTINGS...: train, evaluate every model, add the lines
one() {
    local system=$1 set=$2 data=$1 word options=() judge=() kind models
    shift 2
    case $system in
        lorenz63_x) data=lorenz63 options=(columns=1) judge=(--columns 1 --embed '3,10' --only-embedded) ;;
        neuron) judge=(--embed '3,40' --only-embedded) ;;
        lorenz96) options=(latent_dim=10) ;;
        ecg) judge=(--dstsp bins) ;;
    esac
    options+=("data=data/${data}_train.npy" "updates=$updates" "runs=$runs" "threads=$threads" "device=$device")
    options+=("experiment=$system" "name=$set" "$@")
    printf 'seed: 1\n' >"$system-$set.yaml"
    set --
    for word in "${options[@]}"; do set -- "$@" --set "$word"; done
    "$antler" train "$system-$set.yaml" --quiet "$@" >"$system-$set.txt" 2>&1 || true # 1: a run diverged
    for kind in model best; do
        models=(Results/"$system/$set"/*/"$kind.npz")
        [ -e "${models[0]}" ] || continue
        "$antler" evaluate "${models[@]}" --data "data/${data}_test.npy" "${judge[@]}" --samples 5000 --steps 100000 \
            --no-lyapunov --no-files --json --quiet --threads "$threads" >"$system-$set.json" 2>>"$system-$set.txt" || true
        "${PYTHON:-python3}" "$here/lines.py" "$system" "$set" "$updates" "$system-$set.json" >>runs.csv
    done
}

simulate lorenz63 lorenz63
simulate lorenz63_noise lorenz63 --noise 0.05
for system in roessler lorenz96 neuron; do simulate "$system" "$system"; done
systems=(lorenz63 lorenz63_noise lorenz63_x roessler lorenz96 neuron)
if [ -n "$ecg" ]; then
    cp "$ecg/ecg_5d_train.npy" data/ecg_train.npy
    cp "$ecg/ecg_5d_test.npy" data/ecg_test.npy
    systems=(ecg "${systems[@]}")
fi
while read -r set settings; do
    [ $# = 0 ] || [[ " $* " == *" $set "* ]] || continue
    read -r -a words <<<"$settings"
    for system in "${systems[@]}"; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n || true; done
        one "$system" "$set" "${words[@]}" &
    done
done < <(grep -vE '^\s*(#|$)' "$here/sets.txt")
wait
