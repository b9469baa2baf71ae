//===- TrainPlan.cpp - Attach a plan to a module --------------------------===//
//
// Takes `differentiated`, gives `planned`. The pass asks a solver, or a file,
// for a plan of the layers, checks it, and writes each op's tiling on it. All
// ops of a layer (those with one layer in train.work) share the tiling. An op
// without a layer of its own, such as a read of a parameter, goes with the op
// that uses it.
//
// A solver may ask how long a step of a plan's program takes. Then the pass has
// a copy of the module lowered (PlanningHooks::lower) and times the result.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/TrainPlan.h"
#include "ir/InputFile.h"
#include "ir/train/Train.h"
#include "passes/differentiate/Nodes.h"
#include "passes/plan/model/BuildGraph.h"
#include "passes/plan/model/Call.h"
#include "passes/plan/model/ReadProgram.h"
#include "passes/plan/price/ProgramTime.h"
#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/Keep.h"
#include "passes/plan/solve/Lanes.h"

#include "mlir/IR/Verifier.h"
#include "llvm/Support/FormatVariadic.h"

#include <chrono>
#include <cmath>

namespace lwcc {
#define GEN_PASS_DEF_TRAINPLAN
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

/// Brings a plan's layers into the model's order.
static void sortLayers(plan::Plan &made, const plan::LayerGraph &graph) {
  llvm::StringMap<size_t> position;
  for (auto [i, layer] : llvm::enumerate(graph.layers))
    position[layer.name] = i;
  llvm::sort(made.layers,
             [&](const plan::LayerPlan &a, const plan::LayerPlan &b) {
               return position.lookup(a.layer) < position.lookup(b.layer);
             });
}

static std::string bytesText(int64_t bytes) {
  const bool large = bytes >> 30;
  return llvm::formatv("{0:f1} {1}",
                       static_cast<double>(bytes) / (large ? 1 << 30 : 1 << 20),
                       large ? "GiB" : "MiB");
}

/// For how long an op of the form `sharded` takes its lane, in picoseconds; 0
/// if it will be no call.
static int64_t ticksOf(Operation *op, const plan::Machine &machine,
                       const plan::CostModel &costs) {
  std::optional<plan::PricedCall> call = plan::describe(op, costs.isMeasured());
  // A call that takes no time waits in its lane all the same.
  return call ? std::max<int64_t>(
                    1, std::llround(plan::secondsAlone(*call, machine, costs) *
                                    plan::ticksPerSecond))
              : 0;
}

namespace {
struct TrainPlan : lwcc::impl::TrainPlanBase<TrainPlan> {
  using TrainPlanBase::TrainPlanBase;
  TrainPlan(TrainPlanOptions options, PlanningHooks hooks)
      : TrainPlanBase(std::move(options)), hooks(std::move(hooks)) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (gpus < 1) {
      fail("needs at least one GPU, not " + Twine(gpus));
      return;
    }
    std::vector<std::string> unfound =
        plan::findDevices(machineName, gpus, machine, nodes);
    for (const std::string &mistake : unfound)
      fail(mistake);
    if (!unfound.empty())
      return;
    auto profile = std::make_shared<plan::Profile>();
    std::vector<std::string> unread;
    if (!costsFile.empty())
      unread = plan::readProfile(costsFile, precision, target, *profile);
    for (const std::string &mistake : unread)
      fail(mistake);
    if (!unread.empty())
      return;
    plan::LayerGraph graph =
        plan::buildGraph(module, {.keys = !costsFile.empty()});
    if (memory > 0)
      machine.device.memory = memory;
    plan::CostModel costs(machine, precision,
                          costsFile.empty() ? nullptr : profile.get());
    if (hooks.onTicks)
      hooks.onTicks([machine = machine, profile, costs](Operation *op) {
        return ticksOf(op, machine, costs);
      });
    plan::KeptDegrees kept;
    std::vector<std::string> unkept =
        plan::findKept(std::vector<std::string>(keep.begin(), keep.end()),
                       graph, machine, kept);
    for (const std::string &mistake : unkept)
      fail(mistake);
    if (!unkept.empty())
      return;
    plan::Problem problem{graph,
                          machine,
                          costs,
                          {searchSeconds, static_cast<uint64_t>(searchSeed),
                           searchDimensions, microBatches, lanes, schedule,
                           stages, kept}};
    std::map<StringRef, plan::ExactPlan> exactPlans;
    problem.exactPlans = &exactPlans;
    if (failed(checkPipeline(graph)))
      return;
    // Remembers answers: the table of strategies asks again for plans that a
    // solver has compared.
    std::vector<std::pair<plan::Plan, double>> known;
    auto programStep = [&](const plan::Plan &made) {
      auto same = llvm::find_if(known, [&](const auto &entry) {
        return entry.first.layers == made.layers &&
               entry.first.order == made.order &&
               entry.first.groups == made.groups &&
               entry.first.widths == made.widths;
      });
      if (same != known.end())
        return same->second;
      known.emplace_back(made, stepOfProgram(made, costs));
      return known.back().second;
    };
    if (hooks.lower)
      problem.programStep = programStep;
    if (costs.isUnmeasured())
      module.emitWarning("costs '")
          << costsFile << "' have no times of "
          << (machine.oneProcessor
                  ? std::to_string(machine.gpus) + " devices of one processor"
                  : "devices with a processor each")
          << ": a roofline is used instead; lwcc profile --gpus="
          << machine.gpus << " adds them";
    if (machineName.empty() && gpus > 1 && isPriced())
      emitRemark(UnknownLoc::get(&getContext()))
          << "no --machine: planned for "
          << (machine.nodes > 1
                  ? std::to_string(machine.nodes) + " nodes of " +
                        std::to_string(machine.gpus) + " H200 each"
                  : std::to_string(machine.gpus) + " H200 in one node")
          << " (h200x8); lwcc machine --probe describes this one";
    auto start = std::chrono::steady_clock::now();
    std::optional<plan::Plan> made = makePlan(problem);
    std::chrono::duration<double> took =
        std::chrono::steady_clock::now() - start;
    if (!made)
      return signalPassFailure();
    if (!made->warning.empty())
      module.emitWarning(made->warning);
    std::string source = file.empty() ? "the plan" : "plan '" + file + "'";
    if (std::string names = dropAbsorbed(*made, graph); !names.empty())
      emitRemark(UnknownLoc::get(&getContext()))
          << source << " names " << names
          << ", computed within other layers, or not at all: what it says of "
             "them is ignored";
    complete(*made, graph, machine);
    std::vector<std::string> mistakes = check(*made, graph, machine);
    for (const std::string &mistake : mistakes)
      fail("") << source << " does not fit: " << mistake;
    if (!mistakes.empty())
      return;
    module->removeAttr(nodesAttr);
    module->removeAttr(parameterNodesAttr);
    attach(*made, module);
    if (!hooks.onPlan)
      return;
    made->machine = machine;
    // A strategy that prices nothing is good for any machine of this shape.
    if (made->costs.empty())
      made->machine.name.clear();
    sortLayers(*made, graph);
    hooks.onPlan(problem, *made, file.empty() ? took.count() : 0);
  }

private:
  PlanningHooks hooks;
  plan::Machine machine;

