//===- TileBuilder.cpp - The tensors and tiles of a module's layers -------===//

#include "passes/plan/model/TileBuilder.h"
#include "ir/exec/Views.h"
#include "passes/plan/model/BuildGraph.h"
#include "passes/plan/model/Call.h"
#include "passes/shard/TileRules.h"

#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;
using plan::TileBuilder;
using tiling::Box;

/// The op that updates what was read; null if none does.
static UpdateOpInterface updateOf(ReadOp read) {
  for (Operation *user : read->getUsers())
    if (auto update = dyn_cast<UpdateOpInterface>(user);
        update && update.getWeight() == read.getValue())
      return update;
  return {};
}

static plan::Parameter parameterOf(UpdateOpInterface update) {
  plan::Parameter parameter;
  parameter.elementBytes = train::elementBytes(update.getWeight().getType());
  for (Value state : update.getUpdated().drop_front())
    parameter.stateBytes += train::elementBytes(state.getType());
  parameter.update = update->getName().stripDialect().str();
  return parameter;
}

/// Whether an op adds up what groups of samples have per channel.
static bool addsStatistics(Operation *op) {
  auto sum = dyn_cast<ReduceOp>(op);
  return sum && isa_and_nonnull<BatchNormStatsOp, BatchNormGradStatsOp>(
                    sum.getX().getDefiningOp());
}

/// Whether a tile of an op moves no byte, so that it becomes no call.
static bool isView(Operation *op, const Movement &movement,
                   const train::Tile &tile) {
  auto typeOf = [](Value value, const std::optional<Box> &box) {
    auto whole = cast<RankedTensorType>(value.getType());
    return box ? RankedTensorType::get(shapeOf(*box), whole.getElementType())
               : whole;
  };
  return (movement.kind == Movement::reshape ||
          movement.kind == Movement::permute) &&
         isRearrangedView(movement, typeOf(op->getOperand(0), tile.operands[0]),
                          typeOf(op->getResult(0), tile.results[0]));
}

TileBuilder::TileBuilder(ModuleOp module, plan::LayerGraph &graph,
                         plan::GraphOptions options)
    : options(options), layers(graph.layers.size()) {
  auto step = module.lookupSymbol<func::FuncOp>(trainStepFunc);
  if (!step)
    return;
  llvm::StringMap<int> numbers;
  for (auto [i, layer] : llvm::enumerate(graph.layers))
    numbers[layer.name] = i;
  Block &body = step.getBody().front();
  llvm::DenseMap<Value, int> tensors;
  std::set<std::pair<int, Phase>> turns;
  auto layerOf = [&](Operation *op) {
    return numbers.lookup(plan::servedLayer(op));
  };
  for (Operation &op : body.without_terminator()) {
    if (isa<ReadOp, WriteOp>(op))
      continue;
    int number = layerOf(&op);
    Layer &layer = layers[number];
    layer.ops.push_back(&op);
    std::pair<int, Phase> turn = {number, phaseOf(&op)};
    if (turn.second != Phase::update && turns.insert(turn).second)
      graph.turns.push_back(turn);
    if (auto stats = dyn_cast<BatchNormStatsOp>(op))
      graph.layers[number].sampleGroups =
          stats.getGroup() ? typeOf(stats.getMean()).getDimSize(0) : 1;
    for (Value operand : op.getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer || producer->getNumOperands() == 0) {
        // What is not trained is never synchronized.
        auto read = dyn_cast_or_null<ReadOp>(producer);
        UpdateOpInterface update = read ? updateOf(read) : nullptr;
        if (update && phaseOf(&op) != Phase::update &&
            !llvm::is_contained(layer.params, operand)) {
          layer.params.push_back(operand);
          graph.layers[number].params.push_back(parameterOf(update));
        }
        continue;
      }
      // Updates read gradients where they lie: that is synchronization.
      if (phaseOf(&op) == Phase::update)
        continue;
      auto [known, isNew] = tensors.try_emplace(operand, graph.tensors.size());
      if (isNew) {
        plan::Tensor tensor;
        tensor.name = nameOf(operand).str();
        tensor.producer = layerOf(producer);
        tensor.made = phaseOf(producer);
        tensor.elementBytes = train::elementBytes(operand.getType());
        tensor.shape = shard::shapeOf(operand);
        graph.layers[tensor.producer].made.push_back(graph.tensors.size());
        layers[tensor.producer].made.push_back(operand);
        graph.tensors.push_back(tensor);
      }
      std::vector<int> &consumers = graph.tensors[known->second].consumers;
      if (!llvm::is_contained(consumers, number)) {
        consumers.push_back(number);
        graph.tensors[known->second].needed.push_back(phaseOf(&op));
        graph.layers[number].read.push_back(known->second);
        layer.read.push_back(operand);
      }
    }
  }
  addSums(graph);
  for (auto [layer, known] : llvm::zip_equal(layers, graph.layers))
    sign(layer, known);
}

bool TileBuilder::follows(int layer) const {
  return llvm::all_of(layers[layer].ops, [](Operation *op) {
    return phaseOf(op) == Phase::update || op->hasTrait<FollowingOp>() ||
           addsStatistics(op);
  });
}

