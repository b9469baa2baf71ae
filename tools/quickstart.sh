#!/usr/bin/env bash
# From a clean clone to two trained networks, in one command.
#
#   tools/quickstart.sh
#
# Installs what is missing (tools/setup.sh), builds lwcc, writes a data set of
# handwritten digits, compiles the two models of examples/ and trains them: on
# the GPU if there is one, else on the CPU. Everything it makes lies in
# $LWCC_BUILD (default build/).
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LWCC_BUILD:-$root/build}
deps=${LWCC_DEPS:-$HOME/.local/share/lwcc}
out=$build/quickstart
export LWCC_DEPS=$deps
[[ ${1:-} != -h && ${1:-} != --help ]] || { sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0; }

say() { printf '\n\033[1m== %s\033[0m\n' "$*"; }
show() { printf '$ %s\n' "${*//$root\//}"; "$@"; } # a command, then what it prints

say "Installing what is missing"
"$root/tools/setup.sh"
started=$SECONDS

say "Building lwcc"
[[ -f $build/build.ninja ]] || cmake -G Ninja -B "$build" -S "$root" >"$build.log" ||
  { cat "$build.log"; exit 1; }
rm -f "$build.log"
ninja -C "$build" --quiet lwcc
built=$((SECONDS - started))

say "Writing the data set: 1,797 handwritten digits of scikit-learn"
[[ -d $build/digits/val ]] || "$deps/oracle/bin/python" "$root/tools/data/make_digits.py" "$build/digits"

# A GPU is one that the driver lists, and nvcc is needed to compile for it.
target=cpu batch=32 steps=40
if gpus=$(nvidia-smi -L 2>/dev/null | grep -c GPU); then
  target=cuda batch=64 steps=460
  # AlexNet is planned for four devices: one GPU may stand for all of them.
  ((gpus >= 4)) || export LWCC_DEVICES=0,0,0,0
fi
mkdir -p "$out"

say "Compiling and training LeNet-5 (target $target)"
show "$build/bin/lwcc" "$root/examples/lenet5.onnx" --target=$target --batch=32 -o "$out/lenet5"
show "$out/lenet5" --data="$build/digits/train" --val-data="$build/digits/val" \
  --epochs=15 --lr=0.01 --momentum=0.9 --weight-decay=5e-4 \
  --log="$out/lenet5.jsonl" --export-onnx="$out/lenet5-trained.onnx"

say "Compiling and training AlexNet for four devices: 61 million parameters, images of 224x224 (target $target)"
echo "How each layer is cut for them, lwcc finds by itself (--explain says why); on the CPU target"
echo "a device is an arena with threads of its own."
show "$build/bin/lwcc" "$root/examples/alexnet.onnx" --target=$target --batch=$batch \
  --gpus 4 -o "$out/alexnet"
show "$out/alexnet" --data="$build/digits/train" --val-data="$build/digits/val" \
  --steps=$steps --log-interval=5 --lr=0.005 --momentum=0.9 --weight-decay=5e-4 \
  --log="$out/alexnet.jsonl" --export-onnx="$out/alexnet-trained.onnx"

say "Done"
"$deps/oracle/bin/python" - "$out" $target $built $((SECONDS - started)) <<'PYTHON'
import json
import os
import sys

out, target, built, seconds = sys.argv[1:]
print(f"lwcc was built in {built} s; everything beyond the installation took {seconds} s.")
reached = {}
for name, what in ("lenet5", "LeNet-5"), ("alexnet", "AlexNet"):
    with open(f"{out}/{name}.jsonl") as lines:
        records = [json.loads(line) for line in lines]
    losses = [r["loss"] for r in records if "loss" in r]
    first, last = losses[0], sum(losses[-5:]) / len(losses[-5:])
    top1 = [r["val_top1"] for r in records if "val_top1" in r][-1]
    reached[name] = (first > last, top1)
    print(f"{what}: {len(losses)} steps on the {target} target, loss {first:.3f} -> "
          f"{last:.3f}, held-out accuracy {100 * top1:.1f} %")
    print(f"  trainer       {os.path.relpath(out)}/{name}")
    print(f"  trained model {os.path.relpath(out)}/{name}-trained.onnx")
if not all(falls for falls, _ in reached.values()) or reached["lenet5"][1] < 0.97:
    sys.exit("quickstart.sh: a loss did not fall, or LeNet-5 stayed under 97 %")
PYTHON
