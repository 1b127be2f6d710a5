# shellcheck shell=bash disable=SC2154
# data.sh - sourced by run.sh and hand.sh: the data sets, and how a model of each is judged on its test orbit.
# Needs: here (this folder), antler (the command), and the folder of the results as current folder.

# simulate NAME SYSTEM [OPTION...]: training data with these options, and a clean test orbit from another start; both
# have ROWS rows where that is given
simulate() {
    local name=$1 system=$2 length=()
    shift 2
    [ -z "${ROWS:-}" ] || length=(--length "$ROWS")
    [ -e "data/${name}_train.npy" ] ||
        "$antler" simulate "$system" --seed 1 --out "data/${name}_train.npy" --quiet "${length[@]}" "$@"
    [ -e "data/${name}_test.npy" ] ||
        "$antler" simulate "$system" --seed 2001 --out "data/${name}_test.npy" --quiet "${length[@]}"
}

# prepare NAME: the files of a data set; ecg needs ECG=FOLDER_WITH_ecg_5d_train.npy_AND_ecg_5d_test.npy
prepare() {
    mkdir -p data
    case $1 in
        lorenz63 | lorenz63_x) simulate lorenz63 lorenz63 ;;
        lorenz63_noise) simulate lorenz63_noise lorenz63 --noise 0.05 ;;
        mixed63 | mixed96) [ -e "data/$1_test.npy" ] || "${PYTHON:-python3}" "$here/mix.py" "$antler" "$1" data ;;
        ecg)
            [ -e data/ecg_train.npy ] || cp "${ECG:?folder of the ECG files}/ecg_5d_train.npy" data/ecg_train.npy
            [ -e data/ecg_test.npy ] || cp "$ECG/ecg_5d_test.npy" data/ecg_test.npy
            ;;
        *)
            if grep -q "^def $1(draw)" "$here/series.py"; then
                [ -e "data/$1_test.npy" ] || "${PYTHON:-python3}" "$here/series.py" "$1" data
            else
                simulate "$1" "$1" # any system of antler simulate
            fi
            ;;
    esac
}

# judge NAME MODEL_OR_FOLDER: JSON of the measures on the test data, the same for fits and for settings made by hand
judge() {
    local data=$1 options=(--samples "${SAMPLES:-50000}")
    case $1 in
        lorenz63_x) data=lorenz63 options+=(--columns 1 --embed '3,10' --only-embedded) ;;
        neuron) options+=(--embed '3,40' --only-embedded) ;;
        mackey_glass | torus | ar2 | season | langevin) options+=(--embed '3,8' --only-embedded) ;;
        logistic | henon_x | tent | cubic | gauss) options+=(--embed '2,1' --only-embedded) ;;
        ricker) options+=(--embed '2,1' --only-embedded --match-noise) ;;
        vanderpol | brusselator) options+=(--match-noise) ;; # its test orbit has noise, too
        ecg) options=(--dstsp bins) ;;
    esac
    "$antler" evaluate "$2" --data "data/${data}_test.npy" "${options[@]}" --threads "$threads" --device "$device" \
        --no-lyapunov --no-files --json --quiet || true # 1: diverged
}
