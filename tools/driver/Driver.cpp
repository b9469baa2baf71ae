//===- Driver.cpp - The compiler behind lwcc and lwcc-run -----------------===//

#include "tools/driver/Driver.h"
#include "ir/train/Train.h"
#include "passes/Pipeline.h"
#include "passes/plan/machine/Machine.h"
#include "passes/plan/model/ReadProgram.h"
#include "passes/plan/solve/CostTables.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace lwcc;

void Stopwatch::lap(StringRef phase) {
  auto now = std::chrono::steady_clock::now();
  if (print)
    llvm::errs() << llvm::formatv(
        "{0,-16} {1,8:f3} s\n", phase,
        std::chrono::duration<double>(now - last).count());
  last = now;
}

//===----------------------------------------------------------------------===//
// Diagnostics
//===----------------------------------------------------------------------===//

/// A location as a person reads it: the ONNX node's name, or file:line:column.
static std::string textOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  if (auto file = dyn_cast<FileLineColLoc>(loc))
    return llvm::formatv("{0}:{1}:{2}", file.getFilename().getValue(),
                         file.getLine(), file.getColumn());
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (std::string text = textOf(part); !text.empty())
        return text;
  return "";
}

/// Names come from files: nothing in one is a line of its own, or says
/// something to the terminal.
static std::string onOneLine(StringRef text) {
  std::string line;
  for (char c : text)
    if (llvm::isPrint(c) || static_cast<unsigned char>(c) >= 0x80)
      line += c;
    else
      line += llvm::formatv("\\x{0:x-2}", static_cast<unsigned char>(c));
  return line;
}

std::string lwcc::messageOf(const Diagnostic &diagnostic) {
  std::string where = textOf(diagnostic.getLocation());
  return onOneLine((where.empty() ? "" : where + ": ") + diagnostic.str());
}

std::unique_ptr<MLIRContext> lwcc::makeContext() {
  DialectRegistry registry;
  registry.insert<train::TrainDialect, exec::ExecDialect, func::FuncDialect>();
  auto context =
      std::make_unique<MLIRContext>(registry, MLIRContext::Threading::DISABLED);
  // Our own threads (ir/Parallel.h) share the context. MLIR starts none: its
  // pool ends a process that may have no more of them.
  static llvm::SingleThreadExecutor inCaller(llvm::hardware_concurrency(1));
  context->setThreadPool(inCaller);
  context->loadAllAvailableDialects();
  // A user's mistake is not answered with a page of IR.
  context->printOpOnDiagnostic(false);
  context->getDiagEngine().registerHandler([](Diagnostic &diagnostic) {
    auto print = [](const Diagnostic &d, StringRef severity) {
      llvm::errs() << "lwcc: " << severity << ": " << messageOf(d) << "\n";
    };
    switch (diagnostic.getSeverity()) {
    case DiagnosticSeverity::Error:
      print(diagnostic, "error");
      break;
    case DiagnosticSeverity::Warning:
      print(diagnostic, "warning");
      break;
    default:
      print(diagnostic, "note");
    }
    for (Diagnostic &note : diagnostic.getNotes())
      print(note, "note");
    return success();
  });
  return context;
}

//===----------------------------------------------------------------------===//
// The chain
//===----------------------------------------------------------------------===//

