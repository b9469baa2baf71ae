//===- TrainPlan.cpp - Attach a plan to a module --------------------------===//
//
// Takes `differentiated`, gives `planned`: asks a solver (or a file) for a plan
// of the layers and writes each op's tiling on it. A layer is what has one
// train.layer: its forward, backward and update ops share the tiling. An op
// that belongs to no layer of its own (a read of a parameter) goes with the op
// that uses it.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/plan/Solvers.h"
#include "passes/shard/TileRules.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"

#include <numeric>

namespace lwcc {
#define GEN_PASS_DEF_TRAINPLAN
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

/// The layer that an op runs with: its own, else that of its first user, else
/// that of what it reads.
static StringRef servedLayer(Operation *op) {
  if (StringRef own = layerOf(op); !own.empty())
    return own;
  for (Operation *user : op->getUsers())
    if (StringRef layer = servedLayer(user); !layer.empty())
      return layer;
  for (Value operand : op->getOperands())
    if (Operation *producer = operand.getDefiningOp())
      if (StringRef layer = layerOf(producer); !layer.empty())
        return layer;
  return "";
}

static bool isTrainable(ModuleOp module, ReadOp read) {
  auto parameter = module.lookupSymbol<ParameterOp>(read.getParameter());
  return parameter && parameter.getKind() == ParameterKind::Trainable;
}

static std::string stringAttr(ModuleOp module, StringRef name) {
  auto attr = module->getAttrOfType<StringAttr>(name);
  return attr ? attr.str() : "";
}

namespace {
/// The layers of a module, as its ops show them.
struct LayerCollector {
  ModuleOp module;
  llvm::MapVector<StringRef, plan::LayerGraph::Layer> layers = {};
  llvm::StringMap<StringRef> producers = {};

  /// The layers of some ops that are not known yet, in the order of the ops.
  void collect(ArrayRef<Operation *> ops) {
    llvm::SmallDenseSet<StringRef> known;
    for (auto &[name, layer] : layers)
      known.insert(name);
    for (Operation *op : ops)
      if (StringRef name = servedLayer(op); !known.contains(name))
        note(op, name, layers[name]);
  }

  void note(Operation *op, StringRef name, plan::LayerGraph::Layer &layer) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || layerOf(op).empty())
        continue;
      if (auto read = dyn_cast<ReadOp>(producer))
        layer.hasParameters |= isTrainable(module, read);
      else if (StringRef from = layerOf(producer);
               phaseOf(producer) == "forward" && !from.empty() && from != name)
        producers.try_emplace(name, from);
    }
    // Of a layer's ops, the one that can be cut furthest stands for it.
    auto tiles = [](const plan::Extents &extents) {
      return std::accumulate(extents.begin(), extents.end(), 1.0,
                             std::multiplies<double>());
    };
    if (plan::Extents extents = shard::extentsOf(op);
        tiles(extents) > tiles(layer.extents))
      layer.extents = extents;
    // Of what it makes or reads: statistics of images are no features.
    for (auto values :
         {ValueRange(op->getResults()), ValueRange(op->getOperands())})
      for (Value value : values)
        layer.rank = std::max<int>(
            layer.rank, cast<RankedTensorType>(value.getType()).getRank());
  }
};
} // namespace

/// All layers, in the model's order.
static plan::LayerGraph graphOf(ModuleOp module) {
  plan::LayerGraph graph;
  graph.model = stringAttr(module, "train.model");
  graph.hash = stringAttr(module, "train.hash");
  if (auto batch = module->getAttrOfType<IntegerAttr>("train.batch"))
    graph.batch = batch.getInt();
  // The forward pass shows how a layer can be cut; a layer that was fused into
  // others has only a backward pass, and some have nothing but constants.
  SmallVector<Operation *> forward, backward, sources;
  for (auto func : module.getOps<func::FuncOp>())
    for (Operation &op : func.getBody().front().without_terminator())
      (op.getNumOperands() == 0    ? sources
       : phaseOf(&op) == "forward" ? forward
                                   : backward)
          .push_back(&op);
  LayerCollector collector{module};
  for (ArrayRef<Operation *> ops :
       {ArrayRef(forward), ArrayRef(backward), ArrayRef(sources)})
    collector.collect(ops);
  llvm::StringMap<int> numbers;
  for (auto &[name, layer] : collector.layers) {
    // Only a layer that stands before it: what it follows has a tiling then.
    auto found = numbers.find(collector.producers.lookup(name));
    int producer = found == numbers.end() ? -1 : found->second;
    numbers[name] = graph.layers.size();
    layer.name = name.str();
    layer.producer = producer;
    graph.layers.push_back(layer);
  }
  return graph;
}

