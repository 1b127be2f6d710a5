#!/usr/bin/env bash
# train.sh - a training that is longer than a job:  sbatch examples/slurm/train.sh run.yaml Results/experiment/name
#SBATCH --job-name=antler-train
#SBATCH --cpus-per-task=8
#SBATCH --mem=8G
#SBATCH --time=12:00:00
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
settings=${1:?the settings file} runs=${2:?the folder of the runs, Results/experiment/name}

# Five minutes before the end: a checkpoint, and the same job again.
continue_later() {
    local training
    training=$(jobs -p)
    [ -z "$training" ] || { kill -TERM "$training" && wait "$training"; }
    scontrol requeue "$SLURM_JOB_ID"
    exit
}
trap continue_later USR1

if compgen -G "$runs/*/config.yaml" >/dev/null; then
    antler train --resume "$runs" &
else
    antler train "$settings" &
fi
wait $!
