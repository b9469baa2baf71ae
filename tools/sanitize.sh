#!/usr/bin/env bash
# Builds lwcc with sanitizers and runs its tests under them.
#
#   tools/sanitize.sh [address] [thread] [fuzz] [--seconds=N]
#
#   address   address and undefined-behaviour sanitizer over all of our code:
#             unit tests, lit, and the operator grid through lwcc-run
#   thread    thread sanitizer over the CPU runtime and the trainer: their unit
#             tests (lanes, events, the loader's thread, signals), and random
#             plans on several devices
#
#   fuzz      each fuzzer of test/fuzz for N seconds (120), with the address and
#             undefined-behaviour sanitizers; prints what each has run. What is
#             found lies in build-fuzz/findings: mend it, and put the file into
#             test/fuzz/corpus. Needs clang-22 and libclang-rt-22-dev, which it
#             asks for
#
# All if none is named; nothing may be reported. Builds lie in build-address/,
# build-thread/ and build-fuzz/. Library code (MLIR, oneDNN, OpenMP) is not instrumented.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
kinds=()
seconds=120
for argument in "$@"; do
  case $argument in
    address | thread | fuzz) kinds+=("$argument") ;;
    --seconds=[1-9]*) seconds=${argument#*=} ;;
    -h | --help) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) echo "sanitize.sh: unknown argument $argument (see --help)" >&2; exit 2 ;;
  esac
done
((${#kinds[@]})) || kinds=(address thread fuzz)

configure() { # BUILD PRESET
  [[ -f $1/build.ninja ]] || (cd "$root" && cmake --preset "$2")
}

address() {
  local build=$root/build-address
  # MLIR keeps its registries until the process ends, which the leak checker
  # would report from code that is not ours. Its allocators poison memory that
  # MLIR's own code, which is not instrumented, does not unpoison for ours.
  export ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0:strict_string_checks=1:detect_stack_use_after_return=1
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  configure "$build" asan &&
    LWCC_BUILD=$build "$root/tools/test.sh" --no-setup unit lit operators
}

thread() {
  local build=$root/build-thread suppressions passed=0 failed=0 target
  configure "$build" tsan || return 1
  suppressions=$build/suppressions.txt
  # OpenMP's barriers are invisible to the sanitizer, so in such a build every
  # lane has one thread (cpu/Machine.cpp); what is tested is our own threads.
  printf 'called_from_lib:libgomp.so\ncalled_from_lib:libdnnl.so\n' >"$suppressions"
  export OMP_NUM_THREADS=1
  export TSAN_OPTIONS="halt_on_error=0 exitcode=66 second_deadlock_stack=1 suppressions=$suppressions"
  local targets
  mapfile -t targets < <(ninja -C "$build" -t targets all |
    sed -n 's#^unit/\(runtime-\(cpu\|train\)[-a-z]*\): .*EXECUTABLE.*#unit/\1#p')
  ((${#targets[@]})) || { echo "sanitize.sh: no runtime tests"; return 1; }
  # Plans are drawn with the help of lwcc itself.
  ninja -C "$build" lwcc lwcc-run "${targets[@]}" || return 1
  for target in "${targets[@]}"; do
    if (cd "$build" && "$target" --gtest_brief=1); then
      passed=$((passed + 1))
    else
      failed=$((failed + 1))
    fi
  done
  if PATH=$build/bin:$PATH "${LWCC_DEPS:-$HOME/.local/share/lwcc}/oracle/bin/python" \
    "$root/test/parity/plans.py" --cases=40; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
  echo "$passed passed, $failed failed"
  ((failed == 0))
}

fuzz_one() { # PROGRAM BUILD: one fuzzer for its time; 1 if it found something
  local program=$1 build=$2 name log code=0
  name=$(basename "$program") log=$build/fuzz-$name.log
  # Each target says which folder of the corpus is its own.
  mkdir -p "$build/corpus/$name"
  "$program" "$build/corpus/$name" "$root/test/fuzz/corpus/$(<"$program.corpus")" \
    -max_total_time="$seconds" -max_len=8192 -timeout=20 -rss_limit_mb=4096 \
    -artifact_prefix="$build/findings/$name-" -print_final_stats=1 >"$log" 2>&1 || code=1
  echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs in $seconds s"
  return "$code"
}

fuzz() {
  local build=$root/build-fuzz gomp program found=0 failed=0
  if ! clang++-22 -fsanitize=fuzzer -x c++ - -o /dev/null 2>/dev/null \
    <<<'extern "C" int LLVMFuzzerTestOneInput(const char *, long) { return 0; }'; then
    echo "sanitize.sh: fuzzing needs clang: apt-get install clang-22 libclang-rt-22-dev"
    return 1
  fi
  # The runtime asks for OpenMP, which clang has not; no fuzzer links it.
  gomp=$(g++ -print-file-name=libgomp.so)
  [[ -f $build/build.ninja ]] || CC=clang-22 CXX=clang++-22 cmake -G Ninja -B "$build" -S "$root" \
    -DLWCC_FUZZERS=ON -DLWCC_SANITIZE=address,undefined "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" \
    -DOpenMP_CXX_FLAGS=-fopenmp=libgomp -DOpenMP_CXX_LIB_NAMES=gomp "-DOpenMP_gomp_LIBRARY=$gomp" ||
    return 1
  ninja -C "$build" fuzzers || return 1
  # As for address; containers are shared with libraries without annotations.
  export ASAN_OPTIONS=detect_leaks=0:allow_user_poisoning=0:detect_container_overflow=0
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  rm -rf "$build/findings"
  mkdir -p "$build/findings"
  # One for each core at a time.
  for program in "$build"/fuzz/*; do
    [[ -f $program && -x $program ]] || continue
    if ((found >= $(nproc))); then
      wait -n || failed=1
    fi
    fuzz_one "$program" "$build" &
    found=$((found + 1))
  done
  while [[ -n $(jobs -p) ]]; do
    wait -n || failed=1
  done
  ((found)) || { echo "sanitize.sh: no fuzzers"; return 1; }
  if ((failed)) || [[ -n $(ls "$build/findings") ]]; then
    echo "findings:"
    ls "$build/findings"
    return 1
  fi
}

code=0
for kind in "${kinds[@]}"; do
  echo "== $kind sanitizer"
  "$kind" || code=1
done
((code)) && echo "sanitize.sh: something was reported" || echo "sanitize.sh: clean"
exit $code