/// Adds the tensors that products with a fused ReLU make and read themselves
/// where their reduction is cut.
void TileBuilder::addSums(plan::LayerGraph &graph) {
  for (auto [i, layer] : llvm::enumerate(layers))
    for (Operation *op : layer.ops) {
      auto product = dyn_cast<train::FusedReluOpInterface>(op);
      if (!product || !product.getRelu())
        continue;
      plan::LayerGraph::Layer &known = graph.layers[i];
      layer.sums[op] = {layer.made.size(), layer.read.size()};
      layer.made.push_back({});
      layer.read.push_back({});
      int number = static_cast<int>(graph.tensors.size());
      known.made.push_back(number);
      known.read.push_back(number);
      plan::Tensor tensor;
      tensor.name = nameOf(op->getResult(0)).str() + ".sum";
      tensor.producer = static_cast<int>(i);
      tensor.consumers = {tensor.producer};
      tensor.needed = {Phase::forward};
      tensor.elementBytes = train::elementBytes(op->getResult(0).getType());
      tensor.shape = shard::shapeOf(op->getResult(0));
      graph.tensors.push_back(tensor);
    }
}

/// Writes the signature of a layer: its ops with types and attributes, without
/// names, and which of its values other layers make or read.
void TileBuilder::sign(const Layer &layer, plan::LayerGraph::Layer &known) {
  llvm::raw_string_ostream os(known.signature);
  llvm::DenseMap<Value, int> numbers;
  auto numberOf = [&](Value value) {
    return numbers.try_emplace(value, numbers.size()).first->second;
  };
  for (Operation *op : layer.ops) {
    os << op->getName() << op->getPropertiesAsAttribute();
    if (Attribute axes = op->getAttr(axesAttr))
      os << axes;
    os << phaseName(phaseOf(op));
    for (ValueRange values :
         {ValueRange(op->getOperands()), ValueRange(op->getResults())})
      for (Value value : values)
        os << " " << numberOf(value) << ":" << value.getType();
    os << ";";
  }
  for (const auto &list : {layer.made, layer.read, layer.params}) {
    os << "|";
    for (Value value : list)
      os << numberOf(value) << " ";
  }
}

plan::LayerTiles TileBuilder::build(int number, const Tiling &tiling) const {
  const Layer &layer = layers[number];
  size_t count = tiling.tiles();
  plan::LayerTiles tiles;
  tiles.work.resize(count);
  auto regions = [&](const SmallVector<Value> &values) {
    return std::vector<plan::LayerTiles::Regions>(
        values.size(), plan::LayerTiles::Regions(count));
  };
  tiles.made = regions(layer.made);
  tiles.read = regions(layer.read);
  tiles.params = regions(layer.params);
  auto note = [&](const SmallVector<Value> &values, Value value, size_t tile,
                  const std::optional<Box> &box,
                  std::vector<plan::LayerTiles::Regions> &list) {
    auto found = llvm::find(values, value);
    if (found == values.end() || !box)
      return;
    std::optional<Box> &known = list[found - values.begin()][tile];
    known = known ? tiling::hullOf(*known, *box) : *box;
  };

  tiling::Cuts whole;
  whole.degrees = tiling.degrees;
  whole.sizes = tiling.sizes;
  for (Operation *op : layer.ops) {
    if (phaseOf(op) == Phase::update || op->getNumOperands() == 0)
      continue;
    tiling::Cuts cuts = shard::cutsOf(op, whole);
    const Movement movement = movementOf(op);
    auto product = dyn_cast<train::FusedReluOpInterface>(op);
    const bool isSummed =
        product && product.getRelu() && cuts.degrees[tiling::k] > 1;
    shard::forEachTile(cuts, whole, [&](const tiling::Grid &index, int64_t t) {
      train::Tile tile = shard::tileOf(op, cuts, index);
      if (!isView(op, movement, tile)) {
        plan::Work &work = tiles.work[t].emplace_back(plan::workOf(op, tile));
        work.phase = phaseOf(op);
        if (options.keys)
          work.key = plan::keyOf(op, tile);
      }
      for (auto [operand, box] :
           llvm::zip_equal(op->getOperands(), tile.operands)) {
        note(layer.read, operand, t, box, tiles.read);
        note(layer.params, operand, t, box, tiles.params);
      }
      if (isSummed)
        tiles.made[layer.sums.lookup(op).first][t] = tile.results[0];
      else
        for (auto [result, box] :
             llvm::zip_equal(op->getResults(), tile.results))
          note(layer.made, result, t, tile.kept ? tile.kept : box, tiles.made);
    });
    if (isSummed)
      buildRelu(layer, product, whole, tiles);
  }
  return tiles;
}

/// The tiles of a ReLU that is taken apart from its product.
void TileBuilder::buildRelu(const Layer &layer,
                            train::FusedReluOpInterface product,
                            const tiling::Cuts &whole,
                            plan::LayerTiles &tiles) const {
  Value result = product->getResult(0);
  // Those of the product, without its reduction, have the same results.
  tiling::Grid extents = shard::extentsOf(product);
  extents[tiling::k] = 1;
  tiling::Cuts cuts = shard::cutsOfFollowing(extents, whole);
  size_t madeAt = llvm::find(layer.made, result) - layer.made.begin();
  shard::forEachTile(cuts, whole, [&](const tiling::Grid &index, int64_t t) {
    std::optional<Box> box = shard::tileOf(product, cuts, index).results[0];
    plan::Work &work = tiles.work[t].emplace_back(
        plan::workOfRelu(result, *box, options.keys));
    work.phase = Phase::forward;
    tiles.read[layer.sums.lookup(product).second][t] = box;
    if (madeAt < layer.made.size())
      tiles.made[madeAt][t] = box;
  });
}
