//===- Probe.cpp - What a machine is capable of ---------------------------===//

#include "tools/lwcc/Probe.h"
#include "ir/InputFile.h"
#include "passes/plan/price/CostModel.h"
#include "tools/driver/Interrupt.h"
#include "tools/lwcc/CallTimes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <cmath>

#include <unistd.h>

using namespace lwcc;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// The model
//===----------------------------------------------------------------------===//

namespace {
/// "product" is a product of `rows` x `side` x `side`; "large" reads and writes
/// `rows` x `wide` floats, which no cache holds; the layers "tiny" as good as
/// nothing.
struct Sizes {
  int64_t rows, side, wide;
  static constexpr int64_t few = 4; ///< columns of what is tiny
};
} // namespace

static Sizes sizesFor(Target target) {
  return target == Target::cuda ? Sizes{4096, 4096, 32768}
                                : Sizes{1024, 1024, 32768};
}

static std::string modelText(const Sizes &sizes) {
  return llvm::formatv(R"(<ir_version: 8, opset_import: ["" : 13]>
probe (float[{0},16] x) => (float[{0},{3}] y)
{{
  wide_weight = RandomNormal <shape = [{2}, 16], scale = 0.01> ()
  wide = Gemm <transB = 1> (x, wide_weight)
  large = Abs (wide)
  mean = ReduceMean <axes = [1], keepdims = 1> (large)
  features_weight = RandomNormal <shape = [{1}, 16], scale = 0.01> ()
  features = Gemm <transB = 1> (x, features_weight)
  product_weight = RandomNormal <shape = [{1}, {1}], scale = 0.01> ()
  product = Gemm <transB = 1> (features, product_weight)
  few_weight = RandomNormal <shape = [{3}, {1}], scale = 0.01> ()
  few = Gemm <transB = 1> (product, few_weight)
  tiny_weight = RandomNormal <shape = [{3}, {3}], scale = 0.01> ()
  tiny1 = Abs (few)
  tiny2 = Gemm <transB = 1> (tiny1, tiny_weight)
  tiny3 = Abs (tiny2)
  tiny4 = Gemm <transB = 1> (tiny3, tiny_weight)
  y = Add (tiny4, mean)
}
)",
                       sizes.rows, sizes.side, sizes.wide, Sizes::few);
}

/// What the second device reads of the first one: all of "wide", and "few".
static constexpr StringRef planText = R"({"version": 1, "layers": {
  "large": {"places": ["0.1.0"]}, "mean": {"places": ["0.1.0"]},
  "tiny1": {"places": ["0.1.0"]}, "tiny2": {"places": ["0.1.0"]}}}
)";

//===----------------------------------------------------------------------===//
// Its runs
//===----------------------------------------------------------------------===//

/// A built-in one with two devices.
static StringRef anyMachine(Target target) {
  return target == Target::cuda ? "h200x8" : "cpu";
}

namespace {
/// Compiles the model for the target and runs it.
class Bench {
public:
  Bench(Target target, std::string architecture, StringRef folder)
      : target(target), architecture(std::move(architecture)),
        folder(folder.str()) {}

  /// A program on one device, or on two that exchange.
  Expected<CallTimes> run(StringRef precision, int devices) const;
  /// Between two processes that run the program that `run` made last.
  Expected<plan::Link> runRanks() const;

private:
  std::string file(StringRef name) const { return folder + "/" + name.str(); }

  Target target;
  std::string architecture, folder;
};
} // namespace

Expected<CallTimes> Bench::run(StringRef precision, int devices) const {
  if (Error error =
          writeFile(file("probe.onnxtext"), modelText(sizesFor(target))))
    return error;
  if (Error error = writeFile(file("plan.json"), planText))
    return error;
  // Not in this process: a compiler has one command line.
  static int anchor;
  std::vector<std::string> compile = {
      llvm::sys::fs::getMainExecutable(nullptr, &anchor),
      file("probe.onnxtext"),
      target == Target::cuda ? "--target=cuda" : "--target=cpu",
      "--precision=" + precision.str(),
      "--machine=" + anyMachine(target).str(), // not a file that is broken
      "-o",
      file("trainer")};
  if (!architecture.empty())
    compile.push_back("--arch=" + architecture);
  if (devices > 1) {
    compile.push_back("--gpus=" + std::to_string(devices));
    compile.push_back("--plan=" + file("plan.json"));
  }
  if (Error error = execute(compile, file("log")))
    return error;
  if (Error error = execute(
          {file("trainer"), "--benchmark=15", "--trace=" + file("trace.json")},
          file("log")))
    return error;
  return CallTimes::read(file("trace.json"));
}

Expected<plan::Link> Bench::runRanks() const {
  if (Error error = execute({file("trainer"), "--ranks=2", "--benchmark=3",
                             "--log=" + file("ranks.jsonl")},
                            file("log")))
    return error;
  return networkFromLog(file("ranks.jsonl"));
}

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

namespace {
/// What the system says.
struct System {
  int64_t gpus = 0; ///< 0: as many as a CPU has cores
  int64_t memory = 0;
  std::string architecture; ///< "" for lwcc's own choice
};
} // namespace

