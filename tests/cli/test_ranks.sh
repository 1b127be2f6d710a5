#!/usr/bin/env bash
# mpiexec -n R antler train: the same bytes for any number of ranks, resumes with another one, stops, killed ranks.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
[ -z "${SANITIZE:-}" ] || export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # those of MPI

command -v mpiexec.mpich >/dev/null || { echo "skipped: needs mpich, which scripts/setup.sh test installs"; exit 77; }
launchers=(mpiexec.mpich)
if command -v mpiexec.openmpi >/dev/null; then launchers+=(mpiexec.openmpi); fi
if [ -n "${ANTLER_TEST_MPIEXEC:-}" ]; then launchers+=("$ANTLER_TEST_MPIEXEC"); fi # another one, by its path

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 24
sequence_length: 2400
batch_size: 1
updates: 24
log_interval: 6
checkpoint_interval: 8
segments: 8
gtf_alpha: 0.15
threads: 1
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 4000 --noise 0.05 --out train.npy
without_times() { cut -d, -f1-11,13- "$1"; }

# same_run A B: two runs have the same models and rows
same_run() {
    cmp "$1/model.npz" "$2/model.npz" || die "$1 and $2 have other models"
    cmp <(without_times "$1/log.csv") <(without_times "$2/log.csv") || die "$1 and $2 have other rows"
    [ ! -e "$1/best.npz" ] || cmp "$1/best.npz" "$2/best.npz" || die "$1 and $2 have other best models"
}

