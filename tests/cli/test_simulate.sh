#!/usr/bin/env bash
# antler simulate: files, seeds, pairs, faults.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

expect_ok "$ANTLER" simulate --list
for system in lorenz63 lorenz96 neuron roessler burke_shaw chen chua dadras halvorsen hyperroessler lorenz84 rucklidge \
    sprott_b thomas; do contains "$out" "$system - "; done
expect_ok "$ANTLER" simulate --list neuron
contains "$out" "hidden by default"
contains "$out" "lyapunov    0 per unit of time"
expect_ok "$ANTLER" simulate --list lorenz63
contains "$out" "lyapunov    0.906 per unit of time"

# Same seed, same bytes, in every format; another seed, another orbit.
for ending in npy npz csv; do
    expect_ok "$ANTLER" simulate lorenz63 --length 500 --noise 0.05 --seed 3 --out "a.$ending"
    contains "$out" "500 x 3"
    expect_ok "$ANTLER" simulate lorenz63 --length 500 --noise 0.05 --seed 3 --out "b.$ending"
    expect_ok "$ANTLER" simulate lorenz63 --length 500 --noise 0.05 --seed 4 --out "c.$ending"
    cmp -s "a.$ending" "b.$ending" || die "the same seed gave other bytes in .$ending"
    cmp -s "a.$ending" "c.$ending" && die "another seed gave the same bytes in .$ending"
done

# The formats hold the same numbers.
expect_ok "$ANTLER" measure --true a.npy --generated a.csv --dstsp bins --json
contains "$out" '"value": 0.0'

# The pair: a noisy orbit to train on, a clean one from another start to test with, both standardised.
expect_ok "$ANTLER" simulate lorenz96 --pair --length 2000 --out pair.npz
contains "$out" "pair_train.npz: lorenz96, 2000 x 6, dt 0.005, noise 5 %, standardised, seed 1"
contains "$out" "pair_test.npz: lorenz96, 2000 x 6, dt 0.005, standardised, seed 9223372036854775809"
expect_ok "$ANTLER" info pair_train.npz pair_test.npz
contains "$out" "dt 0.005"
contains "$out" "user units"
cmp -s pair_train.npz pair_test.npz && die "train and test are the same"

expect_ok "$ANTLER" simulate neuron --length 100 --all-variables --standardise off --out all.npz
contains "$out" "100 x 3"
expect_ok "$ANTLER" simulate lorenz63 --length 1 --initial 1,2,3 --transient 0 --standardise off --out one.csv
contains "$(tail -n 1 one.csv)" "1,2,3"
expect_ok "$ANTLER" simulate lorenz63 --length 10 --quiet --out quiet.npy
[ -z "$out$err" ] || die "--quiet is not quiet: $out$err"

expect_fault 2 "did you mean 'lorenz63'" "$ANTLER" simulate lorens63 --out x.npy
expect_fault 2 "needs --out FILE" "$ANTLER" simulate lorenz63
expect_fault 2 "needs the name of a system" "$ANTLER" simulate
expect_fault 2 "rho" "$ANTLER" simulate lorenz63 --param roh=3 --out x.npy
expect_fault 2 "NAME=VALUE" "$ANTLER" simulate lorenz63 --param rho --out x.npy
expect_fault 2 "needs 3 numbers" "$ANTLER" simulate lorenz63 --initial 1,2 --out x.npy
expect_fault 2 "needs 3 numbers" "$ANTLER" simulate lorenz63 --initial 1,2,3,4 --out x.npy
expect_fault 2 "'b' is not a number" "$ANTLER" simulate lorenz63 --initial 1,b,3 --out x.npy
expect_fault 2 "dt" "$ANTLER" simulate lorenz63 --dt 0 --out x.npy
expect_fault 2 "length" "$ANTLER" simulate lorenz63 --length 0 --out x.npy
expect_fault 2 "folder does not exist" "$ANTLER" simulate lorenz63 --length 10 --out none/x.npy
expect_fault 2 "x.xyz" "$ANTLER" simulate lorenz63 --length 10 --out x.xyz
expect_fault 1 "time" "$ANTLER" simulate lorenz63 --length 1000 --transient 0 --initial 1,1,1 --param beta=-50 --out x.npy
[ ! -e x.npy ] || die "a failed simulation left a file"

# A full disk leaves the old file whole and nothing beside it.
cp a.npy kept.npy
(ulimit -f 4; exec "$ANTLER" simulate lorenz63 --length 5000 --quiet --out kept.npy) >.out 2>.err
code=$?
[ "$code" = 3 ] || die "a full disk gave exit code $code: $(<.err)"
contains "$(<.err)" "kept.npy: cannot be written"
cmp -s a.npy kept.npy || die "a full disk damaged the old file"
[ -z "$(find . -name '.kept*')" ] || die "a full disk left a temporary file"

# Ctrl-C: no file, no temporary file, exit code 130.  The signal reaches a child that does not ignore it.
cat >interrupt.py <<'PY'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen([sys.argv[1], "simulate", "lorenz63", "--length", "1e8", "--out", "long.npy"], stderr=subprocess.PIPE)
time.sleep(1.0)
p.send_signal(signal.SIGINT)
err = p.communicate(timeout=60)[1]
print(p.returncode, err.decode().strip())
PY
if command -v python3 >/dev/null; then
    expect_ok python3 interrupt.py "$ANTLER"
    contains "$out" "130 antler:"
    [ -z "$(find . -name '*long*')" ] || die "Ctrl-C left a file"
fi
finish
