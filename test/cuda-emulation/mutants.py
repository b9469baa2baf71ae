"""Breaks the CUDA runtime in small ways, and says which the emulation notices.

  mutants.py --work=DIR [--jobs=2] [--check] [NUMBER ...]

Each mutant replaces one text of one file of runtime/cuda, in a copy of the sources
in DIR, which is built there. It then runs the operators' checks, or for what
concerns several streams the machine's tests. Those without a program change
nothing that can be seen.
Prints a line for each and a last line `N passed, M failed`: a mutant that is not
noticed by three seeds has failed. One that does not compile is an error of this
list.
"""

import argparse
import os
import shutil
import subprocess
import sys

OPS, MACHINE = "ops-check-emulated", "machine-tests"

# File, text, what it becomes, the n-th place (from 1), the program that notices.
MUTANTS = [
    # Barriers and shuffles.
    ("BlockReduce.cuh", "  __syncthreads();\n  value", "  value", 1, OPS),
    ("BlockReduce.cuh", "  __syncthreads(); // perWarp", "  // perWarp", 1, OPS),
    ("BlockReduce.cuh", "perWarp[32]", "perWarp[4]", 1, OPS),
    ("BlockReduce.cuh", "0xffffffffu", "0xffffu", 1, OPS),
    ("BlockReduce.cuh", "distance = 16", "distance = 8", 1, OPS),
    ("BlockReduce.cuh", "distance = 16", "distance = 32", 1, OPS),
    ("BlockReduce.cuh", "w < warps", "w <= warps", 1, OPS),
    ("BlockReduce.cuh", "int w = 1", "int w = 2", 1, OPS),
    ("BlockReduce.cuh", "  if (warps == 1)\n    return value;\n", "", 1, None),
    ("BlockReduce.cuh", "if (threadIdx.x % 32 == 0)", "", 1, OPS),
    ("BlockReduce.cuh", "a > b ? a : b", "b", 1, OPS),
    ("Reduction.cuh", "    __syncthreads();\n    if (inside", "    if (inside", 1, OPS),
    # A grid has fewer blocks than columns only beyond 2^31 of them.
    ("Embedding.cu", "      __syncthreads(); // takes", "      // takes", 1, OPS),
    ("Reduction.cuh", "    __syncthreads(); // shared", "    // shared", 1, None),
    ("Reduction.cuh", "[columnHeight][columnWidth]", "[columnHeight - 1][columnWidth]", 1, OPS),
    ("Reduction.cuh", "inside && threadIdx.y == 0", "inside", 1, OPS),
    ("Reduction.cuh", "inside && threadIdx.y == 0", "threadIdx.y == 0", 1, OPS),
    ("Reduction.cuh", "row < columnHeight", "row <= columnHeight", 1, OPS),
    ("Reduction.cuh", "kept < loops.keptCount;\n    int64_t at", "kept <= loops.keptCount;\n    int64_t at", 1, OPS),
    ("Reduction.cuh", "return end < loops.terms ? end : loops.terms;", "return end;", 1, OPS),
    ("Reduction.cuh", "t += step", "t += step + 1", 1, OPS),
    ("Reduction.cuh", "    if (threadIdx.x == 0)\n      finishSlice", "      finishSlice", 1, OPS),
    ("Reduction.cuh", "s < loops.slices", "s <= loops.slices", 1, OPS),
    ("Reduction.cuh", "s < loops.slices", "s + 1 < loops.slices", 1, OPS),
    ("Reduction.cuh", "F::width * sizeof(float);", "sizeof(float);", 1, OPS),
    ("Reduction.cuh", "loops.slices == 1 ? 0", "loops.slices > 0 ? 0", 1, OPS),
    # Bounds.
    ("Movement.cu", "i < items;", "i <= items;", 1, OPS),
    ("Movement.cu", "i < items;", "i <= items;", 2, OPS),
    ("Movement.cu", "i < items;", "i <= items;", 3, OPS),
    ("Sgd.cu", "i < items;", "i <= items;", 1, OPS),
    ("Update.cuh", "i < items;", "i + 1 < items;", 1, OPS),
    ("Update.cuh", "i < items;", "i <= items;", 2, OPS),
    ("Update.cuh", "i < items;", "i + 1 < items;", 3, OPS),
    ("Update.cuh", "block < gridDim.x;", "block + 1 < gridDim.x;", 1, OPS),
    ("Update.cuh", "squares[2 * blockIdx.x + 1] = vector;", ";", 1, OPS),
    ("LayerNorm.cu", "c < rows.extent;", "c <= rows.extent;", 2, OPS),
    ("LayerNorm.cu", "c < rows.extent;", "c <= rows.extent;", 4, OPS),
    ("LayerNorm.cu", "invstd[statistics.begin(row)]", "invstd[row]", 1, OPS),
    ("LayerNorm.cu", "if (invstd && threadIdx.x == 0)", "if (invstd)", 1, OPS),
    ("Lrn.cu", "item < items;", "item <= items;", 1, OPS),
    ("Lrn.cu", "item < items;", "item <= items;", 2, OPS),
    ("Map.cuh", "item < a.items;", "item <= a.items;", 1, OPS),
    ("Pooling.cu", "item < items;", "item <= items;", 1, OPS),
    ("Loss.cu", "c < a.rows.extent;", "c <= a.rows.extent;", 1, OPS),
    ("Softmax.cu", "c < rows.extent;", "c <= rows.extent;", 1, OPS),
    ("Softmax.cu", "c < rows.extent;", "c <= rows.extent;", 2, OPS),
    ("Accuracy.cu", "label < rows.extent;", "label <= rows.extent;", 1, OPS),
    ("Accuracy.cu", "label >= 0 && ", "", 1, OPS),
    # A kernel without items does nothing, too.
    ("Movement.cu", "if (items == 0)", "if (false)", 1, None),
    # Alignment.
    ("Movement.cu", "    wide &= reinterpret_cast<uintptr_t>(t->data) % 16 == 0;", "    ;", 1, OPS),
    ("Movement.cu", "nest.extent[inner] % pack == 0", "true", 1, OPS),
    ("Movement.cu", "    wide &= nest.stride[0][d] % pack == 0 && nest.stride[1][d] % pack == 0;", "    ;", 1, OPS),
    ("Update.cuh", "    wide &= reinterpret_cast<uintptr_t>(t.data) % 16 == 0;", "    ;", 1, OPS),
    ("Update.cuh", "tensors[0].elements() % 4 == 0", "true", 1, OPS),
    ("Pooling.cu", "    four &= reinterpret_cast<uintptr_t>(t->data) % 16 == 0;", "    ;", 1, OPS),
    ("Pooling.cu", "g.channels % 4 == 0", "true", 1, OPS),
    ("Map.cpp", " && isAligned(y)", "", 1, OPS),
    ("Map.cpp", "isAligned(xs[k])", "true", 1, OPS),
    ("Map.cpp", "vector &= a.strideY[d] % 4 == 0;", ";", 1, OPS),
    # What is dense along the innermost loop has y's strides along others, or none.
    ("Map.cpp", "!a.dense[k] || a.strideX[k][d] % 4 == 0", "true", 1, None),
    ("Map.cpp", "a.strideX[k][inner] == 1;", "true;", 1, OPS),
    ("Map.cpp", "    loops.tail.items = rest;", "    loops.tail.items = rest - 1;", 1, OPS),
    ("MatMulSgd.cpp", "shape.alignment = std::min(shape.alignment, alignmentOf(t.data));", "(void)t;", 1, OPS),
    ("MatMul.cpp", "operand.offset < 0 ? operand.tensor.data : nullptr", "nullptr", 1, OPS),
    ("Convolution.cpp", "      shape.alignment /= 2;", "      break;", 1, OPS),
    # Workspaces.
    ("Loss.cu", "a.rows.count * static_cast<int64_t>(sizeof(float))", "a.rows.count * 3", 1, OPS),
    ("Loss.cu", "a.rows.count * static_cast<int64_t>(sizeof(float))", "0", 2, OPS),
    ("Loss.cu", "      sizeof(float));", "      0);", 1, OPS),
    ("Accuracy.cu", "static_cast<int64_t>(sizeof(int32_t))", "2", 1, OPS),
    ("MatMul.cpp", "      workspace + plan.workspaceBytes);", "      plan.workspaceBytes);", 1, OPS),
    ("MatMulSgd.cpp", "      gradient + scratch);", "      gradient);", 1, OPS),
    ("MatMulSgd.cpp", "lane.workspace() + gradient);", "lane.workspace());", 1, OPS),
    ("Convolution.cpp", "      plan.workspaceBytes());", "      0);", 1, OPS),
    ("TurnedConv.cu", "d.width - 1 - next", "next", 1, OPS),
    ("TurnedConv.cu", "d.height - 1 - next", "next", 1, OPS),
    ("TurnedConv.cu", "i < d.elements();", "i <= d.elements();", 1, OPS),
    ("TurnedConv.cu", "row % d.rowStep == 0", "true", 1, OPS),
    ("TurnedConv.cu", "weightsAt = aligned(plan.workspaceBytes())", "weightsAt = 0", 1, OPS),
    ("TurnedConv.cu", "weightsAt + aligned(w.bytes())", "weightsAt", 1, OPS),
    # Stores that race, values that are not there.
    ("Loss.cu", "    if (threadIdx.x == 0)\n      losses[row]", "      losses[row]", 1, OPS),
    ("Loss.cu", "  if (threadIdx.x == 0)\n    *loss", "    *loss", 1, OPS),
    ("Accuracy.cu", "    if (threadIdx.x == 0)\n      hits", "      hits", 1, OPS),
    ("Lrn.cu", "int64_t(gridDim.x) * blockDim.x", "blockDim.x", 1, OPS),
    ("Movement.cu", "int64_t(gridDim.x) * blockDim.x", "blockDim.x", 1, OPS),
    # Order between streams, and calls.
    ("Run.cpp", "    check(cudaStreamWaitEvent(lane->stream, fork, 0), \"forking the lanes\");", "    ;", 1, MACHINE),
    ("Run.cpp", "    check(cudaStreamWaitEvent(origin().stream, join, 0), \"joining the lanes\");", "    ;", 1, MACHINE),
    ("Transfer.cpp", "    check(cudaStreamWaitEvent(origin.stream, device.order, 0),\n          \"ordering a transfer\");", "    ;", 1, MACHINE),
    ("Upload.cpp", "  check(cudaStreamWaitEvent(uploads, buffer.emptied, 0), \"sending input\");", "", 1, MACHINE),
    ("Upload.cpp", "  check(cudaStreamWaitEvent(inOrder, buffer.filled, 0), \"sending input\");", "", 1, MACHINE),
    ("Upload.cpp", "  current = (current + 1) % bufferCount;", "", 1, None),
    ("Machine.cpp", "  // On a stream that no lane waits for.\n  check(cudaDeviceSynchronize(), \"clearing memory\");", "", 1, MACHINE),
    ("Lane.cpp", "    check(cudaFuncGetAttributes(&attributes, kernel), \"loading a kernel\");", "    (void)attributes;", 1, OPS),
    ("Run.cpp", "      perform(step);", "      perform(step), cudaStreamSynchronize(step.lane->stream);", 1, None),
    ("Run.cpp", "    perform(step);", "    perform(step), cudaStreamSynchronize(step.lane->stream);", 1, OPS),
    # Several ranks.
    ("RankRuns.cpp", "    if (!others.mayStart(index, run))\n      return false;\n", "", 1, MACHINE),
    ("RankRuns.cpp", "step.run ? recorded[event] : heard[event].hasHappened(run)", "step.run ? recorded[event] : true", 1, MACHINE),
    ("RankRuns.cpp", "step.run ? recorded[event] : heard", "step.run ? true : heard", 1, MACHINE),
    ("RankRuns.cpp", "  exchange->meet(run, failed);\n", "", 1, MACHINE),
    ("RankRuns.cpp", "  settle();\n  lock.unlock();\n  exchange->meet", "  lock.unlock();\n  exchange->meet", 1, MACHINE),
    ("RankRuns.cpp", "  check(cudaStreamWaitEvent(carrier.stream, beside.written, 0),\n        \"waiting for an event\");\n", "", 1, MACHINE),
    ("RankRuns.cpp", "  if (SequenceExchange::isLastWriter(out))\n", "  if (SequenceExchange::isLastWriter(out) || out.writers > 1)\n", 1, MACHINE),
    ("RankRuns.cpp", "  for (Outgoing *out : others.leavingAtStart())\n    leave(*out, run, laneOn(deviceOf(out->source.data)));\n", "", 1, MACHINE),
    ("RankRuns.cpp", "out.source && exchange::isContiguous(out.source)", "out.source", 1, MACHINE),
    ("HostImage.cpp", "    end = std::max(end, at->second);\n", "", 1, MACHINE),
    # What libraries are told.
    ("ConvPlan.cpp", "CUDNN_ATTR_CONVOLUTION_DILATIONS", "CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES", 1, OPS),
    ("ConvPlan.cpp", "CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS", "CUDNN_ATTR_CONVOLUTION_POST_PADDINGS", 1, OPS),
    ("ConvPlan.cpp", "CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t(id)", "CUDNN_ATTR_TENSOR_UNIQUE_ID, int64_t(id + 1)", 1, OPS),
    ("Convolution.cpp", "lane.machine.isDeterministic()", "false", 1, OPS),
    ("GemmPlan.cpp", "flag(shape.transposeB)", "flag(shape.transposeA)", 1, OPS),
    ("GemmPlan.cpp", "static_cast<uint64_t>(rows), columns)", "static_cast<uint64_t>(rows), rows)", 1, OPS),
]


