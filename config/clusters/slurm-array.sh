#!/bin/bash
# sbatch config/clusters/slurm-array.sh CONFIG [KEY=VALUE ...]
#
# A suite on a Slurm job array, without Ray: each task runs the same `mtlv run`, and all share the units by the locks of
# one store. Submit it from the study's folder, in an environment where `mtlv` is found. docs/clusters.md has the rest.

#SBATCH --job-name=mtlv
#SBATCH --array=1-4
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=8
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=B:USR1@120
# With GPUs:
##SBATCH --gpus-per-task=1

# --requeue: after the loss of its node, or for a job of higher priority, a task goes back into the queue.
# --signal: two minutes before the time is up, this script stops `mtlv`, which keeps a checkpoint, and queues the task
# again. It is not TERM, which `scancel` sends: a cancelled task must not come back.

set -euo pipefail

if [ $# -lt 1 ] || [ -z "${SLURM_ARRAY_TASK_ID:-}" ]; then
    echo "usage: sbatch $0 CONFIG [KEY=VALUE ...]" >&2
    exit 2
fi

export HF_HUB_OFFLINE=${HF_HUB_OFFLINE:-1}  # encoders come from the cache: `hf download NAME` on the login node

mtlv run "$@" execution.threads="${SLURM_CPUS_PER_TASK:-1}" execution.processes=1 &
run=$!
is_out_of_time=
trap 'is_signalled=1; is_out_of_time=1; kill -TERM "$run"' USR1
trap 'is_signalled=1' TERM  # `scancel` sends it to `mtlv`, too: wait until that has closed its runs

is_signalled=1
while [ -n "$is_signalled" ]; do  # a signal ends a wait, not the run
    is_signalled= code=0
    wait "$run" || code=$?
done
if [ -n "$is_out_of_time" ] && [ "$code" -eq 143 ]; then
    scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"  # one task's SLURM_JOB_ID is that of the array
fi
exit "$code"
