#!/bin/sh
# SPDX-License-Identifier: MIT
# One part of an output, in a Slurm array 0 to N-1 (tare-submit starts it):
#     sbatch --array=0-99 tare-part.sh 100 convert IN OUT --type q8_0
# The first argument is N: it stays the same where only some elements of the array run again.
#SBATCH --job-name=tare-part
#SBATCH --requeue
#SBATCH --open-mode=append
set -u
parts=$1
shift
case ${SLURM_ARRAY_TASK_ID:?not an element of a Slurm array} in
*[!0-9]*) echo "tare-part.sh: SLURM_ARRAY_TASK_ID is not a number" >&2; exit 2 ;;
esac
part=$((SLURM_ARRAY_TASK_ID + 1))/$parts
left=${TARE_RETRIES:-3}
while :; do
    "${TARE:-tare}" "$@" --quiet --part "$part"
    code=$?
    # 4: the disk or the network; 6: memory or space; above 128: killed. Another try may help, and so may
    # another machine, which the join asks for. A part that fails otherwise (usage error, damaged input)
    # fails again.
    [ "$code" -eq 4 ] || [ "$code" -eq 6 ] || [ "$code" -gt 128 ] || exit "$code"
    [ "$left" -gt 0 ] || exit "$code"
    left=$((left - 1))
    echo "tare-part.sh: part $part: exit code $code, once more" >&2
    sleep "${TARE_PAUSE:-10}"
done
