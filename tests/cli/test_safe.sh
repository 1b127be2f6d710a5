#!/usr/bin/env bash
# Files, names and folders that come from somebody else: nothing in them is run, replaced, or obeyed by the terminal.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# ---- Python modules in the folder of results or in the current one are not imported
if [ -z "${SANITIZE:-}" ]; then
    mkdir results
    for module in numpy antler argparse site sitecustomize usercustomize json gzip; do
        printf 'open("%s/imported", "a").write(__name__)\n' "$folder" >"results/$module.py"
    done
    cp "$BUILD/antler-report" results/antler-report-copy # the folder of a script is on its path, too
    cd results || exit 1
    for path in "" : . "::/nowhere" "results:." /nowhere:; do
        expect_ok env PYTHONPATH="$path" "$ANTLER" report --help
        contains "$out" "RUN|SWEEP"
        run env PYTHONPATH="$path" "$ANTLER" report "$folder/results"
        [ "$code" = 2 ] || die "a report of no run ended with $code: $err"
        [ ! -e ../imported ] || die "PYTHONPATH='$path': imported from the current folder: $(<../imported)"
    done
    cd .. || exit 1
    # An absolute name in PYTHONPATH is the user's own.
    mkdir own
    printf 'open("%s/own/imported", "w")\n' "$folder" >own/sitecustomize.py
    expect_ok env PYTHONPATH="$folder/own" "$ANTLER" report --help
    [ -e own/imported ] || die "PYTHONPATH is ignored"
fi

# ---- programs in the current folder are not run, even where the PATH names it
printf '#!/bin/sh\necho planted\n' >antler-planted
chmod +x antler-planted
for path in ":$PATH" ".:$PATH" "$PATH:" "$PATH::/usr/bin"; do
    expect_fault 2 "there is no command 'planted'" env PATH="$path" "$ANTLER" planted
done

# ---- a FIFO, a device, a link given as --out
"$ANTLER" simulate lorenz63 --length 50 --quiet --out plain.csv || die "simulate"
mkfifo pipe.csv pipe.npz
cat pipe.csv >through.csv &
expect_ok timeout 60 "$ANTLER" simulate lorenz63 --length 50 --quiet --out pipe.csv
wait
cmp plain.csv through.csv || die "other bytes came through the FIFO"
expect_fault 2 "an archive needs a file" timeout 60 "$ANTLER" simulate lorenz63 --length 50 --quiet --out pipe.npz
[ -p pipe.csv ] && [ -p pipe.npz ] || die "a FIFO was replaced"
ln -s /dev/null null.npy
ln -s /dev/stdout stdout.csv
expect_ok "$ANTLER" simulate lorenz63 --length 50 --quiet --out null.npy
[ -L null.npy ] && [ -c null.npy ] || die "the device was replaced"
"$ANTLER" simulate lorenz63 --length 50 --quiet --out stdout.csv | cmp - plain.csv || die "other bytes on standard output"
[ "$(readlink stdout.csv)" = /dev/stdout ] || die "the link to standard output was replaced"
mkdir target
ln -s target/real.csv link.csv
for _ in new old; do # once the target is there, it is replaced as any file
    expect_ok "$ANTLER" simulate lorenz63 --length 50 --quiet --out link.csv
    [ -L link.csv ] && [ "$(readlink link.csv)" = target/real.csv ] || die "the link was replaced"
    cmp plain.csv target/real.csv || die "the target of the link was not written"
done
[ "$(find target -type f | wc -l)" = 2 ] && [ -s target/real.csv.json ] || die "something was left beside the target"

# ---- a file of a run is not written through a link
"$ANTLER" simulate lorenz63 --length 400 --quiet --out train.npy || die "simulate"
printf 'data: train.npy\nlatent_dim: 3\nhidden_dim: 5\nsequence_length: 20\nbatch_size: 2\nkappa: 0.9995\nstart_lr: 1e-3\nvalidation: 0\nupdates: 4\n' >run.yaml
expect_ok "$ANTLER" train run.yaml --quiet
model=Results/experiment/run/001
echo precious >precious
ln -sf "$folder/precious" $model/metrics.json
expect_ok "$ANTLER" evaluate $model --data train.npy --samples 50 --no-lyapunov
[ "$(<precious)" = precious ] || die "a file outside of the run was written through a link in it"

# ---- control characters of names and files do not reach the terminal, letters do
esc=$'\033[31m' csi=$'\302\233' raw=$'\233'
no_control() { # no_control TEXT: neither ESC, nor bell, nor C1, nor a lone byte
    LC_ALL=C grep -qP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' <<<"$1" && die "control characters in: $(cat -v <<<"$1")"
    iconv -f UTF-8 -t UTF-8 <<<"$1" >/dev/null 2>&1 || die "not UTF-8: $(cat -v <<<"$1")"
}
name="ä${esc}b${csi}c${raw}d"$'\a\r'".csv"
cp plain.csv "$name"
for command in "info" "info --check" "train" "measure --true plain.csv --generated" "nonsense" "generate $model --data plain.csv --steps 5 --out"; do
    # shellcheck disable=SC2086 # words
    run "$ANTLER" $command "$name"
    no_control "$out"
    no_control "$err"
