# shellcheck shell=bash disable=SC2034 # what `run` leaves is read by who sources this
# Sourced by the command line tests: a temporary folder, and checks that say what they saw.
set -uo pipefail
: "${ANTLER:?path of the command}" "${SOURCE:?root of the sources}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
checks=0

die() { echo "FAILED: $*" >&2; exit 1; }

# run COMMAND...: standard output in $out, standard error in $err, exit code in $code
run() {
    checks=$((checks + 1))
    "$@" >"$folder/.out" 2>"$folder/.err"
    code=$?
    out=$(<"$folder/.out") err=$(<"$folder/.err")
}

# expect_ok COMMAND...
expect_ok() { run "$@"; [ "$code" = 0 ] || die "'$*' ended with $code: $err"; }

# expect_fault CODE FRAGMENT COMMAND...: that exit code and exactly one line "antler: ...FRAGMENT..." on stderr
expect_fault() {
    local want=$1 fragment=$2
    shift 2
    run "$@"
    [ "$code" = "$want" ] || die "'$*' ended with $code instead of $want: $err"
    [ "$(wc -l <"$folder/.err")" = 1 ] || die "'$*' wrote more or less than one line: $err"
    [[ $err == "antler: "*"$fragment"* ]] || die "'$*' said '$err', without '$fragment'"
}

# From here on $ANTLER is a copy without the programs antler-NAME that lie beside the one of the build.
without_extensions() {
    mkdir "$folder/alone"
    cp -L "$ANTLER" "$BUILD/libantler.so.0" "$folder/alone/"
    ANTLER=$folder/alone/antler
    PATH=/usr/bin:/bin
}

contains() { [[ $1 == *"$2"* ]] || die "'$2' is missing in: $1"; }
finish() { echo "$checks commands checked"; }
