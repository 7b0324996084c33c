#!/bin/sh
# SPDX-License-Identifier: MIT
# What follows the array: joins OUT, or starts the parts that are not done once more, and itself after
# them (tare-submit starts it).
#     tare-join.sh ROUNDS OUT N VERB IN OUT OPTION...
#SBATCH --job-name=tare-join
#SBATCH --requeue
#SBATCH --open-mode=append
set -u
rounds=$1 out=$2
shift 2
tare=${TARE:-tare}
folder=${TARE_SLURM:?the folder of tare-submit}
force=
for word in "$@"; do
    case $word in --force | -f) force=--force ;; esac
done
# Joined before this was started again, and perhaps stopped while it removed the parts. (With --force the
# output may be an old one.)
if [ -z "$force" ] && [ -e "$out" ] && [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then
    rm -f "$out".part-[0-9]*-of-[0-9]*
    exit 0
fi
left=$("$tare" status "$out" --ranges 2>/dev/null) && exec "$tare" join "$out" --quiet $force
# No part at all: all of them are left.
[ -n "$left" ] || left=0-$(($1 - 1))
if [ "$rounds" -le 0 ]; then
    "$tare" status "$out" >&2
    exit 1
fi
echo "tare-join.sh: once more: $left" >&2
id=$(sbatch --parsable ${TARE_SBATCH:-} --array="$left" "$folder/tare-part.sh" "$@") || exit 1
exec sbatch --parsable ${TARE_SBATCH:-} --dependency=afterany:"${id%%;*}" \
    "$folder/tare-join.sh" "$((rounds - 1))" "$out" "$@"
