#!/usr/bin/env bash
# Everything that needs a GPU, in a folder that can be copied to one.
#
#   tools/gpu-test.sh [--binaries[=ARCH]] [--networks=NAME,...] [FOLDER]
#
# Writes FOLDER (default: $LWCC_BUILD/gpu-test), under 64 MiB: the runtime, emitted
# CUDA programs, a little data, the losses of the CPU target and of PyTorch, and
# run.py. On the GPU machine (a Python; PyTorch and torchvision for the comparison
# of speed):  python3 FOLDER/run.py  tests and measures as much as six minutes
# allow; --help tells what. If this machine has a GPU, it is run here at once.
#
#   --binaries   take the programs along, too, compiled here by lwcc for ARCH (sm_90
#                if not given) and as PTX for newer ones: the GPU machine then needs
#                no compiler, only cuDNN 9 and cuBLASLt 13
#   --networks   only these
#
# Not run on a GPU yet. Environment: LWCC_BUILD (default build/), LWCC_DEPS.
# In braces: read whole before anything runs, so that it may be edited meanwhile.
{
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LWCC_BUILD:-$root/build}
deps=${LWCC_DEPS:-$HOME/.local/share/lwcc}
oracle=$deps/oracle/bin/python
models=$build/models
digits=$build/digits
export LWCC_DEPS=$deps PYTHONDONTWRITEBYTECODE=1

fail() {
  echo "gpu-test.sh: $1" >&2
  exit "${2:-1}"
}
architecture="" networks="" folder=""
for argument in "$@"; do
  case $argument in
    -h | --help) sed -n '2,/^# In braces/{/^# In braces/!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --binaries) architecture=sm_90 ;;
    --binaries=sm_[0-9]*) architecture=${argument#*=} ;;
    --networks=*) networks=,${argument#*=}, ;;
    -*) fail "unknown option $argument (see --help)" 2 ;;
    *)
      [[ -z $folder ]] || fail "unexpected $argument behind $folder" 2
      folder=$argument
      ;;
  esac
done
folder=${folder:-$build/gpu-test}
needed=(lwcc lwcc-run)
[[ -z $architecture ]] || needed+=(ops-check-cuda)
for program in "${needed[@]}"; do
  [[ -x $build/bin/$program ]] ||
    fail "$build/bin/$program is missing; run tools/test.sh unit first"
done
[[ ! -e $folder || -e $folder/run.py ]] ||
  fail "$folder exists and was not made by this script"