/// What people read about the program, as attributes of it. `planner` is the
/// strategy that made the plan, or the file that it came from.
static void describe(exec::ProgramOp program, StringRef planner,
                     const CompileFlags &flags,
                     const std::vector<ExportPiece> &pieces) {
  Builder b(program.getContext());
  int64_t parameters = 0;
  llvm::DenseSet<Attribute> counted;  // copies on other devices are not
  llvm::DenseSet<Attribute> averages; // which are exported in place of weights
  int64_t arena = 0;
  unsigned devices = 0, lanes = 0;
  for (Operation &op : program.getBody().front()) {
    if (auto buffer = dyn_cast<exec::BufferOp>(op)) {
      if (isWeight(buffer.getRole()) &&
          counted.insert(buffer.getTensorName()).second)
        parameters += ShapedType::getNumElements(
            buffer->getAttrOfType<DenseI64ArrayAttr>("exec.dims"));
      if (buffer.getRole() == Role::average)
        averages.insert(buffer.getTensorName());
    }
    if (auto device = dyn_cast<exec::DeviceOp>(op)) {
      ++devices;
      arena = std::max<int64_t>(arena, device.getArena());
    }
    lanes += isa<exec::LaneOp>(op);
  }
  auto batch = program->getAttrOfType<IntegerAttr>("exec.batch");
  auto set = [&](StringRef name, const std::string &value) {
    program->setAttr(name, b.getStringAttr(value));
  };
  set("exec.compiler", versionText().str());
  set("exec.precision", flags.precision);
  set("exec.optimizer", flags.optimizer);
  set("exec.summary",
      llvm::formatv("{0} parameters, batch {1}", grouped(parameters),
                    batch ? batch.getInt() : 0));
  set("exec.plan",
      llvm::formatv("{0}: {1} device{2}, {3} lane{4}{5}", planner, devices,
                    devices == 1 ? "" : "s", lanes, lanes == 1 ? "" : "s",
                    flags.group ? ", batch statistics of groups of " +
                                      std::to_string(flags.group)
                                : ""));
  set("exec.memory", mebibytes(arena) +
                         " per device, and the workspaces that the libraries "
                         "ask for at start");
  SmallVector<Attribute> list;
  for (const ExportPiece &piece : pieces) {
    auto average = b.getStringAttr(piece.state + averageSuffix);
    list.push_back(
        piece.state.empty()
            ? Attribute(b.getDenseI64ArrayAttr({piece.offset, piece.bytes}))
        : averages.contains(average) ? Attribute(average)
                                     : Attribute(b.getStringAttr(piece.state)));
  }
  program->setAttr("exec.export", b.getArrayAttr(list));
}

/// Says which devices have too little memory, and what fills them.
static LogicalResult checkMemory(exec::ProgramOp program, int64_t limit) {
  bool fits = true;
  for (auto device : program.getBody().getOps<exec::DeviceOp>()) {
    if (static_cast<int64_t>(device.getArena()) <= limit)
      continue;
    fits = false;
    emitError(program.getLoc())
        << device.getSymName() << " needs " << mebibytes(device.getArena())
        << ", but --memory says " << mebibytes(limit)
        << ": take a smaller --batch, more --gpus, or another plan";
    printMemory(program, llvm::errs(), device.getSymName());
  }
  return success(fits);
}

/// --dump-dir: writes the module as NN-pass.mlir.
static LogicalResult dump(ModuleOp module, StringRef folder, unsigned number,
                          StringRef pass) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  if (std::error_code code = llvm::sys::fs::create_directories(folder))
    return complain("cannot write " + folder + ": " + code.message()),
           failure();
  if (llvm::Error error = writeFile(
          llvm::formatv("{0}/{1,0+2}-{2}.mlir", folder, number, pass).str(),
          text))
    return complain(std::move(error)), failure();
  return success();
}

/// The work of every layer, whole on one device.
static std::vector<LayerWork> workOf(const plan::LayerGraph &graph) {
  std::vector<LayerWork> all;
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    plan::LayerTiles tiles = graph.tiles(int(i), Tiling());
    LayerWork work{layer.name};
    for (const plan::LayerTiles::Regions &parameter : tiles.params)
      if (const auto &whole = parameter.front())
        work.parameters += int64_t(tiling::volume(*whole));
    for (const plan::Work &call : tiles.work.front()) {
      work.step += call.flops;
      work.forward += call.phase == Phase::forward ? call.flops : 0;
    }
    all.push_back(std::move(work));
  }
  return all;
}

