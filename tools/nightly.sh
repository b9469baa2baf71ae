#!/usr/bin/env bash
# What takes too long for every change; the last line is the count over everything.
#
#   tools/nightly.sh [SECTION ...]
#
# Sections, in order (all of them if none is named), behind tools/test.sh:
#   emulation   on emulated GPUs (test/cuda-emulation): operators with ten seeds,
#               every model's programs, 100 random networks under random plans
#   mutants     the CUDA runtime broken in 80 ways: does the emulation notice?
#   plans       5,000 random networks under random plans on the CPU target
#   faults      200 kills, full disks, signals and limits (tools/faults.py)
#   sanitizers  tools/sanitize.sh, with ten minutes for each fuzzer
#
# Takes some six hours on two cores. Environment: as tools/test.sh.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export LWCC_DEPS=${LWCC_DEPS:-$HOME/.local/share/lwcc} PYTHONDONTWRITEBYTECODE=1
build=${LWCC_BUILD:-$root/build}
jobs=${JOBS:-$(nproc)}
oracle=$LWCC_DEPS/oracle/bin/python
emulation=$build/cuda-emulation
export PATH=$build/bin:$PATH OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(nproc)}

sections=()
for argument in "$@"; do
  case $argument in
    emulation | mutants | plans | faults | sanitizers) sections+=("$argument") ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "nightly.sh: no section $argument (see --help)" >&2; exit 2 ;;
  esac
done
((${#sections[@]})) || sections=(emulation mutants plans faults sanitizers)
# It leaves behind what is built on here: lwcc, models, the emulation.
"$root/tools/test.sh" unit cuda || exit 1

passed=0 failed=0
# Runs a command and adds the counts of its last line `N passed, M failed`.
counted() { # NAME COMMAND...
  local name=$1 log=$build/test-logs/nightly-$1.log code line good bad
  shift
  echo "== $name"
  "$@" 2>&1 | tee "$log"
  code=${PIPESTATUS[0]}
  line=$(grep -E '^[0-9]+ passed, [0-9]+ failed$' "$log" | tail -1)
  read -r good _ bad _ <<<"${line:-0 passed, 1 failed}"
  ((code == 0 || bad > 0)) || bad=1
  passed=$((passed + good)) failed=$((failed + bad))
}

for section in "${sections[@]}"; do
  case $section in
    emulation)
      counted emulation "$oracle" "$root/test/cuda-emulation/run.py" --build="$emulation" \
        --seeds=1,2,3,4,5,6,7,8,9,10 --rounds=200 --data="$build/digits" \
        --models "$build/models/lenet5.dynamo.onnx"
      # Images of 64 pixels take a while in plain loops.
      counted emulated-models "$oracle" "$root/test/cuda-emulation/run.py" --build="$emulation" \
        --rounds=0 --batch=4 --steps=2 --models "$build"/models/*.legacy.onnx
      counted emulated-plans "$oracle" "$root/test/parity/plans.py" --cases=100 --emitted=100 \
        --first=10001 --emulation="$emulation"
      ;;
    mutants)
      counted mutants python3 "$root/test/cuda-emulation/mutants.py" --work="$build/mutants" \
        --jobs="$jobs"
      ;;
    plans) counted plans "$oracle" "$root/test/parity/plans.py" --cases=5000 --first=20001 ;;
    faults) counted faults "$oracle" "$root/tools/faults.py" --kills=200 ;;
    sanitizers) counted sanitizers "$root/tools/sanitize.sh" address thread fuzz --seconds=600 ;;
  esac
done
echo "$passed passed, $failed failed"
exit $((failed != 0))