  /// Reports a mistake of the user and fails the pass.
  InFlightDiagnostic fail(const Twine &message) {
    signalPassFailure();
    return getOperation().emitError(message);
  }

  /// Whether what was asked of a pipeline can be had.
  LogicalResult checkPipeline(const plan::LayerGraph &graph) {
    LogicalResult result = success();
    if (microBatches > graph.batch && graph.batch > 0) {
      fail("the ") << graph.batch << " samples of a step cannot be cut into "
                   << microBatches.getValue() << " micro-batches";
      result = failure();
    }
    if (microBatches <= 1)
      return result;
    auto cut = llvm::find_if(graph.layers, [&](const auto &layer) {
      return layer.sampleGroups > 0 && layer.sampleGroups % microBatches != 0;
    });
    if (cut == graph.layers.end())
      return result;
    if (cut->sampleGroups == 1)
      fail("layer '") << cut->name
                      << "' needs statistics of all samples, so that there can "
                         "be no micro-batches; --bn=group:G normalizes groups "
                         "of G samples";
    else
      fail("layer '") << cut->name << "' normalizes " << cut->sampleGroups
                      << " groups of samples, of which "
                      << microBatches.getValue()
                      << " micro-batches would not have whole ones; expected a "
                         "divisor of "
                      << cut->sampleGroups;
    return failure();
  }

