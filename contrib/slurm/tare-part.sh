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
"${TARE:-tare}" "$@" --quiet --part "$((SLURM_ARRAY_TASK_ID + 1))/$parts"
code=$?
# 4: the disk or the network, 6: memory or space: another try may help, on another machine, too. A part
# that failed otherwise (wrong use, damaged input) fails again.
case $code in
4 | 6 | 13[0-9] | 14[0-3])
    if [ "${SLURM_RESTART_COUNT:-0}" -lt "${TARE_RETRIES:-3}" ]; then
        scontrol requeue "${SLURM_ARRAY_JOB_ID}_${SLURM_ARRAY_TASK_ID}" && exit 0
    fi ;;
esac
exit $code
