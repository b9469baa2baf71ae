//===- Probe.cpp - What a machine is capable of ---------------------------===//

#include "tools/lwcc/Probe.h"
#include "passes/plan/CostModel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

#include <cmath>
#include <map>

#include <unistd.h>

using namespace lwcc;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;
namespace json = llvm::json;

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
// Its calls
//===----------------------------------------------------------------------===//

namespace {
class Timed {
public:
  static Expected<Timed> read(StringRef traceFile);

  /// Median seconds of the calls of a function for layers whose names begin
  /// like this, forward.
  Expected<double> median(StringRef function, StringRef layer) const;
  std::string device;  ///< in words
  int64_t threads = 0; ///< of CPUs

private:
  struct Call {
    std::string function, layer;
    double seconds;
  };
  std::vector<Call> calls;
};
} // namespace

Expected<Timed> Timed::read(StringRef traceFile) {
  auto buffer = llvm::MemoryBuffer::getFile(traceFile, /*IsText=*/true);
  if (!buffer)
    return failed("cannot read the trace: " + buffer.getError().message());
  Expected<json::Value> value = json::parse((*buffer)->getBuffer());
  if (!value)
    return value.takeError();
  Timed timed;
  const json::Object &trace = *value->getAsObject();
  const json::Object &about = *trace.getObject("otherData");
  timed.device = about.getString("device")->str();
  if (const json::Array *threads = about.getArray("threads"))
    for (const json::Value &lane : *threads)
      timed.threads += *lane.getAsInteger();
  for (const json::Value &event : *trace.getArray("traceEvents"))
    if (const json::Object &call = *event.getAsObject();
        call.getString("ph") == "X" && call.getString("cat") == "forward")
      timed.calls.push_back({call.getString("name")->str(),
                             call.getObject("args")->getString("layer")->str(),
                             *call.getNumber("dur") * 1e-6});
  return timed;
}

Expected<double> Timed::median(StringRef function, StringRef layer) const {
  std::vector<double> times;
  for (const Call &call : calls)
    if ((function.empty() || call.function == function) &&
        StringRef(call.layer).starts_with(layer))
      times.push_back(call.seconds);
  if (times.empty())
    return failed("the trace has no call of '" + function + "' for '" + layer +
                  "'");
  llvm::sort(times);
  return times[times.size() / 2];
}

namespace {
/// Compiles the model for the target and runs it.
class Bench {
public:
  Bench(Target target, std::string architecture, StringRef folder)
      : target(target), architecture(std::move(architecture)),
        folder(folder.str()) {}

  /// A program on one device, or on two that exchange.
  Expected<Timed> run(StringRef precision, int devices) const;

private:
  std::string file(StringRef name) const { return folder + "/" + name.str(); }

  Target target;
  std::string architecture, folder;
};
} // namespace

Expected<Timed> Bench::run(StringRef precision, int devices) const {
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
  return Timed::read(file("trace.json"));
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
    return failed(none + "no nvidia-smi, so no driver, is installed here");
  std::string log = (folder + "/gpus").str();
  if (Error error = execute({*program, "--format=csv,noheader,nounits",
                             "--query-gpu=memory.total,compute_cap"},
                            log))
    return failed(none + llvm::toString(std::move(error)));
  auto buffer = llvm::MemoryBuffer::getFile(log, /*IsText=*/true);
  if (!buffer)
    return failed(none + buffer.getError().message());
  // "143771, 9.0", a line a GPU. Machines have equal GPUs: the first speaks
  // for all.
  System system;
  llvm::SmallVector<StringRef> lines;
  (*buffer)->getBuffer().trim().split(lines, '\n', -1, /*KeepEmpty=*/false);
  system.gpus = lines.size();
  if (lines.empty())
    return failed(none + "nvidia-smi lists none");
  auto [mebibytes, capability] = lines[0].split(',');
  if (mebibytes.trim().getAsInteger(10, system.memory))
    return failed(none + "nvidia-smi says '" + lines[0] + "'");
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
/// for these what was measured.
static Error measure(const Timed &fp32, const Timed &tf32, const Sizes &sizes,
                     plan::Device &device) {
  const auto rows = double(sizes.rows), side = double(sizes.side);
  const double bytes = 2 * 4 * rows * double(sizes.wide);
  Expected<double> launch = fp32.median("", "tiny");
  Expected<double> product = fp32.median("matmul", "product");
  Expected<double> quick = tf32.median("matmul", "product");
  Expected<double> large = fp32.median("map", "large");
  for (Expected<double> *time : {&launch, &product, &quick, &large})
    if (!*time)
      return time->takeError();
  auto rate = [&](double seconds) {
    return rounded(
        2 * rows * side * side /
        ((seconds - *launch) * plan::CostModel::reached(rows, side, side)));
  };
  device.launch = rounded(*launch);
  device.fp32 = rate(*product);
  device.tf32 = rate(*quick);
  device.bandwidth = rounded(bytes / (*large - *launch));
  return Error::success();
}

/// The straight line through a large and a small transfer.
static Error measureLink(const Timed &two, const Sizes &sizes,
                         plan::Link &link) {
  Expected<double> large = two.median("transfer", "large");
  Expected<double> small = two.median("transfer", "tiny");
  for (Expected<double> *time : {&large, &small})
    if (!*time)
      return time->takeError();
  const double rows = 4 * double(sizes.rows);
  const double slope =
      (*large - *small) / (rows * double(sizes.wide - Sizes::few));
  link.bandwidth = rounded(1 / slope);
  link.latency = rounded(*small - slope * rows * Sizes::few);
  return Error::success();
}

Expected<plan::Machine> lwcc::probe(Target target, int64_t gpus) {
  if (auto compiler = findCompiler(target); !compiler)
    return compiler.takeError();
  llvm::SmallString<128> folder;
  if (std::error_code code =
          llvm::sys::fs::createUniqueDirectory("lwcc-probe", folder))
    return failed("cannot make a temporary folder: " + code.message());
  llvm::scope_exit cleanUp([&] { llvm::sys::fs::remove_directories(folder); });
  Expected<System> system = askSystem(target, folder);
  if (!system)
    return system.takeError();
  if (system->gpus > 0 && gpus > system->gpus)
    return failed("--gpus=" + llvm::Twine(gpus) + ": there are " +
                  llvm::Twine(system->gpus));

  Bench bench(target, system->architecture, folder);
  Expected<Timed> one = bench.run("fp32", 1);
  if (!one)
    return one.takeError();
  Expected<Timed> tf32 = target == Target::cuda ? bench.run("tf32", 1) : *one;
  if (!tf32)
    return tf32.takeError();
  // The devices of a CPU are virtual: two of them can be had anywhere.
  std::optional<Timed> two;
  if (target == Target::cpu || system->gpus > 1) {
    Expected<Timed> timed = bench.run("fp32", 2);
    if (!timed)
      return timed.takeError();
    two = std::move(*timed);
  }
  // What is not measured is that of a built-in machine.
  plan::Machine machine =
      *plan::findMachine(target == Target::cpu ? "cpu" : "h200x8");
  machine.name = one->device;
  machine.gpus = gpus ? gpus : system->gpus ? system->gpus : one->threads;
  machine.device.memory = system->memory;
  if (Error error = measure(*one, *tf32, sizesFor(target), machine.device))
    return error;
  if (!two) {
    machine.link = {};
    return machine;
  }
  if (Error error = measureLink(*two, sizesFor(target), machine.link))
    return error;
  return machine;
}
