#!/usr/bin/env bash
# Models of every kind, with and without inputs, run free on a GPU as they do on the CPU.  With GPU=real it is the machine's
# (scripts/test_gpu.sh), else the emulated one, whose kernels have the sizes below (tests/fake/kernels.cmake).
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

if [ "${GPU:-}" != real ]; then
    export ANTLER_CUDA_DRIVER=$BUILD/tests/libfake_cuda.so ANTLER_NVRTC=$BUILD/tests/libfake_nvrtc.so ANTLER_CACHE=/proc/nothing
    [ -e "$ANTLER_CUDA_DRIVER" ] || { echo "skipped: there is no emulated GPU"; exit 77; }
fi

# same WHAT A B: the same words, and numbers that differ by rounding only; seconds are not compared.
same() {
    local shown
    shown=$(paste <(grep -v seconds "$2" | tr -s ' ,:' '\n') <(grep -v seconds "$3" | tr -s ' ,:' '\n') |
        awk -F '\t' '{ numbers += $1 ~ /^-?[0-9.]+(e[-+]?[0-9]+)?$/; d = $1 - $2; d = d < 0 ? -d : d; s = $1 < 0 ? -$1 : $1 }
            ($1 ~ /[0-9]/ ? !(d <= 1e-7 * (1 + s)) : $1 != $2) { print $1 " and " $2 }
            END { if (numbers < 8) print "only " numbers + 0 " numbers" }')
    [ -z "$shown" ] || die "$1: the CPU and the GPU differ: $(head -n 5 <<<"$shown")"
}

# on_both WHAT FILE ARGUMENTS...: FILE (- for standard output) of the command on both machines is the same.
on_both() {
    local what=$1 file=$2 device
    shift 2
    for device in cpu cuda; do
        expect_ok "$ANTLER" "$@" --device $device
        if [ "$file" = - ]; then echo "$out" >$device.txt; else mv "$file" $device.txt; fi
    done
    same "$what" cpu.txt cuda.txt
}

{
    echo "a,b,c,d,e"
    for i in $(seq 400); do echo "$((i % 17)).5,$((i * i % 29)),$((i * 7 % 23)).25,$((i % 2)),$((i % 5))"; done
} >driven.csv
settings='{data: driven.csv, experiment: e, sequence_length: 60, batch_size: 2, warmup: 10, updates: 20, device: cpu,
    start_lr: 1e-3, gtf_alpha: 0.15, validation: 0}'

# check MODEL M L COLUMNS INPUTS EXPONENTS
check() {
    local name=$1-$5 run columns=(--data driven.csv --columns "$4") set=(--set model="$1" --set latent_dim="$2" --set hidden_dim="$3" --set columns="$4")
    [ "$5" = none ] || { columns+=(--inputs "$5" --inputs-end repeat); set+=(--set inputs="$5"); }
    echo "$settings" >run.yaml
    [ "$1" = mamba2 ] || set+=(--set kappa=0.5) # which does not begin near 0
    [ "$1" != shplrnn ] || set+=(--set clipped=true)
    expect_ok "$ANTLER" train run.yaml "${set[@]}" --set name="$name" --quiet
    run=Results/e/$name/001
    for device in cpu cuda; do
        expect_ok "$ANTLER" generate "$run" "${columns[@]}" --warmup 6 --steps 12 --orbits 3 --out orbits.npz --device $device
        expect_ok "$ANTLER" info orbits.npz --json
        echo "$out" >$device.txt
    done
    same "orbits of $name" cpu.txt cuda.txt
    on_both "orbit of $name" orbit.csv generate "$run" "${columns[@]}" --warmup 6 --steps 12 --out orbit.csv
    on_both "states of $name" z.csv generate "$run" "${columns[@]}" --warmup 6 --steps 5 --out orbit.csv --latent z.csv
    on_both "evaluation of $name" - evaluate "$run" "${columns[@]}" --warmup 6 --steps 30 --dstsp bins --bins 4 --smoothing 1 --n 8 --windows 3 --no-lyapunov --no-files --json
    on_both "exponents of $name" - lyapunov "$run" "${columns[@]}" --warmup 6 --transient 3 --steps 6 --exponents "$6" --json
}

check shplrnn 3 8 a,b d 3
check lssm 3 7 a,b none 3
check lssm 3 7 a,b d,e 3
check mamba2 4 9 a none 7
check mamba2 12 37 a,b,c d,e 3
finish
