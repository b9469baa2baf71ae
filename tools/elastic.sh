#!/usr/bin/env bash
# Trains on several machines, and on those that are left when some are lost:
# compiles for the number that there is, trains, and when a rank is lost begins
# again from the last checkpoint.
#
#   tools/elastic.sh NODES MODEL [LWCC FLAGS] -- TRAINER FLAGS
#   tools/elastic.sh 4 model.onnx --target=cpu --batch=64 -- --data=train --epochs=90 --checkpoint-dir=ck
#
# Here all ranks are started on this machine. For a cluster, set START to a command
# that starts a program on so many nodes, in which NODES stands for their number, as
# in START='srun --nodes=NODES --ntasks-per-node=1'. COUNT is a command that prints how many
# nodes there are; without it, each loss is of one.
set -euo pipefail

usage() { sed -n '2,/^set/{/^set/d;s/^# \?//;p}' "$0"; }
if (($# < 3)) || [[ $1 != [1-9]* ]]; then
  usage >&2
  exit 2
fi
nodes=$1 model=$2
shift 2
compile=()
while (($#)) && [[ $1 != -- ]]; do
  compile+=("$1")
  shift
done
(($#)) && shift # the --
lost=75         # a rank's exit code when another is lost

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
while true; do
  echo "elastic.sh: for $nodes nodes" >&2
  lwcc "$model" --gpus="$nodes" --nodes="$nodes" "${compile[@]}" -o "$folder/trainer"
  code=0
  if [[ -n ${START-} ]]; then
    # Words of their own, as they were written.
    # shellcheck disable=SC2086
    ${START//NODES/$nodes} "$folder/trainer" "$@" --resume=auto || code=$?
  else
    "$folder/trainer" --ranks="$nodes" "$@" --resume=auto || code=$?
  fi
  ((code == lost)) || exit "$code"
  nodes=$(if [[ -n ${COUNT-} ]]; then $COUNT; else echo $((nodes - 1)); fi)
  if ((nodes < 1)); then
    echo "elastic.sh: no node is left" >&2
    exit "$lost"
  fi
done
