#!/usr/bin/env bash
# Plans against PyTorch: four models under every fixed strategy and a mixed plan,
# on 2, 3, 4 and 8 devices of the CPU target; under the plans that searches find
# for two machines, on 2, 4 and 8; and VGG-16 under OptCNN's plan.
#
#   tools/bench/plans.sh [--random=N]     (N more random networks and plans)
#
# Prints a markdown table (kept in $LWCC_BUILD/plans-table.md), three steps each.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${LWCC_BUILD:-$root/build}
oracle=${LWCC_DEPS:-$HOME/.local/share/lwcc}/oracle/bin/python
export PATH=$build/bin:$PATH
random=0
[[ ${1:-} == --random=* ]] && random=${1#--random=}
"$oracle" "$root/test/models/make_models.py" "$build/models" \
  alexnet vgg11 vgg16 resnet18 googlenet
[[ -d $build/digits/val ]] || "$oracle" "$root/tools/data/make_digits.py" "$build/digits"

variants=()
for gpus in 2 3 4 8; do
  for plan in --strategy=data --strategy=model --strategy=owt --plan=mixed; do
    variants+=("--compile=--gpus=$gpus $plan")
  done
done
for gpus in 2 4 8; do
  for strategy in auto layerwise "mcmc --search-seed=1"; do
    for machine in p100-4x4 h200x8; do
      variants+=("--compile=--gpus=$gpus --machine=$machine --strategy=$strategy")
    done
  done
done
code=0
compare=("$oracle" "$root/test/parity/parity.py" "--data=$build/digits/train"
  --steps=3 --batch=8 --lr=0.001)
{
  "${compare[@]}" "${variants[@]}" \
    "$build"/models/{alexnet,vgg11,resnet18,googlenet}.legacy.onnx || code=1
  "${compare[@]}" "--compile=--gpus=4 --plan=$root/examples/vgg16-table5.json" \
    "$build/models/vgg16.legacy.onnx" || code=1
  exit "$code"
} | tee "$build/plans-table.md"
((random == 0)) || "$oracle" "$root/test/parity/plans.py" --cases="$random" --first=100000
