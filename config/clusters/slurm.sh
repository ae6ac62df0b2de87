#!/bin/bash
# sbatch config/clusters/slurm.sh CONFIG [KEY=VALUE ...]
#
# A suite on a Slurm allocation, which needs no internet: Ray's head on the first node, a worker on each other one, and
# `mtlv run` beside the head; all of it ends with the job. Submit it from the study's folder, in an environment where
# `mtlv` and `ray` are found; nodes must see both under the same paths. A job that ended early is submitted again and
# goes on where it was. docs/clusters.md has the rest.

#SBATCH --job-name=mtlv
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=16
#SBATCH --time=12:00:00
#SBATCH --no-kill
#SBATCH --signal=B:TERM@120
# With GPUs:
##SBATCH --gpus-per-node=4

# --no-kill: a node that is lost does not end the job; its units go on elsewhere.
# --signal: two minutes before the time is up, units are stopped in order and keep their checkpoints.

set -euo pipefail

if [ $# -lt 1 ] || [ -z "${SLURM_JOB_ID:-}" ]; then
    echo "usage: sbatch $0 CONFIG [KEY=VALUE ...]" >&2
    exit 2
fi

mapfile -t nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST")
port=${MTLV_RAY_PORT:-$((20000 + SLURM_JOB_ID % 10000))}  # several jobs may share a node

# The head's address as the other nodes see it: some systems give their own name a loopback address.
host=${MTLV_RAY_HOST:-$(getent ahostsv4 "${nodes[0]}" | awk 'NR == 1 { print $1 }')}
[[ -n $host && ( -n ${MTLV_RAY_HOST:-} || $host != 127.* ) ]] || host=$(hostname -I | awk '{ print $1 }')

# Who reaches Ray's ports can run anything as you, unless it asks for a token: one for this job, in its environment.
RAY_AUTH_TOKEN=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
export RAY_AUTH_TOKEN RAY_AUTH_MODE=token
export RAY_TMPDIR=${MTLV_RAY_TMPDIR:-/tmp/ray-$SLURM_JOB_ID}  # on each node's own disk; short, it holds sockets
export RAY_USAGE_STATS_ENABLED=0 HF_HUB_OFFLINE=1
export SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}  # steps do not inherit it

started=()
driver=
finish() {
    trap - EXIT TERM INT
    [ -z "$driver" ] || { kill -TERM "$driver" 2>/dev/null || true; wait "$driver" || true; }
    for step in "${started[@]}"; do kill -TERM "$step" 2>/dev/null || true; done
    wait || true
}
trap finish EXIT
trap 'finish; exit 143' TERM INT

on() {  # NODE RAY-OPTIONS...: Ray on a node, as long as the job runs
    local node=$1
    shift
    srun --nodes=1 --ntasks=1 --nodelist="$node" --overlap \
        ray start --block --num-cpus="$SRUN_CPUS_PER_TASK" \
        ${SLURM_GPUS_ON_NODE:+--num-gpus="$SLURM_GPUS_ON_NODE"} "$@" &
    started+=($!)
}

on "${nodes[0]}" --head --node-ip-address="$host" --port="$port" --include-dashboard=false
for _ in {1..120}; do
    ! (exec 3<>"/dev/tcp/$host/$port") 2>/dev/null || break
    kill -0 "${started[0]}" 2>/dev/null || { echo "Ray's head on ${nodes[0]} did not start" >&2; exit 1; }
    sleep 1
done
for node in "${nodes[@]:1}"; do on "$node" --address="$host:$port"; done

mtlv run "$@" execution.engine=ray execution.address="$host:$port" &
driver=$!
code=0
wait "$driver" || code=$?
driver=
exit "$code"