def copy_of_sources(folder):
    """Copies what is built, changed files only; returns the copy and its build."""
    root = os.path.abspath(os.path.join(os.path.dirname(__file__), "../.."))
    for part in ("runtime", "test/cuda-emulation", "test/unit/runtime-cpu",
                 "test/unit/runtime-cuda"):
        for place, _, names in os.walk(os.path.join(root, part)):
            to = os.path.join(folder, "tree", os.path.relpath(place, root))
            os.makedirs(to, exist_ok=True)
            for name in names:
                source, target = os.path.join(place, name), os.path.join(to, name)
                with open(source, "rb") as file:
                    text = file.read()
                if os.path.exists(target):
                    with open(target, "rb") as file:
                        if file.read() == text:
                            continue
                shutil.copy(source, target)
    return os.path.join(folder, "tree"), os.path.join(folder, "build")


def nth(text, what, count):
    """The place of the count-th occurrence; -1 if there is none."""
    at = -1
    for _ in range(count):
        at = text.find(what, at + 1)
        if at < 0:
            return -1
    return at


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--work", required=True,
                        help="folder for a copy of the sources and its build")
    parser.add_argument("--jobs", default="2")
    parser.add_argument("--check", action="store_true",
                        help="only whether the texts are there")
    parser.add_argument("numbers", nargs="*", type=int)
    args = parser.parse_args()
    tree, build = copy_of_sources(os.path.abspath(args.work))
    cuda = os.path.join(tree, "runtime/cuda")
    if not args.check:
        for command in (
                ["cmake", "-G", "Ninja", "-S", f"{tree}/test/cuda-emulation", "-B",
                 build, "-DCMAKE_C_COMPILER=clang-22",
                 "-DCMAKE_CXX_COMPILER=clang++-22"],
                ["ninja", "-C", build, "-j", args.jobs, OPS, MACHINE]):
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    passed = failed = 0
    for number, (name, text, change, count, program) in enumerate(MUTANTS, 1):
        if (args.numbers and number not in args.numbers) or program is None:
            continue
        path = os.path.join(cuda, name)
        with open(path) as file:
            original = file.read()
        at = nth(original, text, count)
        if at < 0:
            print(f"FAIL {number} {name}: has no such text: {text!r}")
            failed += 1
            continue
        if args.check:
            passed += 1
            continue
        try:
            with open(path, "w") as file:
                file.write(original[:at] + change + original[at + len(text):])
            result = subprocess.run(["ninja", "-C", build, "-j", args.jobs,
                                     program], stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
            verdict = "does not compile" if result.returncode else None
            for seed in "123" if not verdict else "":
                try:
                    result = subprocess.run(
                        [os.path.join(build, "bin", program)], text=True,
                        errors="replace", timeout=600, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT,
                        env={**os.environ, "LWCC_EMULATION_SEED": seed,
                             "LWCC_OWN_WORKSPACES": "1"})
                except subprocess.TimeoutExpired:
                    verdict = "noticed: never ends"
                    break
                if result.returncode:
                    lines = [line for line in result.stdout.split("\n")
                             if line.startswith(("emulation:", "FAILED"))
                             or "Failure" in line]
                    verdict = f"noticed by seed {seed}: " + (
                        lines + [f"code {result.returncode}"])[0][:150]
                    break
        finally:
            with open(path, "w") as file:
                file.write(original)
        good = bool(verdict) and verdict.startswith("noticed")
        passed, failed = passed + good, failed + (not good)
        print(f"{'ok  ' if good else 'FAIL'} {number} {name}: {text.strip()!r}: "
              f"{verdict or 'not noticed'}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
