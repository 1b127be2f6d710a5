#!/usr/bin/env bash
# threads.sh [FOLDER] - one long sequence on 1, 2, 4 .. threads, and ten models on two threads.  Models and data are
# made once in FOLDER (build/bench/threads) and then kept.
#   ANTLER=build/antler   the command that is measured
#   OLD=                  an older one, measured in turn with it on the same models
#   THREADS="1 2 4 8 16"  SECONDS_EACH=1  LENGTH=32768
# Times are medians of forward + backward in float.  states and gradient: the largest relative difference from plain
# steps in double, solved in double with the same number of threads.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/bench/threads}
antler=$(realpath "${ANTLER:-build/antler}")
old=${OLD:+$(realpath "$OLD")}
threads=${THREADS:-1 2 4 8 16}
seconds=${SECONDS_EACH:-1}
length=${LENGTH:-32768}
mkdir -p "$folder"
cd "$folder"

# name system noise alpha warmup settings...: a model that was trained on short windows, and its data
make_model() {
    local name=$1 system=$2 noise=$3 setting arguments=()
    shift 5
    [ -f "$name.npz" ] && return
    "$antler" simulate "$system" --length $((length + 1000)) --noise "$noise" --quiet --out "$name.npy"
    for setting in "$@"; do
        arguments+=(--set "$setting")
    done
    "$antler" train "$name.npy" --set experiment=threads --set "name=$name" --set threads=1 --set validation=0 \
        --set standardise=false --set device=cpu "${arguments[@]}" >"$name.log" 2>&1
    cp "Results/threads/$name/001/model.npz" "$name.npz"
}

# command name alpha warmup threads options...: the JSON of one measurement
measure() {
    local command=$1 name=$2 alpha=$3 warmup=$4 count=$5
    shift 5
    "$command" bench solve --model "$name.npz" --data "$name.npy" --alpha "$alpha" --warmup "$warmup" \
        --length "$length" --threads "$count" --solver auto --json "$@"
}

# key: its first number in the JSON on stdin
number() {
    tr -d '\n' | sed -n "s/.*\"$1\": *\([-+0-9.e]*\).*/\1/p"
}

# name alpha warmup threads: one row
row() {
    local new before='-' check
    new=$(measure "$antler" "$1" "$2" "$3" "$4" --seconds "$seconds" --no-check)
    if [ -n "$old" ]; then
        before=$(measure "$old" "$1" "$2" "$3" "$4" --seconds "$seconds" --no-check | number seconds_median)
    fi
    check=$(measure "$antler" "$1" "$2" "$3" "$4" --seconds 0.01 --precision double)
    echo "$1 $4 $(number seconds_median <<<"$new") $(number iterations <<<"$new") $before" \
        "$(number states_differ <<<"$check") $(number gradient_differs <<<"$check")"
}

memory="initialisation=memory start_lr=1e-3 updates=1000"
# M 64 in 1,000 updates with kappa 0.9995 is not finite over the whole length.
shapes="
m4_l50 lorenz63 0.05 0.15 0 latent_dim=4 hidden_dim=50 gtf_alpha=0.15 kappa=0.9 $memory
m10_l128 lorenz96 0.05 0.08 0.5 latent_dim=10 hidden_dim=128 gtf_alpha=0.08 kappa=0.9 $memory
m10_l128_slow lorenz96 0.05 0.08 0.5 latent_dim=10 hidden_dim=128 gtf_alpha=0.08 kappa=0.9995 $memory
m64_l50 lorenz63 0.05 0.15 0 latent_dim=64 hidden_dim=50 gtf_alpha=0.15 kappa=0.9 $memory"
ten="
a lorenz63 0.05 0.15 0 latent_dim=4 gtf_alpha=0.15 kappa=0.9 $memory
b lorenz63 0 0.1 0 latent_dim=4 gtf_alpha=0.1 updates=3000
c lorenz63 0.1 0.1 0 latent_dim=5 gtf_alpha=0.1 updates=300
d lorenz96 0.05 0.08 0 latent_dim=10 hidden_dim=128 gtf_alpha=0.08 kappa=0.9 $memory
e lorenz96 0 0.08 0.5 latent_dim=10 hidden_dim=128 gtf_alpha=0.08 kappa=0.9995 $memory
f lorenz96 0.05 0.08 0.5 latent_dim=10 hidden_dim=128 gtf_alpha=0.08 kappa=0.9995 $memory
g neuron 0.05 0.4 0.5 latent_dim=6 hidden_dim=128 gtf_alpha=0.4 sequence_length=512 warmup=256 kappa=0.9995 updates=300
h roessler 0.05 0.05 0 latent_dim=6 hidden_dim=60 gtf_alpha=0.05 updates=1000
i chua 0 0.02 0 latent_dim=8 hidden_dim=100 gtf_alpha=0.02 updates=1000
j halvorsen 0.05 0.1 0 latent_dim=5 hidden_dim=80 gtf_alpha=0.1 updates=2000"

echo "T = $length, $(nproc) cores, $("$antler" --version)"
[ -n "$old" ] && echo "before: $("$old" --version)"
printf '%-14s %7s %10s %7s %6s %10s %9s %9s\n' model threads ms 'x one' passes 'before ms' states gradient
while read -r name system noise alpha warmup settings; do
    [ -n "$name" ] || continue
    # shellcheck disable=SC2086 # a list of settings
    make_model "$name" "$system" "$noise" "$alpha" "$warmup" $settings
    for count in $threads; do
        row "$name" "$alpha" "$warmup" "$count"
    done
done <<<"$shapes" | awk '{
    if ($1 != name) { name = $1; one = $3 }
    printf "%-14s %7d %10.3f %7.2f %6d %10s %9.1e %9.1e\n", $1, $2, 1e3 * $3, one / $3, $4,
        $5 == "-" ? "-" : sprintf("%.3f", 1e3 * $5), $6, $7
    fflush()
}'

echo
echo "Ten models, two threads beside one:"
while read -r name system noise alpha warmup settings; do
    [ -n "$name" ] || continue
    # shellcheck disable=SC2086 # a list of settings
    make_model "$name" "$system" "$noise" "$alpha" "$warmup" $settings
    for which in new ${old:+before}; do
        command=$antler
        [ "$which" = new ] || command=$old
        one=$(measure "$command" "$name" "$alpha" "$warmup" 1 --seconds "$seconds" --no-check | number seconds_median)
        two=$(measure "$command" "$name" "$alpha" "$warmup" 2 --seconds "$seconds" --no-check | number seconds_median)
        echo "$which $system $one $two"
    done
done <<<"$ten" | awk '{
    ratio = $3 / $4
    printf "%-7s %-10s %8.3f ms %8.3f ms %6.2f\n", $1, $2, 1e3 * $3, 1e3 * $4, ratio
    fflush()
    place = ++count[$1]
    for (; place > 1 && all[$1, place - 1] > ratio; place--)
        all[$1, place] = all[$1, place - 1]
    all[$1, place] = ratio
}
END {
    for (which in count) {
        n = count[which]
        median = (all[which, int((n + 1) / 2)] + all[which, int(n / 2) + 1]) / 2
        printf "median of %d models, %s: %.2f\n", n, which, median
    }
}'
