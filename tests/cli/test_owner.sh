#!/usr/bin/env bash
# Who owns a run: one training at a time, an old run stays whole until a new one has begun, and only a run that is
# unchanged goes on.
. "$(dirname "$0")/lib.sh"

cat >run.yaml <<'Y'
experiment: e
data: train.csv
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: 200
log_interval: 10
checkpoint_interval: 50
threads: 1
kappa: 0.9995
start_lr: 1e-3
gtf_alpha: 0.15
validation: 0
Y
expect_ok "$ANTLER" simulate lorenz63 --length 600 --noise 0.05 --standardise off --out train.csv
run_folder=Results/e/run/001
state() { find "$1" -type f ! -name .lock -exec sha256sum {} + | sort -k2; }
endless=(train run.yaml --quiet --set updates=100000000 --set checkpoint_interval=100000000)
begin_endless() { # in the background; returns when it is at work
    "$ANTLER" "${endless[@]}" >.background 2>&1 &
    job=$!
    for _ in $(seq 600); do
        [ -s "$run_folder/log.csv" ] && [ "$(wc -l <"$run_folder/log.csv")" -gt 1 ] && return
        sleep 0.05
    done
    die "the training in the background did not begin: $(<.background)"
}
job=""
trap '[ -z "$job" ] || kill -9 "$job" 2>/dev/null; rm -rf "$folder"' EXIT
end_job() { kill -9 "$job" 2>/dev/null; wait "$job" 2>/dev/null; }

# A second training of a run at work is refused, whatever it asks for, and changes nothing.
begin_endless
before=$(<"$run_folder/config.yaml")
expect_fault 2 "another training uses this run" "$ANTLER" train run.yaml --overwrite --set seed=2
expect_fault 2 "another training uses this run" "$ANTLER" train --resume $run_folder
expect_fault 2 "this run exists" "$ANTLER" train run.yaml
[ "$before" = "$(<"$run_folder/config.yaml")" ] || die "config.yaml has changed under a training"
kill -0 "$job" || die "the first training ended: $(<.background)"
end_job

