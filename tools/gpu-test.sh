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
# Last run on an H100, 2026-11-27. Environment: LWCC_BUILD (default build/), LWCC_DEPS.
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
# The same losses under other plans: name, devices (which one GPU stands for), a word
# for the plan, flags.
plans=(
  "lenet5 4 owt --strategy=owt"
  "resnet18 4 data --strategy=data"
  "resnet18 3 model --strategy=model"
  "squeezenet1_1 2 data --strategy=data"
  "alexnet2012 4 mixed --plan=mixed"
  "alexnet2012 4 1f1b --strategy=pipeline --schedule=1f1b --micro-batches=4"
  "alexnet2012 2 gpipe --strategy=pipeline --schedule=gpipe --micro-batches=2"
  "lenet5 3 zb-h1 --strategy=pipeline --schedule=zb-h1 --micro-batches=8"
  "alexnet2012 1 parts --micro-batches=4"
  "squeezenet1_1 1 lanes --plan=lanes"
  "googlenet 2 lanes --plan=lanes")
# Of the zoo (test/models/zoo_networks.py), one for each kind of operators.
zoo=(vit gpt_tied convnext swin lstm_text unet_transposed unet_bilinear efficientnet
  instance_style local_response nfnet levit bert dlrm pointnet r3d normalizations
  mlp_pieces mlp_rare categories pixels tagger siamese senet)
for name in ${networks//,/ }; do
  [[ " ${small[*]} ${full[*]} ${zoo[*]} " == *" $name "* ]] ||
    fail "there is no network $name" 2
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
# What is expected of a network, of a program of it; those with other plans are also
# stopped and resumed.
expect() { # NETWORK NAME PRECISION DEVICES [resume]
  "$oracle" -c 'import json, sys
expected = json.load(open(sys.argv[1]))
expected.update(precision=sys.argv[3], devices=int(sys.argv[4]), resume=len(sys.argv) > 5)
json.dump(expected, open(sys.argv[2], "w"), indent=1)' \
    "$work/$1.json" "$folder/expected/$2.json" "${@:3}"
}
# One after the other within a job, as many jobs at once as there are processors.
job() { # FUNCTION ARGUMENT...
  while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || exit; done
  "$@" &
}
finish_jobs() {
  while [[ -n $(jobs -p) ]]; do wait -n || exit; done
}

small_network() { # NAME
  local name=$1
  "$oracle" "$root/tools/gpu/lighten.py" "$models/$name.legacy.onnx" "$work/onnx/$name.onnx"
  "$oracle" "$root/tools/gpu/expected.py" "$work/onnx/$name.onnx" --data="$folder/data" \
    --lwcc-run="$build/bin/lwcc-run" --out="$work/$name.json"
  emit "$name" "$work/onnx/$name.onnx" --batch=8
  expect "$name" "$name" fp32 1
  emit "$name-tf32" "$work/onnx/$name.onnx" --batch=8 --precision=tf32
  expect "$name" "$name-tf32" tf32 1
}

planned() { # NETWORK DEVICES WORD FLAG...
  local network=$1 devices=$2 name=$1-$3-$2 flags=() flag
  shift 3
  for flag in "$@"; do
    if [[ $flag == --plan=* ]]; then
      "$oracle" "$root/test/parity/${flag#*=}_plan.py" "$work/onnx/$network.onnx" \
        "$devices" >"$work/$name.plan"
      flag=--plan=$work/$name.plan
    fi
    flags+=("$flag")
  done
  emit "$name" "$work/onnx/$network.onnx" --batch=8 --gpus="$devices" "${flags[@]}"
  expect "$network" "$name" fp32 "$devices" resume
}

zoo_network() { # NAME
  local name=$1
  "$oracle" "$root/tools/gpu/expected_zoo.py" "$name" --lwcc-run="$build/bin/lwcc-run" \
    --model="$work/onnx/zoo-$name.onnx" --data="$folder/data-$name" --out="$work/zoo-$name.json"
  emit "zoo-$name" "$work/onnx/zoo-$name.onnx" --batch=8
  expect "zoo-$name" "zoo-$name" fp32 1
}

full_network() { # NAME BATCH
  local name=$1 batch=$2 precision
  "$oracle" "$root/test/models/make_models.py" "$work" --exporter=legacy --size=full "$name" >&2
  "$oracle" "$root/tools/gpu/lighten.py" "$work/$name-full.legacy.onnx" \
    "$folder/models/$name-full.onnx"
  rm -f "$work/$name-full.legacy.onnx"
  for precision in tf32 fp32; do
    emit "$name-$batch-$precision" "$folder/models/$name-full.onnx" --batch="$batch" \
      --precision="$precision"
  done
}

chosen=()
for name in "${small[@]}"; do
  if wanted "$name"; then chosen+=("$name"); fi
done
((${#chosen[@]} == 0)) ||
  "$oracle" "$root/test/models/make_models.py" "$models" --exporter=legacy "${chosen[@]}"
for name in "${chosen[@]}"; do job small_network "$name"; done
finish_jobs
for entry in "${plans[@]}"; do
  read -ra fields <<<"$entry"
  if wanted "${fields[0]}"; then job planned "${fields[@]}"; fi
done
for name in "${zoo[@]}"; do
  if wanted "$name"; then job zoo_network "$name"; fi
done
separator=""
{
  echo "["
  for entry in "${full[@]}"; do
    read -r name batch trace <<<"$entry"
    wanted "$name" || continue
    for precision in tf32 fp32; do
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
# Their models stay: with one, lwcc profile reads its trace.
for entry in "${full[@]}"; do
  read -r name batch trace <<<"$entry"
  if wanted "$name"; then job full_network "$name" "$batch"; fi
done
finish_jobs

if [[ -n $architecture ]]; then
  cp "$build/bin/ops-check-cuda" "$work/bin"
  # They have the runtime in common: a dictionary that spans several.
  tar -C "$work/bin" --sort=name -cf - . |
    xz -T1 --lzma2=preset=1,dict=128MiB >"$folder/binaries.tar.xz"
  echo "{\"architecture\": ${architecture#sm_}}" >"$folder/binaries.json"
fi

# Of UCX, for several ranks; a GPU machine may have none.
mkdir -p "$folder/libraries"
for library in libucp.so.0 libuct.so.0 libucs.so.0 libucm.so.0 libnuma.so.1; do
  file=$(ldconfig -p | sed -n "s|.*$library .*x86-64.* => ||p" | head -1)
  [[ -n $file ]] || fail "no $library: run tools/setup.sh"
  cp -L "$file" "$folder/libraries/$library"
done

# cuDNN must take every graph of one device before anybody goes to a GPU.
if [[ -x $build/bin/cudnn-plan-check ]]; then
  programs=()
  for folder_of in "$folder"/programs/*; do # not those of several devices or parts
    grep -qE '^using Gpus|images\[0\]' "$folder_of"/*.cu || programs+=("$folder_of"/*.cu)
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
