#!/usr/bin/env bash
# Tables as they lie around: what `antler info` says about each (tests/bad/make_real_tables.py), and the way from a table with
# dates, gaps and subjects to a free run that continues its times.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"
command -v python3 > /dev/null || exit 77

python3 "$SOURCE/tests/bad/make_real_tables.py" "$folder/real" > "$folder/count" || die "the files could not be made"
bad=0
while IFS=$'\t' read -r name options want texts; do
    [ "$options" != - ] || options=
    arguments=()
    eval "arguments=($options)"
    run "$ANTLER" info "real/$name" ${arguments[@]+"${arguments[@]}"}
    problem=
    [ "$code" = "$want" ] || problem="exit code $code instead of $want"
    [ "$want" = 0 ] || [ "$(wc -l < "$folder/.err")" = 1 ] || problem="not one line"
    shown=$out$'\n'$err$'\n'
    while [ -n "$texts" ]; do
        text=${texts%%" | "*}
        [ "$text" = "$texts" ] && texts= || texts=${texts#*" | "}
        [[ $shown == *"${text//\\n/$'\n'}"* ]] || problem="'$text' is missing"
    done
    if [ -n "$problem" ]; then
        bad=$((bad + 1))
        echo "$name: $problem: $shown" | head -c 1500 >&2
    fi
done < "$folder/real/table.txt"
[ "$checks" -ge 40 ] || die "only $checks files"
[ "$bad" = 0 ] || die "$bad of $checks files"

# The same through a pipe, and as JSON.
expect_ok "$ANTLER" info - < real/days.csv
contains "$out" "column 'date', 2020-01-01 to 2020-03-30"
expect_ok "$ANTLER" info real/gap.csv --json
contains "$out" '"missing": 100'
contains "$out" '"kind": "date"'
python3 -m json.tool <.out >/dev/null || die "not JSON: $out"

# A model that was trained on dates goes on with them, in both formats; what is written is read again with its times.
python3 - <<'END'
import datetime
import math
with open("series.csv", "w") as out:
    out.write("time,a,b\n")
    for i in range(1200):
        out.write("%.2f,%.5f,%.5f\n" % (100 + 0.05 * i, math.sin(0.2 * i), math.cos(0.2 * i) + 0.1 * math.sin(0.1 * i)))
with open("hours.csv", "w") as out:
    out.write("date,a,b\n")
    for i in range(600):
        when = datetime.datetime(2020, 2, 27) + datetime.timedelta(hours=i)
        out.write("%s,%.5f,%.5f\n" % (when, math.sin(0.2 * i), math.cos(0.2 * i)))
END
cat > run.yaml <<'END'
data: series.csv
experiment: e
sequence_length: 40
batch_size: 4
updates: 30
hidden_dim: 10
validation: 0.2
holdout: 0.2
threads: 1
END
expect_ok "$ANTLER" train run.yaml
contains "$err" "antler: note: series.csv: column 'time' is the time axis: 100 to 159.95, dt 0.05"
contains "$out" "on test rows, which took no part in training:"
contains "$(<Results/e/run/001/verdict.json)" '"test": {'
expect_ok "$ANTLER" info Results/e/run/001
contains "$out" "a"
expect_ok "$ANTLER" generate Results/e/run/001 --data series.csv --warmup 10 --steps 20 --out free.csv --quiet
[ "$(head -n 1 free.csv)" = "time,a,b" ] || die "the header of free.csv is $(head -n 1 free.csv)"
[[ $(sed -n 2p free.csv) == 100.55,* ]] || die "the first row of free.csv is $(sed -n 2p free.csv)"
[[ $(tail -n 1 free.csv) == 101.5,* ]] || die "the last row of free.csv is $(tail -n 1 free.csv)"
expect_ok "$ANTLER" info free.csv
contains "$out" "N = 2, dt 0.05"
contains "$out" "time       column 'time', 100.55 to 101.5"
expect_ok "$ANTLER" generate Results/e/run/001 --data hours.csv --warmup 47 --steps 3 --out hours_free.csv --quiet
[[ $(sed -n 2p hours_free.csv) == "2020-02-29 00:00:00,"* ]] || die "dates go on with $(sed -n 2p hours_free.csv)"
expect_ok "$ANTLER" generate Results/e/run/001 --data hours.csv --warmup 47 --steps 3 --orbits 2 --out hours_free.npz --quiet
expect_ok "$ANTLER" info hours_free.npz
contains "$out" "2 trajectories"
contains "$out" "2020-02-29T00:00:00"

{ echo date,a,b; tail -n +2 series.csv | awk -F, '{printf "%d-%02d-01,%s,%s\n", 1900 + int((NR - 1) / 12), (NR - 1) % 12 + 1, $2, $3}'; } > months.csv
expect_ok "$ANTLER" generate Results/e/run/001 --data months.csv --warmup 47 --steps 14 --out months_free.csv --quiet
[[ $(sed -n 2p months_free.csv) == 1904-01-01,* ]] || die "months go on with $(sed -n 2p months_free.csv)"
[[ $(tail -n 1 months_free.csv) == 1905-02-01,* ]] || die "months end with $(tail -n 1 months_free.csv)"
expect_ok "$ANTLER" convert months.csv months.npz --quiet
expect_ok "$ANTLER" info months.npz
contains "$out" "dt 1 month"
expect_fault 2 "--key chooses among the arrays of an .npz" "$ANTLER" info months.csv --key a

gzip -k series.csv
expect_ok "$ANTLER" train series.csv.gz --check
contains "$out" "1 trajectory, 1200 rows, 2 variables"

# Trajectories that no window fits into are named; test files take the place of the holdout.
head -n 30 series.csv > short.csv
expect_ok "$ANTLER" train run.yaml --set 'data=series.csv,short.csv' --set name=short --set holdout=0 --test hours.csv
contains "$err" "1 of 2 trajectories does not contribute, because a window takes 41 rows besides those held back: short.csv trajectory 2 (24 rows)"
contains "$out" "on test rows"
expect_fault 2 "holdout is 0.001, which keeps 1 rows" "$ANTLER" train run.yaml --set name=few --set holdout=0.001

# The options of tables are those of every command; a verdict that is not good names doubtful data again.
awk -F, -v OFS=, 'NR > 1 && NR % 50 == 7 {$2 = -9999} {print}' series.csv > holes.csv
expect_ok "$ANTLER" train holes.csv --missing -9999 --time time --columns a,b --check
contains "$err" "of 1200 values of a are missing"
expect_ok "$ANTLER" train holes.csv --set updates=20 --set sequence_length=40 --set device=cpu
contains "$out" "Look at the data first: -9999 occurs"
expect_fault 2 "a run resumes with the settings that it began with" "$ANTLER" train --resume Results/holes/run/001 --missing -9999


# A value whose square no measure can hold is named with its row, before anything is squared.
awk -F, -v OFS=, 'NR == 302 || NR == 641 {$3 = "1e300"} {print}' series.csv > huge.csv
huge="huge.csv: value is 1e+300 in row 301, column 2 (b), and its square is beyond double precision; 2 such values in all"
expect_fault 2 "$huge" "$ANTLER" fit huge.csv --minutes 0.1 --quiet
expect_fault 2 "$huge" "$ANTLER" train huge.csv --set updates=5 --set sequence_length=20 --quiet
expect_fault 2 "$huge" "$ANTLER" evaluate Results/e/run/001 --data huge.csv --quiet
expect_ok "$ANTLER" train huge.csv --set updates=5 --set sequence_length=20 --set validation=0 --quiet

expect_fault 2 "there is no such run or model" "$ANTLER" evaluate Results/nothing
run "$ANTLER" info - <series.csv
contains "$out" "-: standard input"$'\n'

# What the command line sets stays when data are short.
head -n 481 series.csv > rows480.csv
expect_ok "$ANTLER" train rows480.csv --check --set sequence_length=60 --set latent_dim=3
contains "$out" "The data are short: sequence_length is 60 and validation 0.3 (0.2)"
finish
