#!/usr/bin/env bash
# How much larger a device's arena is than what lives in it at the peak.
#
#   tools/bench/memory.sh [--gpus=2,3,4,8] [MODEL.onnx ...]
#   (default: alexnet, vgg11, resnet18, googlenet, made at small images, and
#   VGG-16 under OptCNN's plan)
#
# Each model under every fixed strategy, the layer-wise search and a mixed plan:
# a row with the ratio of the worst device, and what lwcc -v says of it. A last
# line tells the worst of all. Compiles to source only.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${LWCC_BUILD:-$root/build}
oracle=${LWCC_DEPS:-$HOME/.local/share/lwcc}/oracle/bin/python
export PATH=$build/bin:$PATH
gpus=2,3,4,8
if [[ ${1:-} == --gpus=* ]]; then
  gpus=${1#--gpus=}
  shift
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=("$@")
if ((!$#)); then
  "$oracle" "$root/test/models/make_models.py" "$build/models" --exporter=legacy \
    alexnet vgg11 resnet18 googlenet vgg16
  models=("$build"/models/{alexnet,vgg11,resnet18,googlenet}.legacy.onnx)
fi

echo "| model | devices | plan | arena / max-live | of the worst device |"
echo "|---|---|---|---|---|"
row() { # MODEL GPUS NAME FLAG
  rm -rf "$work/source"
  lwcc "$1" --target=cpu --batch=16 "--gpus=$2" "$4" --emit=source -v \
    -o "$work/source" >"$work/log" 2>&1 || { cat "$work/log" >&2; return 1; }
  # "gpu0: max-live 99.0 MiB, arena 99.0 MiB, ratio 1.0000 (...)"
  sed -nE 's/^(\S+: max-live .*), ratio ([0-9.]+) .*/\2 \1/p' "$work/log" | sort -g |
    tail -1 >"$work/worst"
  read -r ratio device <"$work/worst"
  echo "$ratio" >>"$work/ratios"
  echo "| $(basename "$1" .onnx) | $2 | $3 | $ratio | $device |"
}
for model in "${models[@]}"; do
  for count in ${gpus//,/ }; do
    "$oracle" "$root/test/parity/mixed_plan.py" "$model" "$count" >"$work/mixed.json"
    for strategy in data model owt layerwise; do
      row "$model" "$count" "$strategy" "--strategy=$strategy"
    done
    row "$model" "$count" mixed "--plan=$work/mixed.json"
  done
done
(($#)) || row "$build/models/vgg16.legacy.onnx" 4 "OptCNN's table 5" \
  "--plan=$root/examples/vgg16-table5.json"
echo "$(wc -l <"$work/ratios") plans, at most $(sort -g "$work/ratios" | tail -1)"
