//===- BuildGraph.cpp - The layers of a module ----------------------------===//
//
// Which layers there are, in which order, whom each reads and follows, and how
// far it can be cut. What their tiles compute is TileBuilder.cpp's.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/model/BuildGraph.h"
#include "passes/differentiate/Nodes.h"
#include "passes/plan/model/TileBuilder.h"
#include "passes/shard/TileRules.h"

#include "llvm/ADT/MapVector.h"

#include <memory>
#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

StringRef plan::servedLayer(Operation *op) {
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
  return parameter && parameter.getRole() == Role::trainable;
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
  llvm::StringMap<StringRef> producers = {}; ///< forward
  llvm::StringMap<StringRef> gradients = {}; ///< who makes what it reads
  llvm::SmallDenseSet<StringRef> noted = {}; ///< it is known how they are cut

  /// Notes the layers of some ops, unless others have shown them already.
  void collect(ArrayRef<Operation *> ops) {
    llvm::SmallDenseSet<StringRef> known = noted;
    for (Operation *op : ops)
      if (StringRef name = plan::servedLayer(op); !known.contains(name)) {
        note(op, name, layers[name]);
        noted.insert(name);
      }
  }

  void note(Operation *op, StringRef name, plan::LayerGraph::Layer &layer) {
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || layerOf(op).empty())
        continue;
      if (auto read = dyn_cast<ReadOp>(producer))
        layer.hasParameters |= isTrainable(module, read);
      else if (StringRef from = layerOf(producer);
               !from.empty() && from != name)
        (phaseOf(producer) == Phase::forward ? producers : gradients)
            .try_emplace(name, from);
    }
    // A layer can be cut as far as the op of it that can be cut furthest.
    auto tiles = [](const Extents &extents) {
      return std::accumulate(extents.begin(), extents.end(), 1.0,
                             std::multiplies<double>());
    };
    if (Extents extents = shard::extentsOf(op);
        tiles(extents) > tiles(layer.extents))
      layer.extents = extents;
    // The rank is the highest of what the layer makes or reads: a layer that
    // makes statistics of images is one of images.
    for (auto values :
         {ValueRange(op->getResults()), ValueRange(op->getOperands())})
      for (Value value : values)
        layer.rank = std::max<int>(
            layer.rank, cast<RankedTensorType>(value.getType()).getRank());
  }
};
} // namespace

plan::LayerGraph plan::buildGraph(ModuleOp module, GraphOptions options) {
  plan::LayerGraph graph;
  graph.model = stringAttr(module, "train.model");
  graph.hash = stringAttr(module, "train.hash");
  if (auto batch = module->getAttrOfType<IntegerAttr>("train.batch"))
    graph.batch = batch.getInt();
  // The forward pass of the data shows how a layer can be cut. A layer that was
  // fused into others has only a backward pass, beside what is computed of its
  // parameters alone (a scale per channel), and some have nothing but that.
  SmallVector<Operation *> forward, backward, sources;
  LayerCollector collector{module};
  for (auto func : module.getOps<func::FuncOp>()) {
    llvm::SmallDenseSet<Value> data(func.getArguments().begin(),
                                    func.getArguments().end());
    for (Operation &op : func.getBody().front().without_terminator()) {
      if (isa<ClipGradientsOp, AverageOp>(op))
        continue; // of no layer's tiles
      const bool ofData = llvm::any_of(op.getOperands(), [&](Value operand) {
        return data.contains(operand);
      });
      if (ofData)
        data.insert(op.getResults().begin(), op.getResults().end());
      const bool isForward = phaseOf(&op) == Phase::forward;
      (!ofData ? sources : isForward ? forward : backward).push_back(&op);
      // In the order of the forward pass, whatever shows how they can be cut.
      if (isForward && op.getNumOperands() > 0)
        collector.layers.try_emplace(plan::servedLayer(&op));
    }
  }
  for (ArrayRef<Operation *> ops :
       {ArrayRef(forward), ArrayRef(backward), ArrayRef(sources)})
    collector.collect(ops);
  llvm::StringMap<int> numbers;
  for (auto &[name, layer] : collector.layers) {
    // Only an earlier layer counts as producer: its tiling is known when this
    // layer takes it over. A scale that is computed within a sum reads nothing
    // but gradients.
    StringRef from = collector.producers.lookup(name);
    auto found =
        numbers.find(from.empty() ? collector.gradients.lookup(name) : from);
    int producer = found == numbers.end() ? -1 : found->second;
    numbers[name] = graph.layers.size();
    layer.name = name.str();
    layer.producer = producer;
    graph.layers.push_back(layer);
  }
  if (auto nodes = module->getAttrOfType<ArrayAttr>(parameterNodesAttr))
    for (StringRef node : nodes.getAsValueRange<StringAttr>())
      if (auto found = numbers.find(node); found != numbers.end())
        graph.layers[found->second].isOfParameters = true;
  if (auto nodes = module->getAttrOfType<ArrayAttr>(nodesAttr))
    for (StringRef node : nodes.getAsValueRange<StringAttr>())
      if (!numbers.contains(node))
        graph.absorbed.push_back(node.str());
  auto tiles = std::make_shared<TileBuilder>(module, graph, options);
  for (auto [i, layer] : llvm::enumerate(graph.layers))
    if (layer.producer >= 0 && tiles->follows(i)) {
      int before = graph.layers[layer.producer].leader;
      layer.leader = before < 0 ? layer.producer : before;
    }
  graph.tiles = [tiles](int layer, const Tiling &tiling) {
    return tiles->build(layer, tiling);
  };
  return graph;
}
