#!/usr/bin/env bash
# same_bytes.sh ANTLER_BEFORE ANTLER_AFTER [NAME...] - two builds on one machine train the same models.
#
# Trains every line of tests/regression/trainings.txt (or those named) with both commands and compares model.npz member by
# member; only `provenance`, which names the build, may differ, and `settings` by those that one build does not have.  Also
# the log without its column of seconds.  Bytes depend on the processor, so builds are compared with each other and never with
# a stored file.  Exit code 1 when one differs.
set -euo pipefail
[ $# -ge 2 ] || { sed -n '2,8s/^# //p' "$0"; exit 2; }
before=$(realpath "$1") after=$(realpath "$2")
shift 2
list=$(realpath "$(dirname "$0")/../tests/regression/trainings.txt")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$before" simulate lorenz63 --length 3000 --noise 0.05 --seed 1 --quiet --out data.csv

train() { # train ANTLER FOLDER DATA SETTINGS...
    local antler=$1 folder=$2 data=$3 word options=()
    shift 3
    case $data in
        full) ;;
        first) options+=(--set columns=x) ;;
        driven) options+=(--set "columns=x,y" --set inputs=z) ;;
        *) echo "unknown data: $data" >&2; return 2 ;;
    esac
    for word in "$@"; do options+=(--set "$word"); done
    "$antler" train settings.yaml --quiet --set results="$folder" "${options[@]}" >"$folder.txt" 2>&1 || { cat "$folder.txt" >&2; return 1; }
}

differences() { # differences FOLDER FOLDER: names of what differs, on one line
    python3 - "$1" "$2" <<'PYTHON'
"""Compare all models and logs below two result folders."""
import csv, pathlib, sys, zipfile

def members(path):
    with zipfile.ZipFile(path) as archive:
        return {n: archive.read(n) for n in archive.namelist() if n != "provenance.npy"}

def settings(member):
    """Of one text in UCS-4 behind the header of a .npy file, whose length is bytes 8 and 9."""
    text = member[10 + int.from_bytes(member[8:10], "little") :].decode("utf-32-le")
    return dict(line.partition(": ")[::2] for line in text.splitlines())

def same_settings(a, b):
    a, b = settings(a), settings(b)
    return all(a[name] == b[name] for name in a.keys() & b.keys())

def rows(path):
    with open(path, newline="") as stream:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(stream)]

first, second = map(pathlib.Path, sys.argv[1:])
found = sorted(p.relative_to(first) for p in first.rglob("model.npz"))
bad = [] if found else ["no model"]
if found != sorted(p.relative_to(second) for p in second.rglob("model.npz")):
    bad.append("other runs")
else:
    for path in found:
        a, b = members(first / path), members(second / path)
        if "settings.npy" in a.keys() & b.keys() and same_settings(a["settings.npy"], b["settings.npy"]):
            a["settings.npy"] = b["settings.npy"]
        bad += [f"{path.parent.name}/{n}" for n in sorted(a.keys() | b.keys()) if a.get(n) != b.get(n)]
        log = path.with_name("log.csv")
        if rows(first / log) != rows(second / log):
            bad.append(f"{path.parent.name}/log.csv")
print(" ".join(bad))
PYTHON
}

printf 'data: data.csv\nexperiment: e\nname: n\nupdates: 30\nlog_interval: 10\nstart_lr: 1e-3\nkappa: 0.9995\ngtf_alpha: 0.15\nvalidation: 0\ndevice: cpu\n' >settings.yaml
same=0 other=0
while read -r name data settings; do
    [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
    for precision in float double; do
        for threads in 1 2; do
            rm -rf a b
            read -r -a words <<<"$settings"
            words+=("precision=$precision" "threads=$threads")
            train "$before" a "$data" "${words[@]}"
            train "$after" b "$data" "${words[@]}"
            bad=$(differences a b)
            if [ -z "$bad" ]; then
                same=$((same + 1))
            else
                other=$((other + 1))
                echo "$name $precision threads=$threads: $bad"
            fi
        done
    done
done < <(grep -vE '^\s*(#|$)' "$list")
echo "$same passed, $other failed"
[ "$other" = 0 ] && [ "$same" -gt 0 ]
