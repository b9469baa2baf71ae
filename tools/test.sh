#!/usr/bin/env bash
# Builds lwcc and runs every test; the last line is the count over everything.
#
#   tools/test.sh [--no-setup] [SECTION ...]
#
# Sections, in order (all of them if none is named):
#   style       clang-format over all files, clang-tidy over changed ones (tools/style.py),
#               names in Python (tools/style_python.py)
#   unit        GoogleTest programs
#   lit         passes, code generation, command lines (lit and FileCheck)
#   oracle      the PyTorch oracle itself, against ONNX Runtime
#   operators   every operator's gradients over a grid, against the oracle; ONNX's
#               own 1,884 node tests, of which none may be wrong
#   plans       300 random networks under random plans on up to six devices,
#               against one device; three models under every schedule of a pipeline;
#               a few models on several devices against the oracle
#   parity      every model, against the oracle (few steps; all 20, with both
#               exporters: tools/bench/parity.sh); a quarter of the zoo, from three exports,
#               against the modules (all: test/parity/zoo.py); models of scikit-learn
#   emitted     every model's emitted CPU program, against lwcc-run
#   cuda        every second model's emitted CUDA program compiles and links, in turn
#               for one architecture or all; cuDNN takes every convolution of all, and what
#               is carried to a GPU machine starts; all operators, some models'
#               programs, some random networks and what is carried run on emulated
#               GPUs (test/cuda-emulation; with nvcc; no GPU is needed)
#
# Sections that take long, only if they are named (tools/nightly.sh names all):
#   tidy        clang-tidy over all files
#   emulation   on emulated GPUs: operators with ten seeds, every model's programs,
#               100 random networks under random plans
#   more-cuda   every model's emitted CUDA program for every architecture
#   mutants     the CUDA runtime broken in 80 ways: does the emulation notice?
#   more-operators  twice as many cases of operators, each also under three random plans
#   more-plans  5,100 further random networks; 16 models under every schedule
#   faults      200 kills, full disks, signals and limits (tools/faults.py)
#   sanitizers  tools/sanitize.sh, with ten minutes for each fuzzer
#
# Environment: LWCC_BUILD (default build/), LWCC_DEPS, JOBS (default: cores).
# What a section printed lies in $LWCC_BUILD/test-logs.
# In braces: read whole before anything runs, so that it may be edited meanwhile.
{
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=${LWCC_BUILD:-$root/build}
deps=${LWCC_DEPS:-$HOME/.local/share/lwcc}
jobs=${JOBS:-$(nproc)}
oracle=$deps/oracle/bin/python
models=$build/models
data=$build/digits
logs=$build/test-logs
export PATH=$build/bin:$PATH LWCC_DEPS=$deps PYTHONDONTWRITEBYTECODE=1
# Trainers take as many threads whatever else runs. They would set the other one
# themselves and start anew for it (runtime/cpu/Threads.cpp): lwcc-run has to load
# twice.
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(nproc)}
export GOMP_SPINCOUNT=${GOMP_SPINCOUNT:-20000}
export PYTHONFAULTHANDLER=1
# PyTorch's largest tensors would be mapped and given back in every step.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=1099511627776

# What takes so long hangs: the longest step needs a quarter of it.
limit=1500
setup=1
sections=()
for argument in "$@"; do
  case $argument in
    --no-setup) setup=0 ;;
    style | unit | lit | oracle | operators | plans | parity | emitted | cuda | \
      tidy | emulation | more-cuda | mutants | more-operators | more-plans | faults | \
      sanitizers) sections+=("$argument") ;;
    -h | --help) sed -n '2,/^# In braces/{/^# In braces/!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "test.sh: no section $argument (see --help)" >&2; exit 2 ;;
  esac