FailureOr<CompiledModel> lwcc::compileModel(const CompileFlags &flags,
                                            MLIRContext &context,
                                            Stopwatch &watch, Goal goal) {
  ImportOptions importOptions;
  importOptions.batch = flags.batch;
  importOptions.loss = flags.loss;
  importOptions.output = flags.trainedOutput;
  importOptions.auxiliary = flags.auxiliary;
  importOptions.layouts = flags.layouts;
  importOptions.classWeights = flags.weightOfClass;
  FailureOr<ImportedModel> imported =
      importOnnx(flags.input, importOptions, &context);
  if (failed(imported))
    return failure();
  watch.lap("import");

  PipelineOptions options;
  options.stopAfter = flags.stopAfter;
  options.optimizer = flags.optimizer;
  options.clipNorm = flags.clipNorm;
  options.averageDecay = flags.ema;
  options.freeze.assign(flags.freeze.begin(), flags.freeze.end());
  options.groups.assign(flags.groups.begin(), flags.groups.end());
  options.noDecay.assign(flags.noDecay.begin(), flags.noDecay.end());
  options.labelSmoothing = flags.labelSmoothing;
  options.softLabels = flags.softLabels;
  options.gpus = flags.gpus;
  options.nodes = flags.nodes;
  options.group = flags.group;
  options.frozenBn = flags.frozenBn;
  if (flags.gpus > 1) {
    options.strategy = flags.strategy;
  } else if (flags.microBatches > 1) {
    // Accumulation of gradients is a pipeline of one stage, of which 1F1B holds
    // one micro-batch at a time.
    options.strategy = "pipeline";
    options.schedule = "1f1b";
  }
  options.plan = flags.plan;
  options.machine = flags.machine;
  options.memory = flags.memoryBytes;
  options.costs = flags.costs;
  options.target = flags.platform;
  options.searchSeconds = flags.searchSeconds;
  options.searchSeed = flags.searchSeed;
  options.searchDimensions = flags.searchDimensions;
  options.keep.assign(flags.keep.begin(), flags.keep.end());
  options.microBatches = flags.microBatches;
  options.stages = flags.stages;
  if (!flags.schedule.empty())
    options.schedule = flags.schedule;
  options.lanes = flags.laneCount;
  options.precision = flags.precision;
  if (goal != Goal::program && goal != Goal::report)
    options.stopAfter = "planned";
  unsigned number = 0; // of dumped files
  CompiledModel result;
  PipelineHooks hooks;
  hooks.onForm = [&](StringRef form) {
    if (form != "imported")
      watch.lap(form);
  };
  hooks.onChecked = [&](StringRef) { watch.lap("  checked"); };
  if (!flags.dumpDir.empty())
    hooks.onPass = [&](StringRef pass) {
      return dump(*imported->module, flags.dumpDir, number++, pass);
    };
  const bool compares =
      (flags.explains() || goal == Goal::report) && flags.gpus > 1;
  hooks.onPlanAsksForPrices =
      compares || goal == Goal::costs || goal == Goal::inspect;
  hooks.onPlan = [&](const plan::Problem &problem, const plan::Plan &plan,
                     double seconds) {
    result.plan = plan;
    if (goal == Goal::costs)
      result.costs = plan::CostTables(problem).toJson();
    if (goal == Goal::inspect)
      result.layers = workOf(problem.graph);
    if (goal == Goal::hypergraph)
      result.hypergraph = plan::hypergraphOf(problem);
    std::optional<plan::Comparison> comparison;
    if (compares)
      comparison = plan::compareStrategies(
          problem, plan, flags.plan.empty() ? options.strategy : "this plan",
          seconds);
    if (comparison)
      result.comparison = textOf(*comparison);
    else if (flags.explains() && !plan.remark.empty())
      result.comparison = plan.remark + "\n";
    if (goal == Goal::report) {
      result.planned = {problem.graph, problem.machine, std::move(comparison)};
      result.planned->graph.tiles = nullptr; // looks at the module
    }
  };
  if (failed(runPipeline(*imported->module, options, hooks)))
    return failure();

  result.module = std::move(imported->module);
  result.blob = std::move(imported->blob);
  auto programs = result.module->getOps<exec::ProgramOp>();
  if (!programs.empty()) {
    result.program = *programs.begin();
    if (flags.memoryBytes > 0 &&
        failed(checkMemory(result.program, flags.memoryBytes)))
      return failure();
    describe(result.program,
             flags.plan.empty() ? options.strategy : options.plan, flags,
             imported->onnxExport);
  }
  return result;
}

FailureOr<plan::ProgramTime> lwcc::predictStep(exec::ProgramOp program,
                                               const CompileFlags &flags) {
  plan::Machine machine;
  plan::Profile profile;
  std::vector<std::string> mistakes =
      plan::findDevices(flags.machine, flags.gpus, machine, flags.nodes);
  if (!flags.costs.empty())
    llvm::append_range(mistakes, plan::readProfile(flags.costs, flags.precision,
                                                   flags.platform, profile));
  for (const std::string &mistake : mistakes)
    emitError(program.getLoc()) << mistake;
  if (!mistakes.empty())
    return failure();
  // A plan may leave devices out, whose cores the others get then.
  if (machine.oneProcessor && machine.nodes == 1)
    machine.gpus = llvm::range_size(program.getBody().getOps<exec::DeviceOp>());
  plan::CostModel costs(machine, flags.precision,
                        flags.costs.empty() ? nullptr : &profile);
  plan::ProgramTime time = plan::timeOf(
      plan::readProgram(program, train::trainStepFunc), machine, costs);
  program->setAttr(
      "exec.prediction",
      StringAttr::get(program.getContext(),
                      llvm::formatv("{0:f2} ms a step ({1})", time.step * 1e3,
                                    time.source)));
  return time;
}