# Networks for losses (small ones) and for speed: name, batch; most interesting
# first. Of some, lwcc profile wants a trace.
small=(mlp lenet5 alexnet2012 squeezenet1_1 mobilenet_v3_small googlenet resnet18 resnet_cifar)
full=("resnet50 64 trace" "alexnet 256 trace" "vgg16 64 trace" "mobilenet_v2 64" "lenet5 64")
# The same losses under plans for several devices, which one GPU stands for.
plans=("lenet5 4 owt" "resnet18 4 data" "resnet18 3 model" "squeezenet1_1 2 data" "alexnet2012 4 mixed")
for name in ${networks//,/ }; do
  [[ " ${small[*]} ${full[*]} " == *" $name "* ]] || fail "there is no network $name" 2
done
wanted() { [[ -z $networks || $networks == *",$1,"* ]]; }

rm -rf "$folder"
mkdir -p "$folder"/{programs,expected,data,models,test/unit/runtime-cuda}
folder=$(cd "$folder" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/onnx"
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
  if [[ -n $architecture ]]; then
    "$build/bin/lwcc" "$model" --target=cuda --arch="$architecture" "$@" -o "$work/bin/$name"
  fi
  echo "gpu-test.sh: $name" >&2
}
# What is expected of a network, of a program of it.
expect() { # NETWORK NAME PRECISION DEVICES
  "$oracle" -c 'import json, sys
expected = json.load(open(sys.argv[1]))
expected.update(precision=sys.argv[3], devices=int(sys.argv[4]))
json.dump(expected, open(sys.argv[2], "w"), indent=1)' \
    "$work/$1.json" "$folder/expected/$2.json" "$3" "$4"
}

chosen=()
for name in "${small[@]}"; do
  if wanted "$name"; then chosen+=("$name"); fi
done
((${#chosen[@]} == 0)) ||
  "$oracle" "$root/test/models/make_models.py" "$models" --exporter=legacy "${chosen[@]}"
for name in "${chosen[@]}"; do
  "$oracle" "$root/tools/gpu/lighten.py" "$models/$name.legacy.onnx" "$work/onnx/$name.onnx"
  "$oracle" "$root/tools/gpu/expected.py" "$work/onnx/$name.onnx" --data="$folder/data" \
    --lwcc-run="$build/bin/lwcc-run" --out="$work/$name.json"
  emit "$name" "$work/onnx/$name.onnx" --batch=8
  expect "$name" "$name" fp32 1
  emit "$name-tf32" "$work/onnx/$name.onnx" --batch=8 --precision=tf32
  expect "$name" "$name-tf32" tf32 1
done

for entry in "${plans[@]}"; do
  read -r name gpus plan <<<"$entry"
  wanted "$name" || continue
  flags=("--strategy=$plan")
  if [[ $plan == mixed ]]; then
    "$oracle" "$root/test/parity/mixed_plan.py" "$work/onnx/$name.onnx" "$gpus" >"$work/plan.json"
    flags=("--plan=$work/plan.json")
  fi
  emit "$name-$plan-$gpus" "$work/onnx/$name.onnx" --batch=8 --gpus="$gpus" "${flags[@]}"
  expect "$name" "$name-$plan-$gpus" fp32 "$gpus"
done

# The models stay: with one, lwcc profile reads its trace.
separator=""
{
  echo "["
  for entry in "${full[@]}"; do
    read -r name batch trace <<<"$entry"
    wanted "$name" || continue
    "$oracle" "$root/test/models/make_models.py" "$work" --exporter=legacy --size=full "$name" >&2
    "$oracle" "$root/tools/gpu/lighten.py" "$work/$name-full.legacy.onnx" \
      "$folder/models/$name-full.onnx"
    rm -f "$work/$name-full.legacy.onnx"
    for precision in tf32 fp32; do
      emit "$name-$batch-$precision" "$folder/models/$name-full.onnx" --batch="$batch" \
        --precision="$precision" >&2
      traced=false
      [[ -z $trace || $precision != fp32 ]] || traced=true
      printf '%s  {"program": "%s", "network": "%s", "batch": %d, "precision": "%s", "model": "%s", "trace": %s}' \
        "$separator" "$name-$batch-$precision" "$name" "$batch" "$precision" \
        "$name-full.onnx" "$traced"
      separator=$',\n'
    done
  done
  printf '\n]\n'
} >"$folder/speed.json"

if [[ -n $architecture ]]; then
  cp "$build/bin/ops-check-cuda" "$work/bin"
  # They have the runtime in common: a dictionary that spans several.
  tar -C "$work/bin" --sort=name -cf - . |
    xz -T1 --lzma2=preset=1,dict=128MiB >"$folder/binaries.tar.xz"
  echo "{\"architecture\": ${architecture#sm_}}" >"$folder/binaries.json"
fi

# cuDNN must take every graph of one device before anybody goes to a GPU.
if [[ -x $build/bin/cudnn-plan-check ]]; then
  programs=()
  for folder_of in "$folder"/programs/*; do
    grep -q '^using Gpus' "$folder_of"/*.cu || programs+=("$folder_of"/*.cu)
  done
  shapes=$(python3 "$root/tools/gpu/conv-shapes.py" "${programs[@]}")
  [[ -z $shapes ]] || "$build/bin/cudnn-plan-check" <<<"$shapes"
fi
bytes=$(du -sb "$folder" | cut -f1)
echo "gpu-test.sh: $folder, $((bytes / 1000000)) MB"
((bytes < 64 << 20)) || fail "the folder is above 64 MiB"
if command -v nvidia-smi >/dev/null && nvidia-smi -L 2>/dev/null | grep -q GPU; then
  python3 "$folder/run.py"
  exit
fi
echo "gpu-test.sh: no GPU here; copy the folder to one and run: python3 run.py"
exit 0
}