done
((${#sections[@]})) || sections=(style unit lit oracle operators plans parity emitted cuda)

passed=0 failed=0 table=()
started=$SECONDS
# Adds a section's counts; a program that ended badly without naming a failure
# counts as one.
count() { # SECTION PASSED FAILED EXIT-CODE SECONDS
  local bad=${3:-0}
  (($4 != 0 && bad == 0)) && bad=1
  passed=$((passed + ${2:-0})) failed=$((failed + bad))
  table+=("$(printf '  %-12s %6d passed %5d failed %6d s' "$1" "${2:-0}" "$bad" "$5")")
}
# Every process that a process has started, and theirs; not `but`, nor what prints.
descendants() { # PROCESS BUT
  local child name
  while read -r child name; do
    [[ $child == "$2" || $name == tee ]] && continue
    descendants "$child" "$2"
    echo "$child"
  done < <(ps -o pid=,comm= --ppid "$1")
}

# Ends what hangs, and says what it was: Python prints its stack at this signal.
end_after() { # SECONDS NAME
  local all own=$BASHPID
  sleep "$1" &
  trap "kill $!; exit" TERM
  wait $!
  echo "test.sh: $2 takes more than $1 s; ended were:"
  mapfile -t all < <(descendants $$ "$own")
  ps -o pid,ppid,etimes,stat,wchan:24,args -p "$(IFS=,; echo "${all[*]}")" | cut -c1-300
  kill -ABRT "${all[@]}" 2>/dev/null
}

# Runs a command and takes the counts from its last line `N passed, M failed`.
counted() { # SECTION COMMAND...
  local name=$1 start=$SECONDS log=$logs/$1.log code line guard
  shift
  echo "== $name (at $((SECONDS - started)) s)"
  end_after "$limit" "$name" &
  guard=$!
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  kill "$guard" 2>/dev/null
  wait "$guard" 2>/dev/null
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
  read -r good _ bad _ <<<"${line:-0 passed, 0 failed}"
  [[ -n $line ]] || code=1
  count "$name" "$good" "$bad" "$code" $((SECONDS - start))
}

# Runs a program of unit tests; its output and its exit code lie in the logs.
run_unit() { # PROGRAM
  local log=$logs/unit-$(basename "$1").log
  (cd "$build" && "$1" --gtest_brief=1) >"$log" 2>&1
  echo $? >"$log.code"
}

unit() {
  local good=0 bad=0 program log code running=0
  local programs=()
  for program in "$build"/unit/*; do
    [[ -f $program && -x $program ]] && programs+=("$program")
  done
  rm -f "$logs"/unit-*.code
  for program in "${programs[@]}"; do
    ((running++ < jobs)) || wait -n
    run_unit "$program" &
  done
  wait
  for program in "${programs[@]}"; do
    log=$logs/unit-$(basename "$program").log
    code=$(cat "$log.code" 2>/dev/null || echo 1)
    grep -v '^\[  PASSED  \]\|^\[==========\]' "$log"
    local ran lost
    ran=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' "$log")
    lost=$(sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' "$log" | tail -1)
    if ((code != 0 && ${lost:-0} == 0)); then
      echo "FAIL $(basename "$program") ended with code $code"
      lost=1
    fi
    good=$((good + ${ran:-0})) bad=$((bad + ${lost:-0}))
  done
  echo "$good passed, $bad failed"
  ((bad == 0))
}

lit() {
  local log=$logs/lit-summary.log code
  python3 /usr/lib/llvm-22/bin/lit -v -j "$jobs" "$build/test" 2>&1 | tee "$log" |
    grep -v '^PASS:'
  code=${PIPESTATUS[0]}
  local good bad
  good=$(sed -n 's/^ *Passed *: *\([0-9]*\).*/\1/p' "$log" | tail -1)
  bad=$(sed -n 's/^ *\(Failed\|Unresolved\|Timed Out\|Unexpectedly Passed\) *: *\([0-9]*\).*/\2/p' "$log" |
    awk '{ sum += $1 } END { print sum + 0 }')
  echo "${good:-0} passed, ${bad:-0} failed"
  return "$code"
}

# Runs a command that ends with `N of M ...`, and says it as the others do.
of() { # COMMAND...
  local log=$logs/of.log code good all
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  read -r good all < <(sed -n 's/^\([0-9]*\) of \([0-9]*\) .*/\1 \2/p' "$log" | tail -1)
  echo "${good:-0} passed, $((${all:-1} - ${good:-0})) failed"
  return "$code"
}

make_inputs() {
  [[ -x $oracle ]] || { echo "test.sh: no test oracle in $deps; run tools/setup.sh" >&2; return 1; }
  "$oracle" "$root/test/models/make_models.py" "$models" &&
    { [[ -d $data/val ]] || "$oracle" "$root/tools/data/make_digits.py" "$data"; }
}

# Every second of some words.
half() { # WORD...
  local turn=0 word
  for word in "$@"; do
    ((turn++ % 2)) || echo "$word"
  done
}

# One exporter's file per model: the other's is the same network.
one_of_each() {
  local turn=0 path
  for path in "$models"/*.dynamo.onnx; do
    ((turn++ % 2)) && path=${path%.dynamo.onnx}.legacy.onnx
    echo "$path"
  done
}

# Builds cuDNN's plans for the convolutions of every model, without a device.
cudnn_plans() { # MODEL...
  local folder=$build/cudnn-plans path line
  rm -rf "$folder"
  mkdir -p "$folder"
  printf '%s\0' "$@" | xargs -0 -P "$jobs" -I{} \
    sh -c 'lwcc "$1" --batch=4 --emit=source -o "$2/$(basename "$1" .onnx)"' sh {} "$folder" ||
    return 1
  line=$(python3 "$root/tools/gpu/conv-shapes.py" "$folder"/*/*.cu | cudnn-plan-check |
    tee /dev/stderr | sed -n 's/^\([0-9]*\) accepted, \([0-9]*\) refused$/\1 passed, \2 failed/p')
  rm -rf "$folder"
  echo "$line"
  [[ $line == *" 0 failed" ]]
}

# The CUDA target on emulated GPUs: every operator, and some programs. The mutants
# themselves are run by tools/nightly.sh; here the list must still fit the runtime.
cuda_emulation() { # MODEL...
  local folder=$build/cuda-emulation
  { [[ -f $folder/build.ninja ]] ||
    cmake -G Ninja -S "$root/test/cuda-emulation" -B "$folder" \
      -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22; } &&
    ninja -C "$folder" -j "$jobs" || return 1
  python3 "$root/test/cuda-emulation/mutants.py" --work="$folder/mutants" --check || return 1
  "$root/tools/gpu-test.sh" --networks=mlp,lenet5 "$folder/gpu-test" || return 1
  "$oracle" "$root/test/cuda-emulation/run.py" --build="$folder" --data="$data" \
    --bundle="$folder/gpu-test" --models "$@"
}

# What is carried to a GPU machine, of one network: without a GPU its programs
# must start and say so.
gpu_bundle() {
  local folder=$build/gpu-bundle code
  rm -rf "$folder" "$folder-results"
  OUT=$folder-results "$root/tools/gpu-test.sh" --binaries --networks=mlp "$folder"
  code=$?
  if ((code == 0)) && [[ ! -e $folder-results ]]; then # else it was run already
    python3 "$folder/run.py" --seconds=120 --out="$folder-results"
    code=$?
  fi
  grep -q '^unpacked 3 programs$' "$folder-results/results.txt" || code=1
  if ((code == 0 || code == 77)); then
    rm -rf "$folder" "$folder-results"
    echo "1 passed, 0 failed"
  else
    echo "0 passed, 1 failed"
    return 1
  fi
}

if ((setup)); then
  "$root/tools/setup.sh" || { echo "0 passed, 1 failed"; exit 1; }
fi
mkdir -p "$logs"
start=$SECONDS
echo "== build"
if ! { [[ -f $build/build.ninja ]] || cmake -G Ninja -B "$build" -S "$root"; } ||
  ! ninja -C "$build" -j "$jobs" all unittests; then
  echo "test.sh: the build failed"
  echo "0 passed, 1 failed"
  exit 1
fi
echo "test.sh: built in $((SECONDS - start)) s, at $((SECONDS - started)) s"
[[ " ${sections[*]} " =~ ^(" style"|" unit"|" lit")+" "$ ]] || make_inputs || exit 1

for section in "${sections[@]}"; do
  case $section in
    style) counted style "$root/tools/style.py"; counted style-python "$root/tools/style_python.py" ;;
    unit) counted unit unit ;;
    lit) counted lit lit ;;
    oracle)
      counted oracle "$oracle" "$root/test/parity/test_oracle.py" "$models" \
        lenet5 mlp_softmax lenet5_loss alexnet2012 resnet18 googlenet mobilenet_v3_small
      counted oracle-ops "$oracle" "$root/test/parity/op_grid.py" --check-oracle
      ;;
    operators)
      counted operators "$oracle" "$root/test/parity/op_grid.py" --jobs="$jobs"
      counted node-tests "$oracle" "$root/test/parity/node_tests.py" --jobs="$jobs"
      ;;
    plans)
      counted plans "$oracle" "$root/test/parity/plans.py" --cases=300 --emitted=6 \
        --counted=225 --predicted=30
      counted minimum "$oracle" "$root/test/parity/minimum.py" --cases=60
      counted schedules "$oracle" "$root/test/parity/schedules.py" --quick --models="$models" \
        residual_mlp alexnet2012 residual_conv
      counted "plans-oracle" "$oracle" "$root/test/parity/parity.py" --data="$data/train" \
        --jobs="$jobs" --steps=3 --batch=8 --lr=0.001 \
        --compile="--gpus=2 --strategy=data" --compile="--gpus=8 --strategy=data" \
        --compile="--gpus=3 --strategy=model" --compile="--gpus=4 --strategy=owt" \
        --compile="--gpus=4 --strategy=layerwise" --compile="--gpus=2" \
        --compile="--gpus=8 --machine=p100-4x4 --strategy=mcmc" \
        --compile="--gpus=4 --plan=mixed" \
        "$models"/{googlenet,resnet18,alexnet,vgg11}.legacy.onnx
      counted "group-statistics" "$oracle" "$root/test/parity/parity.py" \
        --jobs="$jobs" --data="$data/train" --steps=3 --batch=8 --lr=0.001 --bn-group=4 \
        --compile="--bn=group:4" --compile="--gpus=3 --strategy=data --bn=group:4" \
        --compile="--gpus=4 --strategy=layerwise --bn=group:4" \
        --compile="--gpus=2 --strategy=pipeline --micro-batches=2 --bn=group:4" \
        "$models"/{resnet18,vgg16_bn}.legacy.onnx
      ;;
    parity)
      mapfile -t files < <(one_of_each)
      counted parity "$oracle" "$root/test/parity/parity.py" --data="$data/train" \
        --jobs="$jobs" --steps=5 --batch=4 --lr=0.001 --table="$build/parity.md" "${files[@]}"
      counted optimizers "$oracle" "$root/test/parity/optimizer_grid.py" \
        --jobs="$jobs" "$root/examples/lenet5.onnx" --data="$data/train"
      counted zoo "$oracle" "$root/test/parity/zoo.py" --quick --jobs="$jobs"
      counted scikit "$oracle" "$root/test/parity/scikit.py" --jobs="$jobs"
      counted several-inputs "$oracle" "$root/test/parity/several_inputs.py" --jobs="$jobs"
      counted ranks of "$oracle" "$root/test/parity/ranks.py" --quick --jobs="$jobs" \
        --models=lenet5:64 --plans=layerwise,pipeline --transports=shm,net
      counted rank-kills of "$oracle" "$root/test/parity/rank_kills.py" --kills=6
      counted rank-inputs of "$oracle" "$root/test/parity/rank_inputs.py" --messages=20000
      counted samples-first "$oracle" "$root/test/parity/samples_first.py" --cases=60 \
        --jobs="$jobs"
      ;;
    emitted)
      mapfile -t files < <(one_of_each)
      counted emitted python3 "$root/test/e2e/emitted.py" --data="$data/train" \
        --work="$build/emitted" "${files[@]}"
      counted emitted-source python3 "$root/test/e2e/emitted.py" --data="$data/train" \
        --work="$build/emitted" --emit=source "$models/lenet5.legacy.onnx"
      # So many that lists are longer than a call takes, and nodes form groups.
      counted emitted-many python3 "$root/test/e2e/emitted.py" --data="$data/train" \
        --work="$build/emitted" --compile="--gpus=70 --nodes=35 --strategy=data" \
        --batch=140 --steps=2 "$models/lenet5.legacy.onnx"
      ;;
    cuda)
      if command -v nvcc >/dev/null || [[ -x $deps/cuda/bin/nvcc ]]; then
        mapfile -t files < <(one_of_each)
        mapfile -t some < <(half "${files[@]}")
        # nvcc takes most of its time for each architecture anew.
        counted cuda python3 "$root/test/e2e/emitted.py" --target=cuda \
          --in-turn= --in-turn=--arch=sm_80 --in-turn=--arch=sm_90 --in-turn=--arch=sm_100 \
          --work="$build/emitted-cuda" "${some[@]}"
        counted cuda-devices python3 "$root/test/e2e/emitted.py" --target=cuda \
          --work="$build/emitted-cuda" --compile="--gpus=4 --strategy=owt --arch=sm_90" \
          "$root/examples/alexnet.onnx" "$models/lenet5.legacy.onnx"
        counted cudnn-plans cudnn_plans "${files[@]}"
        counted cuda-emulation cuda_emulation "$models/lenet5.legacy.onnx"
        counted cuda-ranks of "$oracle" "$root/test/parity/ranks.py" --jobs="$jobs" \
          --emulation="$build/cuda-emulation" --models=lenet5:12 --only=grid \
          --plans=layerwise,pipeline --transports=shm,tcp
        counted cuda-plans "$oracle" "$root/test/parity/plans.py" --cases=8 --emitted=8 \
          --first=5001 --max-devices=4 --emulation="$build/cuda-emulation"
        counted gpu-bundle gpu_bundle
      else
        table+=("  cuda         skipped: no nvcc")
      fi
      ;;
    tidy) counted tidy "$root/tools/style.py" --all ;;
    emulation)
      counted more-emulation cuda_emulation "$models/lenet5.dynamo.onnx" \
        --seeds=1,2,3,4,5,6,7,8,9,10 --rounds=200
      # Images of 64 pixels take a while in plain loops.
      counted emulated-models "$oracle" "$root/test/cuda-emulation/run.py" \
        --build="$build/cuda-emulation" --rounds=0 --batch=4 --steps=2 \
        --models "$models"/*.legacy.onnx
      counted emulated-plans "$oracle" "$root/test/parity/plans.py" --cases=100 --emitted=100 \
        --first=10001 --emulation="$build/cuda-emulation"
      ;;
    more-cuda)
      counted more-cuda python3 "$root/test/e2e/emitted.py" --target=cuda \
        --work="$build/emitted-cuda" "$models"/*.onnx
      ;;
    mutants)
      counted mutants python3 "$root/test/cuda-emulation/mutants.py" --work="$build/mutants" \
        --jobs="$jobs"
      ;;
    more-operators)
      counted more-operators "$oracle" "$root/test/parity/op_grid.py" --jobs="$jobs" \
        --turns=12 --plans=3
      ;;
    more-plans)
      counted more-plans "$oracle" "$root/test/parity/plans.py" --cases=5100 --first=20001 \
        --counted=75 --predicted=10
      counted all-schedules "$oracle" "$root/test/parity/schedules.py" --models="$models"
      ;;
    faults) counted faults "$oracle" "$root/tools/faults.py" --kills=200 ;;
    sanitizers)
      start=$SECONDS
      "$root/tools/sanitize.sh" --seconds=600
      code=$?
      count sanitizers $((code == 0)) $((code != 0)) "$code" $((SECONDS - start))
      ;;
  esac
done

echo "== together ($((SECONDS - started)) s)"
printf '%s\n' "${table[@]}"
echo "$passed passed, $failed failed"
exit $((failed != 0))
}
