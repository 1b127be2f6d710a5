#!/usr/bin/env bash
# Ctrl-C and SIGTERM at random moments: exit code 0, the resume line, and in the end the same bytes.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || { echo "python3 is needed to send signals; skipped"; exit 0; }

cat >run.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 16
sequence_length: 60
updates: 3000
log_interval: 50
checkpoint_interval: 400
runs: 2
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 2000 --noise 0.05 --out train.npy
begin=$(date +%s%N)
expect_ok "$ANTLER" train run.yaml --set name=whole --quiet
span=$((($(date +%s%N) - begin) / 1000000)) # milliseconds of a whole training

# interrupt.py SIGNAL MILLISECONDS COMMAND...: the child gets default signal handling, as in a terminal.
cat >interrupt.py <<'PY'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[3:], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
time.sleep(int(sys.argv[2]) / 1000)
p.send_signal(getattr(signal, sys.argv[1]))
out, err = p.communicate(timeout=120)
sys.stdout.write(out.decode())
sys.stderr.write(err.decode())
sys.exit(p.returncode)
PY
without_times() { cut -d, -f1-11,13- "$1"; }
stops=0
for round in 1 2 3; do
    command=(train run.yaml --set name=cut --overwrite)
    for attempt in $(seq 40); do
        signal=SIGINT; [ $((attempt % 2)) = 0 ] && signal=SIGTERM
        run python3 interrupt.py $signal $((RANDOM % (span / 2 + 50) + 20)) "$ANTLER" "${command[@]}"
        # A signal before the handlers stand ends the process; that is a kill like any other.
        [ "$code" = 0 ] || [ "$code" -ge 241 ] || [ "$code" -lt 0 ] || die "attempt $attempt ended with $code: $err"
        [[ $out == *"antler train --resume Results/e/cut"* ]] || { [ "$code" = 0 ] && break; }
        stops=$((stops + 1))
        [ ! -e Results/e/cut/001/config.yaml ] || command=(train --resume Results/e/cut)
    done
    for k in 001 002; do
        cmp "Results/e/whole/$k/model.npz" "Results/e/cut/$k/model.npz" || die "round $round, run $k: another model"
        cmp <(without_times "Results/e/whole/$k/log.csv") <(without_times "Results/e/cut/$k/log.csv") || die "round $round, run $k: another log"
    done
done
[ "$stops" -ge 1 ] || die "no training was ever stopped"

# Two signals: the second ends at once, and what was there stays whole.
cat >twice.py <<'PY'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
while p.poll() is None and not os.path.exists("Results/e/twice/001/config.yaml"):
    time.sleep(0.01)
time.sleep(0.3)
p.send_signal(signal.SIGINT)
p.send_signal(signal.SIGINT)
p.wait(timeout=60)
PY
run python3 twice.py "$ANTLER" train run.yaml --set name=twice --set runs=1 --set updates=100000000
run python3 interrupt.py SIGINT $((500 + span / 2)) "$ANTLER" train --resume Results/e/twice/001
[ "$code" = 0 ] || die "after two signals the run does not resume: $code $err"
contains "$out" "antler train --resume Results/e/twice/001"
finish
