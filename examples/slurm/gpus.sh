#!/usr/bin/env bash
# gpus.sh - one sweep by a process for each GPU:  sbatch examples/slurm/gpus.sh sweep.yaml
#SBATCH --job-name=antler-gpus
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --signal=USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
set -euo pipefail
srun antler sweep --share --set device=cuda "$@"