  /// Whether anything asks for prices, and thereby for what the machine can do.
  bool isPriced() const {
    const plan::Solver *solver = plan::findSolver(strategy);
    return hooks.priced || (file.empty() && solver && solver->searches);
  }

  /// Whether a searched plan is predicted to fit into memory, or may be tried
  /// all the same. If the plan of a solver that heeds memory does not fit, the
  /// solver knows of none that does: an error. Else a warning is enough:
  /// predictions are up to some tens of percent too high, and the driver
  /// refuses what does not fit once memory is planned.
  bool fits(const plan::Problem &problem, const plan::Solver &solver,
            plan::Plan &found) {
    plan::Simulator simulator(problem);
    simulator.simulate(tilingsOf(problem.graph, found));
    const int64_t capacity = problem.machine.device.memory;
    if (simulator.memory() <= capacity)
      return true;
    std::string needed = bytesText(simulator.memory());
    std::string room = bytesText(capacity) + " per device (" +
                       (memory > 0 ? std::string("--memory")
                                   : "of machine '" + machine.name + "'") +
                       ")";
    if (solver.heedsMemory) {
      StringRef by = found.strategy;
      by.consume_front("auto: ");
      fail("no plan fits into ")
          << room << ": the least is " << needed << ", by '" << by
          << "', as predicted; take a smaller --batch or more --gpus";
      return false;
    }
    getOperation().emitWarning("the plan of '")
        << solver.name << "', which does not look at memory, is predicted to "
        << "need " << needed << ", more than " << room
        << "; --strategy=auto looks for one that fits";
    return true;
  }

  /// Seconds that a training step of a plan's program takes. Infinity for a
  /// plan that cannot be compiled, so that no solver takes it; a warning says
  /// why.
  double stepOfProgram(const plan::Plan &made, const plan::CostModel &costs) {
    OwningOpRef<ModuleOp> copy = getOperation().clone();
    attach(made, *copy);
    std::string reason;
    bool compiles;
    {
      ScopedDiagnosticHandler handler(&getContext(), [&](Diagnostic &found) {
        if (reason.empty() && found.getSeverity() == DiagnosticSeverity::Error)
          reason = found.str();
        return success();
      });
      compiles = succeeded(hooks.lower(*copy)) && succeeded(verify(*copy));
    }
    if (!compiles) {
      getOperation().emitWarning("a plan of '")
          << made.strategy
          << "' cannot be compiled and is left out: " << reason;
      return std::numeric_limits<double>::infinity();
    }
    exec::ProgramOp program = *copy->getOps<exec::ProgramOp>().begin();
    return plan::timeOf(plan::readProgram(program, trainStepFunc), machine,
                        costs)
        .step;
  }

