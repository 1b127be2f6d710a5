#!/usr/bin/env bash
# --json: one JSON document on standard output, whatever happens; antler info describes every file that Antler writes.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 >/dev/null || exit 77

# document EXPRESSION COMMAND...: its output is one JSON document, and the expression about it, d, is true
document() {
    local expression=$1
    shift
    run "$@"
    python3 -c "
import json, sys
d = json.load(open('.out'))
assert $expression, json.dumps(d)[:500]" || die "'$*' (code $code): $err"
}

cat >run.yaml <<'Y'
experiment: e
name: n
data: train.npz
latent_dim: 4
hidden_dim: 8
sequence_length: 30
batch_size: 2
updates: 30
runs: 2
log_interval: 10
validation: 0.4
Y
"$ANTLER" simulate lorenz63 --length 1200 --quiet --out train.npz || die "simulate"
"$ANTLER" simulate lorenz63 --length 300 --quiet --out table.csv || die "simulate"
"$ANTLER" train run.yaml --quiet || die "train"
{ cat run.yaml; printf 'grid:\n  gtf_alpha: [0.1, 0.2]\n'; } | sed 's/^name: n/name: s/; s/^experiment: e/experiment: sweep/; s/^runs: 2/runs: 1/' >grid.yaml
"$ANTLER" sweep grid.yaml --quiet || die "sweep"
quick=(--samples 100 --lyapunov-steps 50 --n 10 --windows 3 --quiet)
"$ANTLER" evaluate Results/e/n "${quick[@]}" >/dev/null || die "evaluate"
run=Results/e/n/001

# The result of every command that has --json.
document 'd["antler"].startswith("0.") and "build" in d' "$ANTLER" info --json
document '"devices" in d' "$ANTLER" info --devices --json
document 'd["format"].startswith("NumPy")' "$ANTLER" info train.npz --json
document '[e["file"] for e in d] == ["train.npz", "table.csv"]' "$ANTLER" info train.npz table.csv --json
document '"error" not in d[0] and "none.npy" in d[1]["error"] and d[1]["exit_code"] == 2' "$ANTLER" info train.npz none.npy --json
[ "$code" = 2 ] || die "a missing file among others ended with $code"
document '"exponents" in d' "$ANTLER" lyapunov $run --steps 50 --transient 5 --json --quiet
document '"dstsp" in d' "$ANTLER" measure --true train.npz --generated table.csv --dstsp bins --json
document 'd[0]["name"] == "dstsp"' "$ANTLER" measure --measures --json
document '"verdict" in d and d["run"].endswith("001")' "$ANTLER" evaluate $run "${quick[@]}" --json
document 'len(d["runs"]) == 2' "$ANTLER" evaluate Results/e/n "${quick[@]}" --json
document '"cases" in d' "$ANTLER" bench solve --latent-dim 4 --hidden-dim 8 --length 32 --batch 1 --solver sequential --json

# A fault is a document, too, with the sentence and the exit code; the sentence is on standard error as well.
for command in "info none.npy" "lyapunov none" "evaluate none" "measure --true none.npy --generated none.npy" "info --sketch 1,2 train.npz" "measure --nonsense" "bench none"; do
    # shellcheck disable=SC2086 # words of a command
    document 'd["exit_code"] == 2 and len(d["error"]) > 10' "$ANTLER" $command --json
    [ "$code" = 2 ] && [[ $err == "antler: "* ]] || die "'$command --json' ended with $code: $err"
done

# info of what Antler writes; each line: file, words of the description.
"$ANTLER" generate $run --data train.npz --steps 20 --quiet --out free.csv || die "generate"
mkdir -p Results/f && printf 'trials,runs,updates\n1,1,20\n1,1,20\n1,1,20\n' >Results/f/plan.csv
"$ANTLER" fit train.npz --name f --quiet >/dev/null || die "fit"
"$ANTLER" measure --true train.npz --generated table.csv --dstsp bins --json >measured.json || die "measure"
printf 'the loss is not finite at update 7\n' >diverged.txt
printf '<!doctype html>\n<meta name="generator" content="antler 0.1.0 (x)">\n<title>Runs of e</title>\n' >report.html
described=0
while IFS='|' read -r file words; do
    described=$((described + 1))
    expect_ok "$ANTLER" info "$file"
    while read -r word; do contains "$out" "$word"; done < <(tr ';' '\n' <<<"$words")
    document '"file" in d and "error" not in d' "$ANTLER" info "$file" --json
done <<'TXT'
Results/e/n/001|shplrnn model;log of a training;last_update        30;verdict on a model
Results/e/n/001/model.npz|shplrnn model
Results/e/n/001/best.npz|shplrnn model
Results/e/n/001/checkpoints/update-0000000030.npz|shplrnn model
Results/e/n/001/config.yaml|settings of a training;latent_dim;4
Results/e/n/001/log.csv|log of a training;last_loss;last_val_dstsp
Results/e/n/001/verdict.json|verdict on a model;kind;advice
Results/e/n/001/metrics.json|evaluation of a model;hellinger
Results/e/n/metrics.csv|measures of runs;smallest_dstsp_run
Results/e/n/statistics.csv|statistics over runs;metric hellinger
Results/e/n|folder of runs;001;30 updates, loss
Results/e|folder of runs;n/002
Results|folder of runs;e/n/001;sweep/s_gtf_alpha-0.1/001
Results/sweep|folder of runs;s_gtf_alpha-0.2/001
Results/sweep/metrics.csv|measures of runs;diverged
Results/sweep/statistics.csv|statistics over runs;gtf_alpha 0.1
grid.yaml|grid of a sweep;combinations       2
Results/f|shplrnn model
Results/f/settings.yaml|settings of a training
Results/f/trials.csv|runs that a fit has judged;score
Results/f/plan.csv|plan of a fit;rung_3             1 trials, 1 runs each, 20 updates
free.csv|comma-separated text;20 x 3;dt 0.01
free.csv.json|facts of the table beside it;names              x, y, z
measured.json|result of an Antler command;dstsp
diverged.txt|not finite at update 7
report.html|report for the browser;Runs of e
TXT
[ "$described" = 26 ] || die "$described files"
mkdir empty
expect_fault 2 "no model.npz here and no run below it" "$ANTLER" info empty
finish
