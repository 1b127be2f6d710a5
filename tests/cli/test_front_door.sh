#!/usr/bin/env bash
# From a table to a judged model without a settings file; the commands that a training names work as they are printed.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
python=
for candidate in python3 /usr/bin/python3; do
    [ -n "$python" ] || ! $candidate -c 'import numpy' 2>/dev/null || python=$candidate
done
PATH=$(dirname "$ANTLER"):$PATH

# run_printed: every line "  antler ..." of $out, in a shell, ends with 0.  antler report may lack plotly, and its Python
# cannot load a library with a sanitizer.
run_printed() {
    local lines line
    lines=$(grep '^  antler ' <<<"$out")
    [ "$(wc -l <<<"$lines")" -ge "$1" ] || die "fewer than $1 commands: $out"
    while read -r line; do
        [ -z "${SANITIZE:-}" ] || [[ $line != "antler report"* ]] || continue
        run bash -c "$line"
        [ "$code" = 0 ] || [[ $line == "antler report"* && $err == *plotly* ]] || die "'$line' ended with $code: $err"
    done <<<"$lines"
}

# The README's own-data command, on a table with a name that a shell splits.
"$ANTLER" simulate roessler --length 700 --noise 0.02 --standardise off --quiet --out "my 'own' table.csv" || die "simulate"
small=(--set hidden_dim=10 --set updates=40 --set sequence_length=40 --set batch_size=2 --set validation=0.5)
expect_ok "$ANTLER" train "my 'own' table.csv" "${small[@]}" --set runs=2
contains "$out" "Results/my-'own'-table/run/001: 40 updates done"
contains "$out" "Next:"
run_printed 2
free="Results/my-'own'-table/run/001/free.csv"
[ "$(wc -l <"$free")" = 10001 ] || die "the free run has $(wc -l <"$free") lines"
expect_ok "$ANTLER" train "$SOURCE/examples/own_csv.yaml" --set data="my 'own' table.csv" --check
expect_ok "$ANTLER" train "my 'own' table.csv" --set validation=0 --set name=all --set updates=3 --set sequence_length=20
[[ $out != *"antler evaluate"* ]] || die "no row was held back, and yet: $out"
run_printed 1
expect_fault 2 "held back no rows; give --data" "$ANTLER" evaluate "Results/my-'own'-table/all/001"
expect_fault 2 "give one settings file, or data files" "$ANTLER" train x.yaml "my 'own' table.csv"

# Short data get windows that fit, and enough rows to judge by; what is set stays, and its fault is said.
"$ANTLER" simulate roessler --length 300 --standardise off --quiet --out short.csv || die "simulate"
expect_ok "$ANTLER" train short.csv --check
contains "$out" "The data are short: sequence_length is 100 (200 otherwise) and validation 0.4 (0.2)"
expect_fault 2 "validation is 0.2, which holds back 60 rows" "$ANTLER" train short.csv --set validation=0.2 --check

# A model that has hardly been trained is not blamed for its free run, although the floors of few rows let a point pass.
"$ANTLER" simulate lorenz63 --length 400 --dt 0.06 --standardise off --quiet --out few.csv || die "simulate"
expect_ok "$ANTLER" train few.csv --columns x,y --set updates=50 --set device=cpu
contains "$out" "undertrained. The training is too short to move the parameters"
run_printed 2 # short held-back rows get forecasts that fit
expect_ok "$ANTLER" evaluate Results/few/run/001 --samples 100
contains "$out" "RMSE(29)"
expect_fault 2 "RMSE(500) after a warm-up" "$ANTLER" evaluate Results/few/run/001 --n 500 --samples 100 --quiet

# Two files are two trajectories; a file through standard input is kept, so that the run can be resumed.
"$ANTLER" simulate roessler --length 300 --seed 2 --quiet --out b.npy || die "simulate"
"$ANTLER" simulate roessler --length 300 --seed 3 --quiet --out c.npy || die "simulate"
expect_ok "$ANTLER" train b.npy c.npy --set validation=0.5 --set sequence_length=50 --check
contains "$out" "2 trajectories, 600 rows"
"$ANTLER" convert b.npy b.csv --quiet || die "convert"
run bash -c "antler train - ${small[*]} --set updates=5 <b.csv"
[ "$code" = 0 ] || die "standard input ended with $code: $err"
contains "$out" "kept as Results/stdin/stdin.csv"
cmp b.csv Results/stdin/stdin.csv || die "standard input was changed"
run_printed 2
expect_fault 2 "standard input is empty" "$ANTLER" train - </dev/null

# A sweep and a fit name commands, too.
cat >grid.yaml <<'Y'
experiment: grid
data: b.npy
hidden_dim: 8
sequence_length: 20
batch_size: 2
updates: 5
validation: 0.5
grid:
  gtf_alpha: [0.1, 0.3]
Y
expect_ok "$ANTLER" sweep grid.yaml
contains "$out" "Best by the median of the loss: run_gtf_alpha-0."
run_printed 2
"$ANTLER" simulate lorenz63 --length 1500 --seed 5 --quiet --out "a b.npy" || die "simulate"
mkdir -p "Results/a-b" && printf 'trials,runs,updates\n1,1,20\n1,1,20\n1,1,20\n' >Results/a-b/plan.csv
expect_ok "$ANTLER" fit "a b.npy"
contains "$out" "antler generate Results/a-b/model.npz --out Results/a-b/free.csv"
run_printed 2