  std::optional<plan::Plan> makePlan(const plan::Problem &problem) {
    if (file.empty()) {
      const plan::Solver *solver = plan::findSolver(strategy);
      if (solver) {
        plan::Plan found = solver->solve(problem);
        if (solver->searches && !fits(problem, *solver, found))
          return std::nullopt;
        // By itself only `auto` asks for what is quickest.
        const bool hasOne = lanes == 1 || (lanes < 0 && strategy != "auto");
        return hasOne ? found : plan::addLanes(problem, found);
      }
      InFlightDiagnostic diagnostic = fail("unknown strategy '");
      diagnostic << strategy << "'; known:";
      for (const plan::Solver &row : plan::solvers())
        diagnostic << " " << row.name;
      return std::nullopt;
    }
    auto buffer = readInput(file, mostJsonBytes);
    if (!buffer) {
      fail("cannot read plan '")
          << file << "': " << llvm::toString(buffer.takeError());
      return std::nullopt;
    }
    plan::Plan read;
    std::vector<std::string> mistakes =
        plan::fromJson((*buffer)->getBuffer(), read);
    for (const std::string &mistake : mistakes)
      fail("plan '") << file << "': " << mistake;
    if (!mistakes.empty())
      return std::nullopt;
    return read;
  }

  void attachOrder(const plan::Plan &made, ModuleOp module) {
    module->removeAttr(orderAttr); // of a plan that was attached before
    Builder builder(&getContext());
    SmallVector<Attribute> lanes;
    for (const plan::LaneOrder &order : made.order) {
      SmallVector<TaskAttr> tasks;
      for (const Task &task : order.tasks)
        for (const Task &each : tasksOf(made, order.lane, task))
          tasks.push_back(TaskAttr::get(
              &getContext(), each.layer, each.phase, each.tile,
              each.layer == task.layer ? StringRef() : task.text()));
      if (!tasks.empty())
        lanes.push_back(LaneOrderAttr::get(
            &getContext(), PlaceAttr::get(&getContext(), order.lane), tasks));
    }
    if (!lanes.empty())
      module->setAttr(orderAttr, builder.getArrayAttr(lanes));
  }

  void attachWidths(const plan::Plan &made, ModuleOp module) {
    module->removeAttr(lanesAttr); // of a plan that was attached before
    SmallVector<Attribute> widths;
    for (const plan::LaneWidth &width : made.widths)
      widths.push_back(LaneWidthAttr::get(
          &getContext(), PlaceAttr::get(&getContext(), width.lane),
          width.threads));
    if (!widths.empty())
      module->setAttr(lanesAttr, Builder(&getContext()).getArrayAttr(widths));
  }

  /// The tiling of a layer's ops of one phase.
  TilingAttr tilingOf(const plan::LayerPlan &layer, Phase phase) {
    MLIRContext *context = &getContext();
    Builder builder(context);
    SmallVector<PlaceAttr> places;
    for (int64_t tile = 0; tile < layer.tiling.tiles(); ++tile)
      places.push_back(PlaceAttr::get(context, layer.place(tile, phase)));
    NamedAttrList sizes;
    for (auto [d, list] : llvm::enumerate(layer.tiling.sizes))
      if (!list.empty())
        sizes.set(dimensions.substr(d, 1), builder.getDenseI64ArrayAttr(list));
    const auto &[n, c, h, w, k] = layer.tiling.degrees;
    return TilingAttr::get(context, n, c, h, w, k, places,
                           sizes.empty() ? DictionaryAttr()
                                         : sizes.getDictionary(context));
  }

  void attach(const plan::Plan &made, ModuleOp module) {
    std::map<std::pair<StringRef, Phase>, TilingAttr> tilings;
    for (const plan::LayerPlan &layer : made.layers)
      for (Phase phase : allPhases)
        tilings[{layer.layer, phase}] = tilingOf(layer, phase);
    for (auto func : module.getOps<func::FuncOp>())
      for (Operation &op : func.getBody().front().without_terminator())
        op.setAttr(tilingAttr,
                   tilings.at({plan::servedLayer(&op), phaseOf(&op)}));
    attachOrder(made, module);
    attachWidths(made, module);
  }
};
} // namespace

std::unique_ptr<Pass> lwcc::createTrainPlan(TrainPlanOptions options,
                                            PlanningHooks hooks) {
  return std::make_unique<TrainPlan>(std::move(options), std::move(hooks));
}
