#!/usr/bin/env bash
# How long compiling takes, and how soon a trainer takes its first step.
#
#   tools/bench/compile.sh [NAME ...]        (default: resnet50 alexnet)
#
# The full networks (224x224, 1000 classes): to source, to a CPU binary, from the
# trainer's start to its first step (the end of the first step less the median
# step), the time that reading the weights takes by itself, and what finding a plan
# for four GPUs takes (--gpus=4). Best of three, in seconds; the compiler's cache is
# off.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${LWCC_BUILD:-$root/build}
oracle=${LWCC_DEPS:-$HOME/.local/share/lwcc}/oracle/bin/python
export PATH=$build/bin:$PATH CCACHE_DISABLE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
names=("$@")
((${#names[@]})) || names=(resnet50 alexnet)
"$oracle" "$root/test/models/make_models.py" "$build/models" --size=full \
  --exporter=legacy "${names[@]}"

best() { # COMMAND...: the shortest of three runs
  local times=() start run
  for run in 1 2 3; do
    start=$EPOCHREALTIME
    "$@" >"$work/output" 2>&1 || { cat "$work/output" >&2; return 1; }
    times+=("$(awk "BEGIN { print $EPOCHREALTIME - $start }")")
  done
  printf '%s\n' "${times[@]}" | sort -g | head -1
}
start_up() { # LOG
  "$oracle" -c 'import json, sys
last = json.loads(open(sys.argv[1]).readlines()[-1])
print(last["first_step_s"] - last["median_s"])' "$1"
}

echo "| model | to source | to CPU binary | start to the first step | reading the weights | planning for 4 GPUs |"
echo "|---|---|---|---|---|---|"
for name in "${names[@]}"; do
  model=$build/models/$name-full.legacy.onnx
  source=$(best lwcc "$model" --target=cpu --batch=16 --emit=source -o "$work/$name-source")
  binary=$(best lwcc "$model" --target=cpu --batch=16 -o "$work/$name")
  "$work/$name" --benchmark=2 --log="$work/log" >/dev/null # into the page cache
  start=$(for run in 1 2 3; do
    "$work/$name" --benchmark=2 --log="$work/log" >/dev/null
    start_up "$work/log"
  done | sort -g | head -1)
  weights=$(best cat "$work/$name")
  plan=$(for run in 1 2 3; do
    lwcc "$model" --batch=64 --gpus=4 --machine=h200x4 --emit=plan -v -o "$work/plan" 2>&1 |
      awk '$1 == "planned" { print $2 }'
  done | sort -g | head -1)
  printf '| %s | %.1f s | %.1f s | %.2f s | %.2f s | %.2f s |\n' \
    "$name" "$source" "$binary" "$start" "$weights" "$plan"
done
