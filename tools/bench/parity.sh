#!/usr/bin/env bash
# The parity table: every model, both exporters, 20 steps against PyTorch.
#
#   tools/bench/parity.sh [NAME ...]
#
# Prints a markdown table (kept in $LWCC_BUILD/parity-table.md). Nets with batch
# normalization take a smaller learning rate: at 64x64 and batch 8, freshly drawn,
# their trajectories separate by rounding alone, in PyTorch's single precision too
# (at 1e-5 less so: ResNet-18 then stays within 3e-7).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=${LWCC_BUILD:-$root/build}
oracle=${LWCC_DEPS:-$HOME/.local/share/lwcc}/oracle/bin/python
export PATH=$build/bin:$PATH
plain="lenet5 lenet5_loss mlp mlp_softmax alexnet alexnet2012 vgg11 vgg16 squeezenet1_1"
normalized="vgg16_bn resnet18 resnet50 googlenet inception_v3 mobilenet_v2 mobilenet_v3_small resnet_cifar"
if (($#)); then
  chosen=" $* "
  pick() { for name in $1; do [[ $chosen != *" $name "* ]] || echo "$name"; done; }
  plain=$(pick "$plain") normalized=$(pick "$normalized")
fi
"$oracle" "$root/test/models/make_models.py" "$build/models" $plain $normalized
[[ -d $build/digits/val ]] || "$oracle" "$root/tools/data/make_digits.py" "$build/digits"

code=0
table() { # LEARNING-RATE NAME...
  local lr=$1 files=() name
  shift
  (($#)) || return 0
  for name in "$@"; do files+=("$build/models/$name".{dynamo,legacy}.onnx); done
  echo "SGD, lr $lr, momentum 0.9, weight decay 5e-4, batch 8, 20 steps:"
  "$oracle" "$root/test/parity/parity.py" --data="$build/digits/train" --lr="$lr" \
    --batch=8 --steps=20 "${files[@]}" || code=1
}
{
  table 0.01 $plain
  table 0.001 $normalized
  exit "$code"
} | tee "$build/parity-table.md"
