#!/usr/bin/env bash
# The Slurm scripts of examples/slurm, which docs/cluster.md shows, with stand-ins for srun and scontrol.
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

# The page shows the scripts as they are.
for name in array gpus train; do
    script=$SOURCE/examples/slurm/$name.sh
    bash -n "$script" || die "$name.sh is no script"
    cmp "$script" <(awk -v head="# $name.sh - " '
        /^```bash$/ { inside = 1; text = ""; next }
        /^```$/ { if (inside && index(text, head)) printf "%s", text; inside = 0 }
        inside { text = text $0 "\n" }' "$SOURCE/docs/cluster.md") || die "docs/cluster.md has another $name.sh"
done

cat >grid.yaml <<'Y'
experiment: e
data: train.npy
latent_dim: 4
hidden_dim: 10
sequence_length: 30
batch_size: 4
updates: 300
runs: 3
threads: 1
kappa: 0.9995
start_lr: 1e-3
end_lr: 1e-3
validation: 0
grid:
  gtf_alpha: [0.1, 0.2]
Y
sed '/^grid/,$d; s/^updates.*/updates: 30000/; s/^runs.*/runs: 1/' grid.yaml >run.yaml
expect_ok "$ANTLER" simulate lorenz63 --length 1500 --noise 0.05 --out train.npy
mkdir bin
ln -s "$ANTLER" bin/antler
cat >bin/srun <<'S'
#!/usr/bin/env bash
# one process for each task
for task in $(seq "${SLURM_NTASKS:-1}"); do SLURM_PROCID=$((task - 1)) "$@" & done
worst=0
for job in $(jobs -p); do wait "$job" || worst=$?; done
exit $worst
S
cat >bin/scontrol <<'S'
#!/usr/bin/env bash
echo "$*" >>"$RECORD"
S
chmod +x bin/srun bin/scontrol
export RECORD=$folder/record PATH=$folder/bin:$PATH
expect_ok "$ANTLER" sweep grid.yaml --quiet --set results=One
same() { # same TEXT FOLDER
    local run
    for run in One/e/*/0*; do
        cmp "$run/model.npz" "$2${run#One}/model.npz" || die "$1: another model of $run"
    done
    [ -s "$2/e/statistics.csv" ] || die "$1: there are no tables"
}

# An array of four jobs, and one that comes when all is done.
jobs=()
for task in 1 2 3 4; do
    SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_PER_TASK=1 bash "$SOURCE/examples/slurm/array.sh" grid.yaml \
        --set results=Array >.log$task 2>&1 &
    jobs+=($!)
done
for task in 1 2 3 4; do
    wait "${jobs[task - 1]}" || die "job $task of the array failed: $(<".log$task")"
done
expect_ok bash "$SOURCE/examples/slurm/array.sh" grid.yaml --set results=Array
same "an array" Array

# Two tasks of one job; the test has no GPU.
SLURM_NTASKS=2 expect_ok bash "$SOURCE/examples/slurm/gpus.sh" grid.yaml --set results=Tasks --set device=cpu
same "tasks" Tasks

# A job that ends before its training does: warned, requeued, resumed, to the same bytes.
expect_ok "$ANTLER" train run.yaml --quiet --set name=whole
SLURM_JOB_ID=17 bash "$SOURCE/examples/slurm/train.sh" run.yaml Results/e/run >.log 2>&1 &
job=$!
trap 'kill -9 "$job" 2>/dev/null; rm -rf "$folder"' EXIT
for _ in $(seq 1200); do [ -s Results/e/run/001/log.csv ] && break; sleep 0.02; done
kill -USR1 $job
wait $job || die "the job ended with $?: $(<.log)"
[ "$(<record)" = "requeue 17" ] || die "the job was not requeued: $(<.log)"
contains "$(<.log)" "Stopped; nothing is lost"
SLURM_JOB_ID=17 SLURM_RESTART_COUNT=1 expect_ok bash "$SOURCE/examples/slurm/train.sh" run.yaml Results/e/run
contains "$err" "continues after update"
cmp Results/e/whole/001/model.npz Results/e/run/001/model.npz || die "another model after a requeue"
[ "$(wc -l <record)" = 1 ] || die "a job that has ended was requeued"
finish
