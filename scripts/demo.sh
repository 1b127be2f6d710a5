#!/usr/bin/env bash
# demo.sh ANTLER [UPDATES] - the main job on a small scale: simulate Lorenz-63, train, run free, measure, draw.
set -euo pipefail
antler=$1 updates=${2:-20000}
here=$(cd "$(dirname "$0")/.." && pwd)
folder=build/demo
rm -rf "$folder"
mkdir -p "$folder"
say() { printf '\n%s\n' "$*"; }

say "Simulate Lorenz-63: an orbit to train on, and another to test with."
"$antler" simulate lorenz63 --seed 1 --out "$folder/train.npz"
"$antler" simulate lorenz63 --seed 1001 --out "$folder/test.npz"

say "Train four shPLRNNs (M = 5, L = 50, alpha 0.15, $updates updates each), as in Fig. 2 of the paper.  A verdict on held-back rows follows."
cat >"$folder/demo.yaml" <<YAML
experiment: lorenz63
name: demo
results: $folder/Results
data: $folder/train.npz
latent_dim: 5
hidden_dim: 50
sequence_length: 200
batch_size: 16
gtf_alpha: 0.15
updates: $updates
start_lr: 1e-3
end_lr: 1e-6
runs: 4
log_interval: 1000
check_interval: 1000
YAML
"$antler" train "$folder/demo.yaml"

say "Let each run free for 300,000 steps and measure it against the test orbit (10,000 samples; the paper has 1,000,000)."
"$antler" evaluate "$folder"/Results/lorenz63/demo/0* --data "$folder/test.npz" --samples 10000 >"$folder/evaluate.txt"
median() { awk -v name="$1" '$1 == name { print $2 }' "$folder/evaluate.txt"; }
cat "$folder/evaluate.txt"

"$antler" simulate lorenz63 --seed 77 --length 300000 --quiet --out "$folder/another.npz"
floor=$("$antler" measure --true "$folder/test.npz" --generated "$folder/another.npz" --samples 10000 --quiet | awk '$1 == "D_stsp" { print $2 }')

"$antler" generate "$folder/Results/lorenz63/demo/001" --data "$folder/test.npz" --steps 20000 --out "$folder/free.npz" >/dev/null
say "The free run of the first model, x against z:"
"$antler" info "$folder/free.npz" --sketch 1,3 | sed -n '/ from /,$p'

printf '\n%-44s %12s %18s\n' "" "here" "paper"
printf '%-44s %12s %18s\n' "D_stsp, median of the runs" "$(median dstsp)" "0.0087 +- 0.0038"
printf '%-44s %12s %18s\n' "D_stsp of another true orbit as long" "$floor" ""
printf "%-44s %12s %18s\n" "largest Lyapunov exponent, per time unit" "$(awk -v v="$(median lyapunov_max)" "BEGIN { printf \"%.3f\", v / 0.01 }")" "0.906 (known)"

drawn=
for python in python3 /usr/bin/python3; do
    if "$python" -c 'import matplotlib' 2>/dev/null; then
        PYTHONPATH=$here/python "$python" -m antler.plot attractor "$folder/test.npz" "$folder/free.npz" --out "$folder/attractor.png"
        drawn=yes
        break
    fi
done
if [ -n "$drawn" ]; then
    say "The picture of the true and the generated attractor: $folder/attractor.png"
else
    say "Without Python's matplotlib there is no picture; install it with:  sudo apt-get install python3-matplotlib"
fi

# The report is the last thing, and its absence no failure: it needs plotly.js, which not every machine has.
if page=$("$antler" report "$folder/Results/lorenz63/demo" --data "$folder/test.npz" --out "$folder/report.html" 2>&1); then
    say "The report on all four runs: ${page}"
else
    say "There is no report: ${page#antler: }"
fi
cat <<TXT

What to try next:
  build/antler lyapunov $folder/Results/lorenz63/demo/001
  build/antler info $folder/Results/lorenz63/demo/001
  build/antler fit your.csv
TXT