done
run "$ANTLER" info "$name"
contains "$out" "ä?[31mb?c?d??.csv"
run "$ANTLER" info $'none\nantler: all is well.csv'
[ "$(wc -l <"$folder/.err")" = 1 ] || die "a name made two lines: $err"
run "$ANTLER" "${esc}x"
no_control "$err"
run "$ANTLER" train run.yaml --set "name=a${esc}"
no_control "$out$err"
run "$ANTLER" train run.yaml --set "results=r${esc}" --quiet
run "$ANTLER" evaluate "r${esc}/experiment/run/001" --data train.npy --samples 50 --no-lyapunov
[ "$code" = 0 ] || die "a run in a folder of that name is not evaluated: $err"
no_control "$out$err"
# A model with such a name of a variable, and the settings that it holds.
python3 - "$model/model.npz" evil.npz <<'PY' || die "python"
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as old, zipfile.ZipFile(sys.argv[2], "w") as new:
    for name in old.namelist():
        data = old.read(name)
        if name == "names.npy":
            data = data.replace("x1".encode("utf-32-le"), "\033\u009b".encode("utf-32-le"), 1).replace("x".encode("utf-32-le"), "\033".encode("utf-32-le"), 1)
        if name == "settings.npy":
            data = data.replace("run".encode("utf-32-le"), "\033un".encode("utf-32-le"))
        new.writestr(name, data)
PY
expect_ok "$ANTLER" info evil.npz
no_control "$out"
[[ $out == *"?"* ]] || die "the model's name is not shown: $out"
# JSON is exact: the reader gets the name as it is.
cp plain.csv "e${esc}${csi}"$'\177'"f.csv"
expect_ok "$ANTLER" info --json "e${esc}${csi}"$'\177'"f.csv"
python3 -c 'import json, sys; sys.exit(json.load(sys.stdin)["file"] != sys.argv[1])' "e${esc}${csi}"$'\177'"f.csv" <<<"$out" ||
    die "JSON has another name: $out"

# ---- the printed command is one command, whatever the names
cat >stop.py <<'PY'
import glob, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
p = subprocess.Popen(sys.argv[2:], stdout=subprocess.PIPE)
end = time.time() + 60
while p.poll() is None and not glob.glob(glob.escape(sys.argv[1]) + "/*/*/001/log.csv") and time.time() < end:
    time.sleep(0.02)
p.send_signal(signal.SIGINT)
sys.stdout.buffer.write(p.communicate(timeout=120)[0])
PY
# shellcheck disable=SC2016 # nothing is to be expanded
for results in plain "two words" "it's" '$(touch pwned)' '`touch pwned`' 'a;touch pwned' '-dash' "esc${esc}ä" 'back\slash' '~' '*' $'tab\tbed' 'a#b!'; do
    expect_ok python3 stop.py "$results" "$ANTLER" train run.yaml --set updates=100000000 --set "results=$results" --quiet
    line=$(grep -a '^  antler train --resume ' <<<"$out") || die "no resume line for '$results': $out"
    no_control "$line"
    eval "set -- $line"
    [ "$#" = 4 ] || die "the line has $# words: $line"
    [ -d "$4" ] && [ "$4" -ef "./$results/experiment/run" ] || [ "$4" -ef "./$results/experiment/run/001" ] || die "the line names '$4', not '$results'"
    [ ! -e pwned ] || die "the line ran a command: $line"
done
grid="it's a \$(touch pwned) grid.yaml"
{ cat run.yaml; printf 'results: swept\ngrid:\n  gtf_alpha: [0.1, 0.2]\n'; } >"$grid"
expect_ok python3 stop.py swept "$ANTLER" sweep "$grid" --set updates=100000000 --quiet
line=$(grep -a '^  antler sweep ' <<<"$out") || die "no resume line of a sweep: $out"
eval "set -- $line"
[ "$#" = 4 ] && [ "$3" = "$grid" ] && [ ! -e pwned ] || die "the line of a sweep: $line"

# ---- an archive that expands is refused before memory is taken
python3 - <<'PY' || die "python"
import struct, zipfile
rows = 5_000_000
head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, 4), }}".ljust(117) + "\n"
with zipfile.ZipFile("bomb.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as z, z.open("x.npy", "w", force_zip64=True) as f:
    f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
    for _ in range(rows // 10000):
        f.write(bytes(10000 * 32))
PY
cat >peak.py <<'PY'
import resource, subprocess, sys
code = subprocess.call(sys.argv[1:])
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(code)
PY
[ "$(stat -c %s bomb.npz)" -lt 2000000 ] || die "the archive is not small"
run python3 peak.py "$ANTLER" measure --true bomb.npz --generated bomb.npz --max-bytes 1e8
[ "$code" = 2 ] || die "160 MB out of an archive of 1 MB were accepted: $code"
contains "$err" "takes 160000000 bytes in memory"
contains "$err" "raise --max-bytes"
[ -n "${SANITIZE:-}" ] || [ "$out" -lt 120000 ] || die "$out kB were taken for a refused archive"
expect_fault 2 "(the setting max_bytes)" "$ANTLER" train run.yaml --set data=bomb.npz --set max_bytes=100000000 --overwrite
expect_fault 2 "raise --max-bytes" "$ANTLER" fit bomb.npz --max-bytes 1e8
expect_ok "$ANTLER" info bomb.npz
finish
