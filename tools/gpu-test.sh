#!/usr/bin/env bash
# Everything that needs a GPU, in a folder that can be copied to one.
#
#   tools/gpu-test.sh [FOLDER]      (default: $LWCC_BUILD/gpu-test)
#
# Writes FOLDER, under 50 MB: the runtime, emitted CUDA programs, a little data,
# the losses of the CPU target and of PyTorch, and run.py. On the GPU machine
# (nvcc 13.0, CMake, a Python with PyTorch, torchvision for the comparison of
# speed):  python3 FOLDER/run.py  builds and runs it in under 10 minutes. If this
# machine has a GPU, it is run here at once.
#
# Not run on a GPU yet. Environment: LWCC_BUILD (default build/), LWCC_DEPS.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LWCC_BUILD:-$root/build}
deps=${LWCC_DEPS:-$HOME/.local/share/lwcc}
oracle=$deps/oracle/bin/python
models=$build/models
digits=$build/digits
export LWCC_DEPS=$deps PYTHONDONTWRITEBYTECODE=1

case ${1:-} in
  -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  -*) echo "gpu-test.sh: unknown option $1 (see --help)" >&2; exit 2 ;;
esac
folder=${1:-$build/gpu-test}
for program in lwcc lwcc-run; do
  [[ -x $build/bin/$program ]] || {
    echo "gpu-test.sh: $build/bin/$program is missing; run tools/test.sh unit first" >&2
    exit 1
  }
done
if [[ -e $folder && ! -e $folder/run.py ]]; then
  echo "gpu-test.sh: $folder exists and was not made by this script" >&2
  exit 1
fi

rm -rf "$folder"
mkdir -p "$folder"/{programs,expected,data,models,test/unit/runtime-cuda}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$root"/tools/gpu/bundle/* "$folder"
cp -r "$root/runtime" "$folder"
cp -r /usr/include/nlohmann "$folder/runtime/third_party" # beside its licence
rm -rf "$folder/runtime/cpu"
cp -r "$root/test/unit/runtime-cuda/ops" "$folder/test/unit/runtime-cuda"
cp "$root/test/models/networks.py" "$folder/models"
[[ -d $digits/train ]] || "$oracle" "$root/tools/data/make_digits.py" "$digits"
"$oracle" - "$digits/train" "$folder/data" <<'PYTHON'
import sys
import numpy as np
for name in ("images.npy", "labels.npy"):
    np.save(f"{sys.argv[2]}/{name}", np.load(f"{sys.argv[1]}/{name}")[:256])
PYTHON

# The program of a model, without the runtime that stands beside all programs.
emit() { # NAME MODEL FLAG...
  local name=$1 model=$2
  shift 2
  "$build/bin/lwcc" "$model" --target=cuda --emit=source "$@" -o "$work/$name"
  mkdir "$folder/programs/$name"
  cp "$work/$name"/*.cu "$work/$name"/weights.* "$folder/programs/$name"
  rm -rf "${work:?}/$name"
}

small=(mlp lenet5 alexnet2012 squeezenet1_1 mobilenet_v3_small googlenet resnet18 resnet_cifar)
"$oracle" "$root/test/models/make_models.py" "$models" --exporter=legacy "${small[@]}"
for name in "${small[@]}"; do
  "$oracle" "$root/tools/gpu/lighten.py" "$models/$name.legacy.onnx" "$work/$name.onnx"
  emit "$name" "$work/$name.onnx" --batch=8
  "$oracle" "$root/tools/gpu/expected.py" "$work/$name.onnx" --data="$folder/data" \
    --lwcc-run="$build/bin/lwcc-run" --out="$folder/expected/$name.json"
  echo "gpu-test.sh: $name"
done

# The same losses under plans for several devices, which one GPU stands for.
plans=("lenet5 4 owt" "resnet18 4 data" "resnet18 3 model" "squeezenet1_1 2 data" "alexnet2012 4 mixed")
for entry in "${plans[@]}"; do
  read -r name gpus plan <<<"$entry"
  flags=("--strategy=$plan")
  if [[ $plan == mixed ]]; then
    "$oracle" "$root/test/parity/mixed_plan.py" "$work/$name.onnx" "$gpus" >"$work/plan.json"
    flags=("--plan=$work/plan.json")
  fi
  emit "$name-$plan-$gpus" "$work/$name.onnx" --batch=8 --gpus="$gpus" "${flags[@]}"
  "$oracle" -c 'import json, sys
expected = json.load(open(sys.argv[1]))
expected["devices"] = int(sys.argv[3])
json.dump(expected, open(sys.argv[2], "w"), indent=1)' \
    "$folder/expected/$name.json" "$folder/expected/$name-$plan-$gpus.json" "$gpus"
  echo "gpu-test.sh: $name, $plan on $gpus devices"
done

# Full networks for speed: program, network of networks.py, batch, precision.
full=("lenet5 64" "alexnet 256" "resnet50 64" "mobilenet_v2 64" "vgg16 64")
separator=""
{
  echo "["
  for entry in "${full[@]}"; do
    read -r name batch <<<"$entry"
    "$oracle" "$root/test/models/make_models.py" "$work" --exporter=legacy --size=full "$name" >&2
    "$oracle" "$root/tools/gpu/lighten.py" "$work/$name-full.legacy.onnx" "$work/$name-full.onnx"
    rm -f "$work/$name-full.legacy.onnx"
    for precision in fp32 tf32; do
      emit "$name-$batch-$precision" "$work/$name-full.onnx" --batch="$batch" \
        --precision="$precision" >&2
      printf '%s  {"program": "%s", "network": "%s", "batch": %d, "precision": "%s"}' \
        "$separator" "$name-$batch-$precision" "$name" "$batch" "$precision"
      separator=$',\n'
    done
    echo "gpu-test.sh: $name (full)" >&2
  done
  printf '\n]\n'
} >"$folder/speed.json"

# cuDNN must take every graph of one device before anybody goes to a GPU.
if [[ -x $build/bin/cudnn-plan-check ]]; then
  programs=()
  for folder_of in "$folder"/programs/*; do
    grep -q '^using Gpus' "$folder_of"/*.cu || programs+=("$folder_of"/*.cu)
  done
  python3 "$root/tools/gpu/conv-shapes.py" "${programs[@]}" | "$build/bin/cudnn-plan-check"
fi
bytes=$(du -sb "$folder" | cut -f1)
echo "gpu-test.sh: $folder, $((bytes / 1000000)) MB"
((bytes < 50000000)) || { echo "gpu-test.sh: the folder is above 50 MB" >&2; exit 1; }
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
  exec python3 "$folder/run.py"
fi
echo "gpu-test.sh: no GPU here; copy the folder to one and run: python3 run.py"