static Expected<System> askForGpus(StringRef folder) {
  const std::string none = "--target=cuda: no GPU to probe: ";
  auto program = llvm::sys::findProgramByName("nvidia-smi");
  if (!program)
    return makeError(none + "no nvidia-smi, so no driver, is installed here");
  std::string log = (folder + "/gpus").str();
  if (Error error = execute({*program, "--format=csv,noheader,nounits",
                             "--query-gpu=memory.total,compute_cap"},
                            log))
    return makeError(none + llvm::toString(std::move(error)));
  auto buffer = llvm::MemoryBuffer::getFile(log, /*IsText=*/true);
  if (!buffer)
    return makeError(none + buffer.getError().message());
  // "143771, 9.0", a line a GPU. Machines have equal GPUs: the first speaks
  // for all.
  System system;
  llvm::SmallVector<StringRef> lines;
  (*buffer)->getBuffer().trim().split(lines, '\n', -1, /*KeepEmpty=*/false);
  system.gpus = lines.size();
  if (lines.empty())
    return makeError(none + "nvidia-smi lists none");
  auto [mebibytes, capability] = lines[0].split(',');
  if (mebibytes.trim().getAsInteger(10, system.memory))
    return makeError(none + "nvidia-smi says '" + lines[0] + "'");
  system.memory <<= 20;
  system.architecture = "sm_";
  llvm::copy_if(capability, std::back_inserter(system.architecture),
                llvm::isDigit);
  return system;
}

static Expected<System> askSystem(Target target, StringRef folder) {
  if (target == Target::cuda)
    return askForGpus(folder);
  System system;
  system.memory = int64_t(sysconf(_SC_PHYS_PAGES)) * sysconf(_SC_PAGESIZE);
  return system;
}

/// More digits would only look exact.
static double rounded(double value) {
  if (value <= 0)
    return 0;
  double unit = std::pow(10, std::floor(std::log10(value)) - 2);
  // Dividing by a whole power of ten gives the nearest number to the decimal.
  return unit < 1 ? std::round(value / unit) / std::round(1 / unit)
                  : std::round(value / unit) * std::round(unit);
}

/// From calls whose work is known, by the cost model's own formula: it predicts
/// for these what was measured. A traced call of a GPU takes no less than the
/// host needs to start it (runtime/cuda/Trace.cpp), which makes `launch` longer
/// than it is in a graph.
static void measure(const CallTimes &fp32, const CallTimes &tf32,
                    const Sizes &sizes, plan::Device &device) {
  const auto rows = double(sizes.rows), side = double(sizes.side);
  const double launch = fp32.median("", "tiny");
  auto productRate = [&](const CallTimes &timed) {
    double seconds = timed.median("matmul", "product") - launch;
    return rounded(2 * rows * side * side /
                   (seconds * plan::CostModel::reached(rows, side, side)));
  };
  device.launch = rounded(launch);
  device.fp32 = productRate(fp32);
  device.tf32 = productRate(tf32);
  device.bandwidth = rounded(2 * 4 * rows * double(sizes.wide) /
                             (fp32.median("map", "large") - launch));
}

/// The straight line through a large and a small transfer.
static plan::Link measureLink(const CallTimes &two, const Sizes &sizes) {
  const double rows = 4 * double(sizes.rows); // bytes of a column
  const double small = two.median("transfer", "tiny");
  const double slope = (two.median("transfer", "large") - small) /
                       (rows * double(sizes.wide - Sizes::few));
  return {rounded(1 / slope), rounded(small - slope * rows * Sizes::few)};
}

Expected<plan::Link> lwcc::networkFromLog(StringRef file) {
  auto buffer = readInput(file, mostJsonBytes);
  if (!buffer)
    return makeError(file + ": " + llvm::toString(buffer.takeError()));
  const StringRef last = (*buffer)->getBuffer().rtrim().rsplit('\n').second;
  const StringRef line = last.empty() ? (*buffer)->getBuffer().trim() : last;
  Expected<llvm::json::Value> value = llvm::json::parse(line);
  if (!value)
    llvm::consumeError(value.takeError());
  const llvm::json::Object *record = value ? value->getAsObject() : nullptr;
  plan::Link link;
  if (record) {
    link.bandwidth = rounded(record->getNumber("rank_bytes_per_s").value_or(0));
    link.latency = rounded(record->getNumber("rank_latency_s").value_or(0));
  }
  if (!(link.bandwidth > 0 && link.bandwidth < 1e18 && link.latency >= 0))
    return makeError(file + ": is no log of a benchmark of several ranks "
                            "(./trainer --ranks=N --benchmark=N --log=FILE)");
  return link;
}

Expected<plan::Machine> lwcc::probe(Target target, int64_t gpus, bool ranks) {
  if (auto compiler = findCompiler(target); !compiler)
    return compiler.takeError();
  auto folder = TemporaryFolder::make();
  if (!folder)
    return folder.takeError();
  Expected<System> system = askSystem(target, (*folder)->name());
  if (!system)
    return system.takeError();
  if (system->gpus > 0 && gpus > system->gpus)
    return makeError("--gpus=" + llvm::Twine(gpus) + ": there are " +
                     llvm::Twine(system->gpus));

  Bench bench(target, system->architecture, (*folder)->name());
  Expected<CallTimes> one = bench.run("fp32", 1);
  if (!one)
    return one.takeError();
  Expected<CallTimes> tf32 =
      target == Target::cuda ? bench.run("tf32", 1) : *one;
  if (!tf32)
    return tf32.takeError();
  // What is not measured is that of a built-in machine.
  plan::Machine machine = *plan::findMachine(anyMachine(target));
  machine.name = one->device;
  machine.gpus = gpus ? gpus : system->gpus ? system->gpus : one->threads;
  machine.device.memory = system->memory;
  measure(*one, *tf32, sizesFor(target), machine.device);
  machine.link = {};
  // The devices of a CPU are virtual: two of them can be had anywhere.
  if (target == Target::cpu || system->gpus > 1) {
    Expected<CallTimes> two = bench.run("fp32", 2);
    if (!two)
      return two.takeError();
    machine.link = measureLink(*two, sizesFor(target));
    if (ranks) {
      Expected<plan::Link> network = bench.runRanks();
      if (!network)
        return network.takeError();
      machine.network = *network;
    }
  }
  return machine;
}
