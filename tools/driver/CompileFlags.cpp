//===- CompileFlags.cpp - What the flags of a compilation mean ------------===//
//
// Reads the flags that lwcc's subcommands and lwcc-run share, and says
// everything that is wrong with them. Where files are named, that they can be
// read; not what is in them.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Losses.h"
#include "passes/Pipeline.h"
#include "passes/differentiate/ParameterGroups.h"
#include "passes/plan/machine/Links.h"
#include "passes/plan/solve/Keep.h"
#include "passes/plan/solve/PipelineOrder.h"
#include "passes/plan/solve/Solvers.h"
#include "runtime/core/CheckedMath.h"
#include "tools/driver/Driver.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cerrno>
#include <cmath>
#include <cstring>

#include <unistd.h>

using namespace mlir;
using namespace lwcc;

/// "80GiB", "512 MiB", "1000000": bytes, or nothing.
static std::optional<int64_t> parseBytes(StringRef text) {
  StringRef unit = text.drop_while([](char c) { return llvm::isDigit(c); });
  int64_t number, scale = 1;
  if (text.drop_back(unit.size()).getAsInteger(10, number) || number <= 0)
    return std::nullopt;
  unit = unit.trim();
  for (char letter : StringRef("KMGT")) {
    scale *= 1024;
    if (!unit.empty() && llvm::toUpper(unit[0]) == letter &&
        (unit.size() == 1 || unit.drop_front().equals_insensitive("iB")))
      return rt::checkedProduct(number, scale);
  }
  return unit.empty() ? std::optional<int64_t>(number) : std::nullopt;
}

/// Why the model cannot be read, as far as that shows without reading: it may
/// be a pipe.
static std::string unreadable(const std::string &file) {
  if (llvm::sys::fs::is_directory(file))
    return file + ": is a directory; name the .onnx file in it";
  if (access(file.c_str(), R_OK) != 0)
    return file + ": cannot be read: " + std::strerror(errno);
  return "";
}