/// Into the model's order.
static void sortLayers(plan::Plan &made, const plan::LayerGraph &graph) {
  llvm::StringMap<size_t> position;
  for (auto [i, layer] : llvm::enumerate(graph.layers))
    position[layer.name] = i;
  llvm::sort(made.layers,
             [&](const plan::LayerPlan &a, const plan::LayerPlan &b) {
               return position.lookup(a.layer) < position.lookup(b.layer);
             });
}

namespace {
struct TrainPlan : lwcc::impl::TrainPlanBase<TrainPlan> {
  using TrainPlanBase::TrainPlanBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (gpus < 1) {
      fail("needs at least one GPU, not " + Twine(gpus));
      return;
    }
    plan::LayerGraph graph = graphOf(module);
    std::optional<plan::Plan> made = makePlan(graph);
    if (!made)
      return signalPassFailure();
    std::string source = file.empty() ? "the plan" : "plan '" + file + "'";
    complete(*made, graph, {1, gpus});
    std::vector<std::string> mistakes = check(*made, graph, {1, gpus});
    for (const std::string &mistake : mistakes)
      fail("") << source << " does not fit: " << mistake;
    if (!mistakes.empty())
      return;
    attach(*made);
    attachOrder(*made);
    module->setAttr(
        strategyAttr,
        StringAttr::get(&getContext(), file.empty() ? strategy : file));
    if (record) {
      made->machine = {1, gpus};
      sortLayers(*made, graph);
      module->setAttr(planAttr, StringAttr::get(&getContext(), toJson(*made)));
    }
  }

private:
  /// Reports a mistake of the user and fails the pass.
  InFlightDiagnostic fail(const Twine &message) {
    signalPassFailure();
    return getOperation().emitError(message);
  }

  std::optional<plan::Plan> makePlan(const plan::LayerGraph &graph) {
    if (file.empty()) {
      const plan::Solver *solver = plan::findSolver(strategy);
      if (solver)
        return solver->solve(graph, {1, gpus});
      InFlightDiagnostic diagnostic = fail("unknown strategy '");
      diagnostic << strategy << "'; known:";
      for (const plan::Solver &row : plan::solvers())
        diagnostic << " " << row.name;
      return std::nullopt;
    }
    auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/true);
    if (!buffer) {
      fail("cannot read plan '")
          << file << "': " << buffer.getError().message();
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

  void attachOrder(const plan::Plan &made) {
    Builder builder(&getContext());
    NamedAttrList lanes;
    for (const plan::LaneOrder &order : made.order) {
      SmallVector<std::string> tasks;
      for (const plan::Task &task : order.tasks)
        tasks.push_back(task.text());
      lanes.set(llvm::formatv("{0}.{1}.{2}", order.lane.node, order.lane.gpu,
                              order.lane.lane)
                    .str(),
                builder.getStrArrayAttr(
                    SmallVector<StringRef>(tasks.begin(), tasks.end())));
    }
    if (!lanes.empty())
      getOperation()->setAttr(orderAttr, lanes.getDictionary(&getContext()));
  }

  void attach(const plan::Plan &made) {
    MLIRContext *context = &getContext();
    llvm::StringMap<TilingAttr> tilings;
    for (const plan::LayerPlan &layer : made.layers) {
      const plan::Tiling &t = layer.tiling;
      auto places = llvm::map_to_vector(t.places, [&](const plan::Place &p) {
        return PlaceAttr::get(context, p.node, p.gpu, p.lane);
      });
      Builder builder(context);
      NamedAttrList sizes;
      for (auto [d, list] : llvm::enumerate(t.sizes))
        if (!list.empty())
          sizes.set(plan::dimensions.substr(d, 1),
                    builder.getDenseI64ArrayAttr(list));
      const auto &[n, c, h, w, k] = t.degrees;
      tilings[layer.layer] = TilingAttr::get(
          context, n, c, h, w, k, places,
          sizes.empty() ? DictionaryAttr() : sizes.getDictionary(context));
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : func.getBody().front().without_terminator())
        op.setAttr(tilingAttr, tilings.lookup(servedLayer(&op)));
  }
};
} // namespace