# Starts at the same moment: one trains, the others are refused.
rounds=${ROUNDS:-15}
[ -z "${SANITIZE:-}" ] || rounds=5
for round in $(seq "$rounds"); do
    rm -rf Results
    pids=()
    for seed in 1 2 3; do
        "$ANTLER" "${endless[@]}" --overwrite --set seed=$seed >/dev/null 2>.err$seed &
        pids+=($!)
    done
    for _ in $(seq 1200); do # until two have ended
        alive=()
        for pid in "${pids[@]}"; do kill -0 "$pid" 2>/dev/null && alive+=("$pid"); done
        [ ${#alive[@]} -gt 1 ] || break
        sleep 0.05
    done
    job=${alive[0]:-}
    [ ${#alive[@]} = 1 ] || die "round $round: ${#alive[@]} are training: $(cat .err?)"
    for pid in "${pids[@]}"; do
        [ "$pid" = "$job" ] && continue
        wait "$pid"
        ended=$?
        [ $ended = 2 ] || die "round $round: ended with $ended: $(cat .err?)"
    done
    checks=$((checks + 3))
    [ "$(grep -l "another training uses this run" .err1 .err2 .err3 | wc -l)" = 2 ] || die "round $round: $(cat .err?)"
    end_job
done

# --overwrite that cannot begin leaves the old run as it was; a new name leaves nothing that is in the way.
rm -rf Results
expect_ok "$ANTLER" train run.yaml --quiet
echo mine >$run_folder/model.npz.best
echo mine >$run_folder/log.csv.keep
echo mine >$run_folder/checkpoints/update-of-mine.npz
whole=$(state $run_folder)
if [ -z "${SANITIZE:-}" ]; then # a sanitizer reserves more memory than the limit
    small() { (ulimit -v 2000000; exec "$ANTLER" "$@"); }
    huge=(--set latent_dim=20000 --set hidden_dim=20000 --quiet)
    expect_fault 3 "memory" small train run.yaml --overwrite "${huge[@]}"
    [ "$whole" = "$(state $run_folder)" ] || die "the old run has changed"
    expect_fault 3 "memory" small train run.yaml --set name=other "${huge[@]}"
    expect_ok "$ANTLER" train run.yaml --set name=other --quiet
fi

# --overwrite replaces the run's own files and no others.
expect_ok "$ANTLER" train run.yaml --overwrite --quiet --set seed=2
for mine in model.npz.best log.csv.keep checkpoints/update-of-mine.npz; do
    [ "$(<"$run_folder/$mine")" = mine ] || die "$mine is gone"
done
grep -q '^seed: 2' $run_folder/config.yaml || die "the run was not replaced"

# An overwrite that was cut off is finished, or undone, when the run is next opened.
expect_ok "$ANTLER" train run.yaml --overwrite --quiet --set seed=1
killed_at() { # killed_at N COMMAND...: killed before its Nth rename or unlink; false when it made fewer
    local call=$1
    shift
    { strace -f -qq -o /dev/null -e trace=rename,renameat,unlink \
        -e inject=rename,renameat,unlink:signal=KILL:when="$call" "$@" & } >/dev/null 2>&1
    wait $! 2>/dev/null
    [ $? = 137 ]
}
command -v strace >/dev/null || die "strace is needed to stop at a system call"
for call in $(seq 1 12); do
    rm -rf Results
    expect_ok "$ANTLER" train run.yaml --quiet --set updates=120
    old=$(sha256sum $run_folder/model.npz)
    killed_at "$call" "$ANTLER" train run.yaml --quiet --overwrite --set seed=2 || die "no call $call"
    expect_ok "$ANTLER" train --resume $run_folder --quiet
    if grep -q '^seed: 1' $run_folder/config.yaml; then
        [ "$old" = "$(sha256sum $run_folder/model.npz)" ] || die "call $call: the old run is not whole"
    else
        expect_ok "$ANTLER" train run.yaml --quiet --set seed=2 --set name=fresh
        cmp $run_folder/model.npz Results/e/fresh/001/model.npz || die "call $call: a mixture of two runs"
    fi
done

# An old checkpoint that cannot be removed is named, and never adopted.
kept_file() { # kept_file FILE COMMAND...: FILE cannot be removed; leaks cannot be looked for under strace
    local file=$1 ended
    shift
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -qq -o /dev/null -P "$file" \
        -e trace=unlink -e inject=unlink:error=EACCES "$@" 2>.trace
    ended=$?
    grep -v '^strace: ' .trace >&2
    return $ended
}
old=$(find $run_folder/checkpoints -name 'update-*.npz' | sort | tail -n 1)
expect_fault 3 "$old: cannot be removed" kept_file "$old" "$ANTLER" train run.yaml --quiet --overwrite --set seed=3
expect_fault 3 "$old: cannot be removed" kept_file "$old" "$ANTLER" train --resume $run_folder --quiet
expect_ok "$ANTLER" train --resume $run_folder --quiet
expect_ok "$ANTLER" train run.yaml --quiet --set seed=3 --set name=third
cmp $run_folder/model.npz Results/e/third/001/model.npz || die "an old checkpoint was adopted"

# A folder without a run, as a kill right after mkdir leaves it, is in nobody's way.
rm -rf Results
mkdir -p $run_folder/checkpoints
expect_ok "$ANTLER" train run.yaml --quiet
sed 's/^updates.*/updates: 20\ngrid:\n  gtf_alpha: [0.1, 0.2]/' run.yaml >grid.yaml
mkdir -p Results/e/run_gtf_alpha-0.1/001
expect_ok "$ANTLER" sweep grid.yaml --resume --quiet

# --check trains nothing, also with --resume.
rm -rf Results
begin_endless
end_job
whole=$(state $run_folder)
expect_ok "$ANTLER" train --resume $run_folder --check
contains "$out" "go together"
[ "$whole" = "$(state $run_folder)" ] || die "--resume --check has changed the run"

# A run goes on with the settings, the data, the names and the dt that it began with.
rm -rf Results
expect_ok "$ANTLER" train run.yaml --quiet
change() { # change FRAGMENT SED: refused after this edit of config.yaml, and accepted when it is undone
    cp $run_folder/config.yaml kept.yaml
    sed -i "$2" $run_folder/config.yaml
    cmp -s kept.yaml $run_folder/config.yaml && die "the edit '$2' changed nothing"
    expect_fault 2 "$1" "$ANTLER" train --resume $run_folder
    cp kept.yaml $run_folder/config.yaml
}
change "seed: 1" 's/^seed:.*/seed: 7/'
change "gtf_alpha: 0.15" 's/^gtf_alpha:.*/gtf_alpha: 0.3/'
change "updates: 200" 's/^updates:.*/updates: 300/'
change "initialisation: memory" 's/^initialisation:.*/initialisation: standard/'
sed -i '/^initialisation:/d' $run_folder/config.yaml # as before there was this setting: memory
expect_ok "$ANTLER" train --resume $run_folder --quiet
cp train.csv kept.csv
{ printf '# antler: dt=0.01\n'; cat kept.csv; } >dated.csv && mv dated.csv kept.csv && rm train.csv.json # facts within the file
awk -F, -v OFS=, '/^[-0-9]/ { $2 = -$2 } 1' kept.csv >train.csv
cmp -s kept.csv train.csv && die "no value was negated"
expect_fault 2 "other data" "$ANTLER" train --resume $run_folder
sed 's/^x,y,z$/a,y,z/' kept.csv >train.csv
cmp -s kept.csv train.csv && die "no column was renamed"
expect_fault 2 "other data" "$ANTLER" train --resume $run_folder
sed 's/dt=0.01$/dt=0.02/' kept.csv >train.csv
cmp -s kept.csv train.csv && die "dt has not changed"
expect_fault 2 "other data" "$ANTLER" train --resume $run_folder
cp kept.csv train.csv
expect_ok "$ANTLER" train --resume $run_folder --quiet

# Another division of work is told, and kept in the provenance; the same one leaves no trace.
sed -i 's/^updates:.*/updates: 400/' run.yaml
rm -rf Results
killed_at 17 "$ANTLER" train run.yaml --quiet || die "it was not killed"
expect_ok "$ANTLER" train --resume $run_folder
[[ $err != *"another division of work"* ]] || die "the same machine is not another: $err"
expect_ok "$ANTLER" info $run_folder/model.npz
[[ $out != *"resumed otherwise"* ]] || die "$out"
if [ "$(ANTLER_CPU=base "$ANTLER" --version | head -n 1)" = "$("$ANTLER" --version | head -n 1)" ]; then
    rm -rf Results
    killed_at 17 "$ANTLER" train run.yaml --quiet || die "it was not killed"
    export ANTLER_CPU=base
    expect_ok "$ANTLER" train --resume $run_folder
    unset ANTLER_CPU
    contains "$err" "another division of work"
    expect_ok "$ANTLER" info $run_folder/model.npz
    contains "$out" "resumed otherwise than it began"
fi

# The rows of the log reach the disk before the checkpoint that stands for them.
rm -rf Results
ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 strace -f -y -qq -o .calls -e trace=fsync,rename "$ANTLER" train run.yaml --quiet ||
    die "the training failed under strace"
awk '/fsync\(.*log\.csv/ { synced = 1 }
     /rename\(.*checkpoints\/update-/ { saved++; if (!synced) exit 1; synced = 0 }
     END { exit saved >= 8 ? 0 : 1 }' .calls || die "a checkpoint came before its rows: $(grep -c update- .calls)"

# Rows that the log has lost are told.
rm -rf Results
killed_at 17 "$ANTLER" train run.yaml --quiet || die "it was not killed"
sed -i '3,4d' $run_folder/log.csv
expect_ok "$ANTLER" train --resume $run_folder
contains "$err" "log.csv lacks 2 of"
finish