bool CompileFlags::parse(int argc, char **argv, StringRef overview) {
  std::vector<std::string> mistakes =
      parseFlags(argc, argv, overview, category);
  bool good = true;
  auto fail = [&](const llvm::Twine &message) {
    complain(message);
    good = false;
  };
  if (input.empty())
    fail("no model given; usage: " + llvm::sys::path::filename(argv[0]) +
         " model.onnx [flags]");
  else if (std::string why = unreadable(input); !why.empty())
    fail(why);
  for (const std::string &mistake : mistakes)
    fail(mistake);
  if (batch.getNumOccurrences() && batch <= 0)
    fail("--batch=" + llvm::Twine(batch) + ": a batch has at least one sample");
  if (gpus < 1 || gpus > plan::mostDevices)
    fail("--gpus=" + llvm::Twine(gpus) + ": expected 1 to " +
         llvm::Twine(plan::mostDevices));
  if (nodes.getNumOccurrences() && (nodes < 1 || nodes > gpus))
    fail("--nodes=" + llvm::Twine(nodes) + ": expected 1 to " +
         llvm::Twine(gpus) + ", the number of devices (--gpus)");
  if (memory.getNumOccurrences()) {
    if (std::optional<int64_t> bytes = parseBytes(memory))
      memoryBytes = *bytes;
    else
      fail("--memory=" + memory + ": expected a size such as 80GiB or 512MiB");
  }
  if (!(searchSeconds >= 0 && searchSeconds <= 1e9))
    fail("--search-seconds: expected a time from 0 to 1e9 seconds");
  if (searchDimensions.empty() ||
      StringRef(searchDimensions).find_first_not_of(dimensions) !=
          StringRef::npos)
    fail("--search-dimensions=" + searchDimensions +
         ": expected some of the letters " + dimensions);
  for (const std::string &text : keep) {
    plan::Keep kept;
    if (std::string mistake = plan::parseKeep(text, kept); !mistake.empty())
      fail("--keep=" + text + ": " + mistake);
  }
  if (explains() && !explain.empty() && explain != "timeline")
    fail("--explain=" + explain + ": expected nothing or timeline");
  if (!train::findOptimizer(optimizer)) {
    std::string names;
    for (const train::Optimizer &row : train::optimizers())
      names += (names.empty() ? "" : ", ") + row.name.str();
    fail("--optimizer=" + optimizer + ": expected " + names);
  }
  for (const std::string &pattern : freeze)
    if (std::string mistake = train::mistakeOf(pattern); !mistake.empty())
      fail("--freeze=" + pattern + ": " + mistake);
  for (const std::string &text : groups) {
    train::ParameterGroup group;
    if (std::string mistake = train::parseGroup(text, group); !mistake.empty())
      fail("--group=" + text + ": " + mistake);
  }
  for (const std::string &kind : noDecay)
    if (!train::isParameterKind(kind))
      fail("--no-decay=" + kind + ": expected bias, norm, or both");
  if (!plan::findSolver(strategy)) {
    std::string names;
    for (const plan::Solver &row : plan::solvers())
      names += (names.empty() ? "" : ", ") + row.name.str();
    fail("--strategy=" + strategy + ": expected " + names);
  }
  if (!schedule.empty() && !plan::findPipelineSchedule(schedule)) {
    std::string names;
    for (const plan::PipelineSchedule &row : plan::pipelineSchedules())
      names += (names.empty() ? "" : ", ") + row.name.str();
    fail("--schedule=" + schedule + ": expected " + names);
  }
  if (microBatches < 0)
    fail("--micro-batches=" + llvm::Twine(microBatches) +
         ": expected at least 1");
  if (stages.getNumOccurrences() && (stages < 1 || stages > gpus))
    fail("--stages=" + llvm::Twine(stages) + ": expected 1 to " +
         llvm::Twine(gpus) + ", the number of GPUs");
  if ((stages.getNumOccurrences() || schedule.getNumOccurrences()) &&
      strategy != "pipeline")
    fail("--schedule and --stages are of pipelines: add --strategy=pipeline");
  const plan::Solver *solver = plan::findSolver(strategy);
  if (microBatches.getNumOccurrences() && gpus > 1 && solver &&
      !solver->inMicroBatches) {
    std::string names;
    for (const plan::Solver &row : plan::solvers())
      if (row.inMicroBatches)
        names += (names.empty() ? "" : ", ") + row.name.str();
    fail("--micro-batches: --strategy=" + strategy +
         " has none; these have: " + names);
  }
  if (!keep.empty()) {
    if (!plan.empty())
      fail("--keep and --plan: a plan file says itself how each layer is cut");
    if (gpus > 1 && solver && solver->inMicroBatches)
      fail("--keep: --strategy=" + strategy +
           " cuts layers as its micro-batches need it; take another strategy");
    if (!lanes.empty())
      fail("--keep and --lanes: lanes cut layers into fragments");
    laneCount = 1;
  }
  if (StringRef size = bn; size.consume_front("group:")) {
    if (size.getAsInteger(10, group) || group < 1)
      fail("--bn=" + bn +
           ": expected group: and a number of samples, such as "
           "group:8");
  } else if (bn == "local") {
    fail("--bn=local: what is normalized together would depend on the plan; "
         "--bn=group:G normalizes each G consecutive samples by themselves");
  } else if (bn != "global") {
    fail("--bn=" + bn + ": expected global or group:G");
  }
  if (frozenBn && group != 0)
    fail("--frozen-bn and --bn=" + bn +
         ": nothing of the batch is used that could be of groups");
  if (!lanes.empty()) {
    laneCount = 0;
    if (lanes != "auto" && (StringRef(lanes).getAsInteger(10, laneCount) ||
                            laneCount < 1 || laneCount > plan::computeLanes))
      fail("--lanes=" + lanes + ": expected auto, or 1 to " +
           llvm::Twine(plan::computeLanes));
    if (!plan.empty())
      fail("--lanes and --plan: a plan file says itself on which lanes layers "
           "run");
    if (gpus == 1 && microBatches > 1)
      fail("--lanes and --micro-batches: on one device these follow each other "
           "on one lane");
    if (gpus > 1 && solver && solver->inMicroBatches)
      fail("--lanes: the order of --strategy=" + strategy +
           " names the lanes that it has; take another strategy");
  }
  if (precision != "fp32" && precision != "tf32")
    fail("--precision=" + precision + ": expected fp32 or tf32");
  if (loss != "auto" && !train::findLoss(loss))
    fail("--loss=" + loss + ": expected auto or one of " + train::lossNames());
  for (StringRef text : inputLayouts) {
    auto [name, order] = text.rsplit('=');
    if (name.empty() || (order != "nhwc" && order != "nchw"))
      fail("--input=" + text + ": expected NAME=nhwc or NAME=nchw");
    layouts.push_back({name.str(), order == "nhwc"});
  }
  for (StringRef text : auxiliaryOutputs) {
    // Names of outputs may hold anything else.
    auto [name, rest] = text.rsplit('=');
    auto [number, own] = rest.split(':');
    AuxiliaryOutput output{name.str(), 1, own.str()};
    if (text.contains('=') &&
        (number.getAsDouble(output.weight) || !(output.weight > 0) ||
         !std::isfinite(output.weight)))
      fail("--aux=" + text + ": '" + number +
           "' is no number above 0; expected NAME, NAME=WEIGHT or "
           "NAME=WEIGHT:LOSS");
    else if (rest.contains(':') && (own == "output" || !train::findLoss(own)))
      fail("--aux=" + text + ": '" + own +
           "' is no loss; expected cross-entropy, nll, bce, mse, l1 or huber");
    else if (name.empty())
      fail("--aux=" + text + ": expected the name of an output");
    auxiliary.push_back(std::move(output));
  }
  llvm::SmallVector<StringRef> weights;
  StringRef(classWeights)
      .split(weights, ',', /*MaxSplit=*/-1,
             /*KeepEmpty=*/!classWeights.empty());
  for (StringRef text : weights) {
    double weight = 0;
    if (text.getAsDouble(weight) || !(weight >= 0) || !std::isfinite(weight))
      fail("--class-weights=" + classWeights + ": '" + text +
           "' is no number of at least 0");
    weightOfClass.push_back(static_cast<float>(weight));
  }
  if (ema.getNumOccurrences() && !(ema > 0 && ema < 1))
    fail("--ema: expected a number above 0 and below 1, such as 0.999");
  if (clipNorm.getNumOccurrences() &&
      !(clipNorm > 0 && std::isfinite(clipNorm)))
    fail("--clip-norm: expected a number above 0");
  if (!(labelSmoothing >= 0 && labelSmoothing < 1))
    fail("--label-smoothing: expected a part from 0 up to but not 1");
  if (!llvm::is_contained(pipelineForms(), stopAfter))
    fail("--stop-after=" + stopAfter + ": expected " +
         llvm::join(pipelineForms(), ", "));
  return good;
}