# same_for NAME RANKS... -- SETTING...: one process and so many ranks give the same bytes; launchers take turns
turn=0
same_for() {
    local name=$1 ranks=() launcher number r
    shift
    while [ "$1" != -- ]; do ranks+=("$1"); shift; done
    shift
    expect_ok "$ANTLER" train run.yaml --set name="$name" --quiet "$@"
    for r in "${ranks[@]}"; do
        launcher=${launchers[turn % ${#launchers[@]}]} turn=$((turn + 1))
        expect_ok "$launcher" -n "$r" "$ANTLER" train run.yaml --set name="$name-$r" "$@"
        for number in Results/e/"$name"/*/; do same_run "$number" "Results/e/$name-$r/$(basename "$number")"; done
    done
}

# ---- One binary.
for binary in "$ANTLER" "$BUILD/libantler.so"; do
    [ ! -e "$binary" ] || ! ldd "$binary" | grep -i mpi || die "$binary is linked with MPI"
done
# Without a launcher, and where it has started one process, MPI is not opened.
ANTLER_MPI=/nothing/libmpi.so expect_ok "$ANTLER" train run.yaml --set updates=2 --set name=alone --quiet
ANTLER_MPI=/nothing/libmpi.so expect_ok mpiexec.mpich -n 1 "$ANTLER" train run.yaml --set updates=2 --set name=one --quiet
same_run Results/e/alone/001 Results/e/one/001
# A library that is not there: one sentence, for all ranks.
# shellcheck disable=SC2030,SC2031
run env ANTLER_MPI=/nothing/libmpi.so mpiexec.mpich -n 3 "$ANTLER" train run.yaml --set name=no
[ "$code" = 3 ] || die "without a library it ended with $code: $err"
[ "$(grep -c '^antler: ' <<<"$err")" = 1 ] || die "not one sentence: $err"
contains "$err" "no MPI library opens: /nothing/libmpi.so"
contains "$err" "ANTLER_MPI"
[ ! -e Results/e/no ] || die "a training that did not begin has left a folder"
run env ANTLER_MPI=libm.so.6 mpiexec.mpich -n 2 "$ANTLER" train run.yaml --set name=no
[ "$code" = 3 ] || die "with another library it ended with $code: $err"
contains "$err" "libm.so.6 has no MPI_Init_thread"
# ANTLER_MPI=none: a process by itself.
run env ANTLER_MPI=none mpiexec.mpich -n 1 "$ANTLER" train run.yaml --set updates=2 --set name=none --quiet
[ "$code" = 0 ] || die "alone it ended with $code: $err"
# Another launcher's library, and another instruction set on one rank.
if [ ${#launchers[@]} -gt 1 ]; then
    run env ANTLER_MPI=libmpich.so.12 mpiexec.openmpi -n 2 "$ANTLER" train run.yaml --set name=no
    [ "$code" = 3 ] || die "with the library of another launcher it ended with $code: $err"
    contains "$err" "it belongs to another launcher"
fi
if [[ $("$ANTLER" --version) != *"base instructions"* ]]; then
    run mpiexec.mpich -n 1 env ANTLER_CPU=base "$ANTLER" train run.yaml --set name=no : \
        -n 2 "$ANTLER" train run.yaml --set name=no
    [ "$code" = 2 ] || die "with two instruction sets it ended with $code: $err"
    [ "$(grep -c '^antler: ' <<<"$err")" = 1 ] || die "not one sentence: $err"
    contains "$err" "rank 1 on $(hostname) and rank 0"
fi
run mpiexec.mpich -n 1 "$ANTLER" train run.yaml --set name=no : \
    -n 1 "$ANTLER" train run.yaml --set name=no --set gtf_alpha=0.2
[ "$code" = 2 ] || die "with two settings it ended with $code: $err"
contains "$err" "rank 1 has other data or settings than rank 0"
# Mistakes are reported once.
run mpiexec.mpich -n 3 "$ANTLER" train run.yaml --set nothing=1
[ "$(grep -c '^antler: ' <<<"$err")" = 1 ] || die "not one sentence: $err"
[ "$code" = 2 ] || die "a wrong setting ended with $code"
run mpiexec.mpich -n 3 "$ANTLER" train run.yaml --set results=train.npy/x
[ "$(grep -c '^antler: ' <<<"$err")" = 1 ] || die "not one sentence: $err"
[ "$code" != 0 ] || die "a folder below a file ended well"

# ---- The same bytes: a long sequence, the same with plain loops beside it, a batch, runs, more ranks than slots.
all() { [ -n "${SANITIZE:-}" ] || echo "$@"; } # instrumented processes begin slowly; one number of ranks is enough there
# shellcheck disable=SC2046
same_for long 3 $(all 1 2 8) -- --set segments=8
same_for double 3 -- --set segments=5 --set precision=double --set check_interval=6
same_for memory 5 -- --set segments=6 --set latent_dim=10 --set hidden_dim=60 --set gtf_alpha=0.002 --set warmup=300 --set kappa=0.9995
# shellcheck disable=SC2046
same_for batch 3 $(all 6) -- --set updates=12 --set batch_size=16 --set sequence_length=120 --set segments=1
# shellcheck disable=SC2046
same_for runs 3 $(all 6) -- --set runs=5 --set updates=6 --set batch_size=4 --set sequence_length=100 --set segments=1
same_for two 3 -- --set runs=2 --set updates=6
same_for held 3 -- --set validation=0.2 --set sequence_length=1600 --set segments=6
if [ -z "${SANITIZE:-}" ]; then # a slot for each of many segments, so that more than 16 ranks have work
    expect_ok "$ANTLER" simulate lorenz63 --length 6500 --noise 0.05 --out longer.npy
    same_for wide 20 -- --set data=longer.npy --set sequence_length=6400 --set segments=24 --set updates=4
fi
grep -q '^segments: 8$' Results/e/long-3/001/config.yaml || die "the segments are not in config.yaml"
"$ANTLER" convert train.npy train.csv --quiet || die "convert"
awk -F, 'NR > 1 { for (i = 0; i < 70; i++) printf "%s%.9g", i ? "," : "", $(1 + i % 3) * (1 + i % 7) + 0.1 * $(1 + i % 2); print "" }' train.csv >many.csv
same_for many 3 -- --set data=many.csv --set updates=4 --set sequence_length=600 --set segments=3
grep -v '^segments:' run.yaml >linear.yaml
expect_ok "$ANTLER" train linear.yaml --set model=lssm --set sequence_length=100 --set name=linear --quiet
expect_ok mpiexec.mpich -n 3 "$ANTLER" train linear.yaml --set model=lssm --set sequence_length=100 --set name=linear-3 --quiet
same_run Results/e/linear/001 Results/e/linear-3/001

# The standard ABI, by a library that turns its calls into those of MPICH.
standard=$(find "$BUILD/tests" -name 'libfake_mpi_abi.so' | head -n 1)
[ -n "$standard" ] || die "there is no library with the standard ABI in $BUILD/tests"
ANTLER_MPI=$standard expect_ok mpiexec.mpich -n 3 "$ANTLER" train run.yaml --set name=standard --quiet
same_run Results/e/long/001 Results/e/standard/001

# ---- A resume with another number of ranks and threads.
expect_ok mpiexec.mpich -n 3 "$ANTLER" train run.yaml --set name=resumed --set runs=2 --set updates=24 --quiet
expect_ok "$ANTLER" train run.yaml --set name=whole --set runs=2 --set updates=24 --quiet
for number in 001 002; do
    rm Results/e/resumed/$number/checkpoints/update-*24.npz
    rm Results/e/resumed/$number/model.npz
done
sed 's/^threads: 1/threads: 2/' run.yaml >other.yaml
expect_ok mpiexec.mpich -n 2 "$ANTLER" train other.yaml --set name=whole --set runs=2 --resume Results/e/resumed --quiet
for number in 001 002; do same_run Results/e/whole/$number Results/e/resumed/$number; done

# ---- Stops and kills of a training that would take long.
expect_ok "$ANTLER" train run.yaml --set name=end --set updates=1000 --set checkpoint_interval=40 --quiet
begin() { # NAME
    rm -rf "Results/e/$1"
    mpiexec.mpich -n 3 "$ANTLER" train run.yaml --set name="$1" --set updates=1000 --set checkpoint_interval=40 >.out 2>.err &
    job=$!
    for ((i = 0; i < 3000; i++)); do
        [ -z "$(ls "Results/e/$1/001/checkpoints" 2>/dev/null)" ] || return 0
        sleep 0.02
    done
    die "the training of $1 does not begin: $(<.err)"
}
process_of() { # RANK NAME: the process of the training NAME that has this rank; its witness has no standard output
    local folder words
    for folder in /proc/[0-9]*; do
        mapfile -d '' -t words <"$folder/cmdline" || continue
        [[ "${words[*]}" == "$ANTLER train run.yaml --set name=$2 "* ]] || continue
        mapfile -d '' -t words <"$folder/environ" || continue
        [[ " ${words[*]} " == *" PMI_RANK=$1 "* && -e $folder/fd/1 ]] && echo "${folder#/proc/}"
    done 2>/dev/null
}
begin stop
kill -TERM "$job"
wait "$job"
code=$? out=$(<.out) err=$(<.err) checks=$((checks + 1))
if [ ! -e Results/e/stop/001/model.npz ] || [[ $out != *"1000 updates done"* ]]; then
    [ "$code" = 0 ] || die "a stop ended with $code: $err"
    contains "$out" "antler train --resume Results/e/stop/001"
    expect_ok mpiexec.mpich -n 2 "$ANTLER" train --resume Results/e/stop/001 --quiet
fi
same_run Results/e/end/001 Results/e/stop/001

# Rank 0 alone cannot write: one sentence, its exit code, and the command that continues.
begin broken
mv Results/e/broken/001/checkpoints aside && : >Results/e/broken/001/checkpoints
wait "$job"
code=$? err=$(<.err) checks=$((checks + 1))
[ "$code" = 2 ] || [ "$code" = 3 ] || die "without a folder for checkpoints it ended with $code: $err"
[ "$(grep -c '^antler: ' <<<"$err")" = 1 ] || die "not one sentence: $err"
contains "$err" "Results/e/broken/001/checkpoints"
contains "$err" "antler train --resume Results/e/broken/001"
rm Results/e/broken/001/checkpoints && mv aside Results/e/broken/001/checkpoints
expect_ok "$ANTLER" train --resume Results/e/broken/001 --quiet
same_run Results/e/end/001 Results/e/broken/001

for rank in 2 $(all 0); do
    begin "kill$rank"
    victims=$(process_of "$rank" "kill$rank")
    [ -n "$victims" ] || die "rank $rank is not there"
    kill -9 "$(head -n 1 <<<"$victims")"
    wait "$job"
    code=$? err=$(<.err) checks=$((checks + 1))
    [ "$code" != 0 ] || die "a killed rank ended well"
    [ "$(grep -c '^antler: ' <<<"$err")" = 1 ] || die "not one sentence: $err"
    contains "$err" "a rank has died, and all have ended"
    contains "$err" "antler train --resume Results/e/kill$rank/001"
    for other in 0 1 2; do [ -z "$(process_of $other "kill$rank")" ] || die "rank $other is left"; done
    expect_ok mpiexec.mpich -n 2 "$ANTLER" train --resume "Results/e/kill$rank/001" --quiet
    same_run Results/e/end/001 "Results/e/kill$rank/001"
done
finish
