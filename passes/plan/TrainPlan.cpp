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

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MemoryBuffer.h"

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

static std::string stringAttr(ModuleOp module, StringRef name) {
  auto attr = module->getAttrOfType<StringAttr>(name);
  return attr ? attr.str() : "";
}

namespace {
/// The shape of a layer's result, found among what its ops make and read: parts
/// of the layer may have been fused into others.
struct LayerShape {
  std::vector<int64_t> shape;
  std::tuple<bool, bool, bool, int64_t> quality;

  void consider(Value value, bool forward, bool made, int64_t batch) {
    auto type = cast<RankedTensorType>(value.getType());
    int64_t rank = type.getRank();
    // Images or features of all samples, from the forward pass, made here.
    bool whole =
        (rank == 2 || rank == 4) && (batch == 0 || type.getDimSize(0) == batch);
    std::tuple<bool, bool, bool, int64_t> mine = {forward, whole, made,
                                                  type.getNumElements()};
    if (mine <= quality)
      return;
    quality = mine;
    shape = type.getShape();
  }
};
} // namespace

/// All layers, in the order of their first op.
static plan::LayerGraph graphOf(ModuleOp module) {
  plan::LayerGraph graph;
  graph.model = stringAttr(module, "train.model");
  graph.hash = stringAttr(module, "train.hash");
  if (auto batch = module->getAttrOfType<IntegerAttr>("train.batch"))
    graph.batch = batch.getInt();
  llvm::MapVector<StringRef, LayerShape> layers;
  llvm::StringMap<StringRef> producers;
  for (auto func : module.getOps<func::FuncOp>())
    for (Operation &op : func.getBody().front().without_terminator()) {
      LayerShape &layer = layers[servedLayer(&op)];
      if (layerOf(&op).empty() || isa<ReadOp>(op))
        continue;
      bool forward = phaseOf(&op) == "forward";
      for (Value result : op.getResults())
        layer.consider(result, forward, true, graph.batch);
      for (Value operand : op.getOperands()) {
        Operation *producer = operand.getDefiningOp();
        if (!producer || isa<ReadOp>(producer))
          continue;
        layer.consider(operand, forward, false, graph.batch);
        if (StringRef from = layerOf(producer);
            !from.empty() && from != layerOf(&op))
          producers.try_emplace(layerOf(&op), from);
      }
    }
  llvm::StringMap<int> numbers;
  for (auto &[name, layer] : layers) {
    // Only a layer that stands before it: what it follows has a tiling then.
    auto found = numbers.find(producers.lookup(name));
    int producer = found == numbers.end() ? -1 : found->second;
    numbers[name] = graph.layers.size();
    graph.layers.push_back({name.str(), layer.shape, producer});
  }
  return graph;
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
    if (mistakes.empty())
      attach(*made);
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
    llvm::Expected<plan::Plan> read = plan::fromJson((*buffer)->getBuffer());
    if (read)
      return std::move(*read);
    fail("plan '") << file << "': " << llvm::toString(read.takeError());
    return std::nullopt;
  }

  void attach(const plan::Plan &made) {
    MLIRContext *context = &getContext();
    llvm::StringMap<TilingAttr> tilings;
    for (const plan::LayerPlan &layer : made.layers) {
      const plan::Tiling &t = layer.tiling;
      auto places = llvm::map_to_vector(t.places, [&](const plan::Place &p) {
        return PlaceAttr::get(context, p.node, p.gpu, p.lane);
      });
      tilings[layer.layer] =
          TilingAttr::get(context, t.n, t.c, t.h, t.w, t.k, places, {});
    }
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (Operation &op : func.getBody().front().without_terminator())
        op.setAttr(tilingAttr, tilings.lookup(servedLayer(&op)));
  }
};
} // namespace
