#!/usr/bin/env bash
# scripts/test_gpu.sh with stand-ins for everything that it runs: tests that pass, fail, die, hang, are skipped or want to be
# alone, a program that does not start, a sanitizer that finds something.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
[ -z "${SANITIZE:-}" ] || exit 77 # nothing of it is compiled

mkdir -p bin cli golden/a tools
cp "$SOURCE/scripts/test_gpu.sh" run.sh
# gone PROCESS: it has ended, or does so within half a minute
gone() {
    local state
    for _ in $(seq 600); do
        state=$(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null)
        [[ $state != "" && $state != Z* ]] || return 0
        sleep 0.05
    done
    return 1
}
put() { { echo '#!/usr/bin/env bash'; cat; } >"$1"; chmod +x "$1"; }

put bin/gpu_test_good <<'END'
if [ "$1" = --list ]; then
    printf 'first\nsecond\n'
    [ -n "${ANT_SANITIZER:-}" ] || echo "third alone"
    exit
fi
touch "$HERE/running-$1"
[ "$1" != third ] || [ "$(ls "$HERE"/running-*)" = "$HERE/running-third" ] || { echo "third is not alone"; exit 1; }
while [ "$1" = first ] && ! grep -q "good second" "$HERE/.out"; do sleep 0.02; done # the second overtakes it
echo "$1 at work"
rm "$HERE/running-$1"
echo "1 passed, 0 failed"
END
put bin/gpu_test_bad <<'END'
[ "$1" != --list ] || { printf 'wrong\ndying\nhanging\n'; exit; }
case $1 in
wrong) echo "  a.c:1: 1 is not 2"; echo "0 passed, 1 failed"; exit 1 ;;
dying) echo "last words"; kill -SEGV $$ ;;
hanging) sleep 600 & echo $! >"$HERE/child"; wait ;;
esac
END
put bin/gpu_test_nowhere <<'END'
[ "$1" != --list ] || { echo elsewhere; exit; }
echo "skipped: there is no GPU"
exit 77
END
put bin/golden <<'END'
echo "a TOO LARGE"
echo "golden: 3 passed, 1 failed, 2 skipped"
exit 1
END
put bin/antler <<'END'
case $1 in
info) echo "a GPU" ;;
train)
    [[ $* =~ name=([a-z]+) ]] && name=${BASH_REMATCH[1]}
    for run in 001 002; do mkdir -p "Results/experiment/$name/$run/checkpoints"; done
    if [[ $name = stopped && $* != *Results/experiment* ]]; then
        trap 'echo "go on with --resume"; exit 0' TERM
        touch Results/experiment/stopped/001/checkpoints/update-0000005000.npz
        while sleep 0.02; do :; done
    fi
    for run in 001 002; do echo "model $run" >"Results/experiment/$name/$run/model.npz"; done
    [ "$name" != "${ODD:-}" ] || echo "another" >"Results/experiment/$name/002/model.npz" ;;
esac
END
put cli/test_free_runs.sh <<'END'
[ "$GPU" = real ] && [ -x "$ANTLER" ]
END
put tools/compute-sanitizer <<'END'
tool=$2
while [[ ${1##*/} != gpu_test_* ]]; do shift; done
"$@" || exit $?
echo "========= ERROR SUMMARY: 0 errors"
[ "$tool $2" != "racecheck second" ] || { echo "a race"; exit 9; }
END
export HERE=$folder PATH=$folder/tools:$PATH LIMIT=60 JOBS=3

run bash run.sh --no-sanitizer good golden interrupt shared_gpu free_runs nowhere
[ "$code" = 1 ] || die "one golden vector is too large, and the script ended with $code"
[[ $out == *"
9 passed, 1 failed" ]] || die "$out"
contains "$out" "skipped  nowhere elsewhere"
contains "$out" "a TOO LARGE"
[[ $out == *"ok       good second"*"ok       good first"* ]] || die "the second did not overtake the first: $out"
[[ $out == *"== good first
first at work"*"== good second
second at work"*"== good third"* ]] || die "the output is not in order: $out"
[[ $out != *"ERROR SUMMARY"* ]] || die "a sanitizer ran: $out"

for name in stopped three; do # a training that was resumed, one of those side by side
    ODD=$name run bash run.sh --no-sanitizer interrupt shared_gpu
    [ "$code" = 1 ] && [[ $out == *"
1 passed, 1 failed" ]] || die "$name: $code: $out"
    contains "$out" "differ"
done

expect_ok bash run.sh --no-sanitizer second
[[ $out == *"
1 passed, 0 failed" ]] || die "$out"
run bash run.sh sceond
[ "$code" = 2 ] && [[ $err == *"no test or program is called sceond; they are:"*"second"* ]] || die "$code: $err"

run bash run.sh --no-sanitizer wrong dying good
[ "$code" = 1 ] && [[ $out == *"
3 passed, 2 failed" ]] || die "$code: $out"
contains "$out" "a.c:1: 1 is not 2"
contains "$out" "last words"

LIMIT=4 run bash run.sh --no-sanitizer hanging # alone: nothing else has to be done within the limit
[ "$code" = 1 ] && [[ $out == *"
0 passed, 1 failed" ]] || die "$code: $out"
contains "$out" "no end   bad hanging"
contains "$out" "stopped: no end after 4 s"
gone "$(<child)" || die "a child of a test that hung is still there"

run bash run.sh good
[ "$code" = 1 ] && [[ $out == *"
9 passed, 1 failed" ]] || die "$code: $out" # 3 + 2 by three tools; the race is one more
contains "$out" "a race"
contains "$out" "== racecheck good second: exit 9"
[[ $out == *"== synccheck good first: exit 0 after "*" s; ========= ERROR SUMMARY: 0 errors"* ]] || die "$out"
[[ $out != *"memcheck good third"* ]] || die "a test that is not for sanitizers ran under one"

put bin/gpu_test_unborn <<'END'
echo "cannot open libsomething.so"
exit 127
END
run bash run.sh --no-sanitizer unborn second
[ "$code" = 1 ] && [[ $out == *"cannot open libsomething.so"*"
1 passed, 1 failed" ]] || die "$code: $out"

# Told to end, the script takes its tests with it, also one that began a moment ago: slow.sh lets the shell that began it pause
# before it knows its number.
cat >slow.sh <<'END'
[[ $0 != run.sh ]] || { set -T; trap '[[ $BASH_COMMAND != *\$!* ]] || sleep 1' DEBUG; }
END
for pause in /dev/null slow.sh; do
    rm child
    LIMIT=600 BASH_ENV=$pause bash run.sh --no-sanitizer hanging >/dev/null 2>&1 &
    script=$!
    while [ ! -s child ]; do sleep 0.02; done
    kill -TERM $script
    wait $script
    gone "$(<child)" || die "a test outlives the script ($pause)"
done
finish
