#!/usr/bin/env bash
# array.sh - one sweep by many jobs:  sbatch examples/slurm/array.sh sweep.yaml
#SBATCH --job-name=antler-sweep
#SBATCH --array=1-20
#SBATCH --cpus-per-task=4
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
srun antler sweep --share --leave --set threads="${SLURM_CPUS_PER_TASK:-1}" "$@"