# What `generate` writes: user units, a table as every program reads it, and facts beside it.
model="Results/my-'own'-table/run/001"
expect_ok "$ANTLER" generate "$model" --data "my 'own' table.csv" --steps 50 --out user.csv
contains "$out" "in user units"
[[ $(head -n 1 user.csv) == x,y,z ]] || die "the first line is no header: $(head -n 1 user.csv)"
! grep -q '#' user.csv || die "there are comments in user.csv"
contains "$(<user.csv.json)" '"dt": 0.1'
contains "$(tr -d ' \n' <user.csv.json)" '"mean":[0.0,0.0,0.0],"scale":[1.0,1.0,1.0]'
expect_ok "$ANTLER" generate "$model" --data "my 'own' table.csv" --steps 50 --standardised --out standard.csv
contains "$(<standard.csv.json)" '"scale"'
for pair in "user.csv standard.csv" "standard.csv user.csv"; do
    # shellcheck disable=SC2086 # two words
    expect_ok "$ANTLER" measure --true ${pair% *} --generated ${pair#* } --samples 100
    [[ $out =~ D_stsp\ +(-?[0-9.e-]+)\  ]] && awk -v d="${BASH_REMATCH[1]}" 'BEGIN { exit !(d < 1e-6 && d > -1e-6) }' ||
        die "the same orbit in other units: $out"
    [ -z "$err" ] || die "$err"
done

# Without --data it goes on after the last row of the training's data, with it from the first rows on; each says so.
expect_ok "$ANTLER" generate "$model" --steps 50 --out after.csv
contains "$out" "goes on after the last row of my 'own' table.csv"
[[ $out != *"--from end"* ]] || die "it offers what it did: $out"
expect_ok "$ANTLER" generate "$model" --data "my 'own' table.csv" --from end --steps 50 --out end.csv
cmp after.csv end.csv || die "the end of the training's data is another one"
expect_ok "$ANTLER" generate "$model" --data "my 'own' table.csv" --steps 50 --out user.csv
contains "$out" "begins after a warm-up from row 1 of my 'own' table.csv on; --from end goes on after the last row"
expect_ok "$ANTLER" generate "$model" --from start --steps 50 --out start.csv
[[ $out != *"--from end"* ]] || die "it offers what was declined: $out"
cmp user.csv start.csv || die "the start of the training's data is another one"
expect_ok "$ANTLER" generate "$model" --first 1 --steps 50 --out start.csv
cmp user.csv start.csv || die "--first 1 is not the start"
! cmp -s user.csv end.csv || die "start and end are the same"
expect_ok "$ANTLER" generate "$model" --orbits 3 --steps 50 --out many.npz
contains "$out" "begin at rows spread evenly over my 'own' table.csv"
expect_ok "$ANTLER" generate "$model" --from zero --steps 50 --out zero.csv
cp "$model/model.npz" copied.npz
expect_ok "$ANTLER" generate copied.npz --steps 50 --out copied.csv
contains "$out" "begins at the latent state 0"
cmp zero.csv copied.csv || die "a copied model does not begin at 0"
expect_fault 2 "the data of its training are not known; give --data FILE" "$ANTLER" generate copied.npz --from end --out x.csv
expect_fault 2 "--first names another" "$ANTLER" generate "$model" --from end --first 3 --out x.csv
expect_fault 2 "leave out --from end" "$ANTLER" generate "$model" --from end --orbits 3 --out x.csv
expect_fault 2 "--from zero takes no data" "$ANTLER" generate "$model" --from zero --data b.npy --out x.csv
mv "my 'own' table.csv" elsewhere.csv
expect_fault 2 "there is no such file" "$ANTLER" generate "$model" --out x.csv
contains "$err" "give --data FILE, or --from zero to begin without data"
mv elsewhere.csv "my 'own' table.csv"
expect_fault 2 "no option --user-units" "$ANTLER" generate "$model" --user-units --out x.csv
# Round trips keep every bit; a file that was changed since is refused, and facts go with the file that had them.
"$ANTLER" convert standard.csv standard.npz --quiet && "$ANTLER" convert standard.npz again.csv --quiet || die "convert"
cmp standard.csv again.csv && cmp standard.csv.json again.csv.json || die "a round trip changed something"
echo 1,2,3 >>again.csv
expect_fault 2 "it was changed since; remove that .json file" "$ANTLER" info again.csv
"$ANTLER" convert b.npy again.csv --quiet || die "convert"
[ ! -e again.csv.json ] || die "old facts are left beside a new file"
echo '{"somebody": 1}' >again.csv.json
expect_ok "$ANTLER" info again.csv
"$ANTLER" convert b.npy again.csv --quiet || die "convert"
[ -e again.csv.json ] || die "a file of another program was removed"
if [ -n "$python" ] && $python -c 'import pandas' 2>/dev/null; then
    expect_ok $python -c "
import pandas
table = pandas.read_csv('user.csv')
assert list(table.columns) == ['x', 'y', 'z'] and table.shape == (50, 3) and (table.dtypes == float).all()"
fi
finish
