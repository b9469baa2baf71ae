//===- OrderRules.cpp - The plan's order of tasks -------------------------===//
//
// Rule C2 of the form `scheduled`: on each lane, tasks come in the plan's
// order. Checked of the ops that no reading of the rule leaves out: those of
// one tile, on the task's lane, that need nothing but that tile of their own
// layer and phase. What combines tiles, and what is computed of labels alone,
// belongs to no task.
//
// Shares no code with the pass that it judges (passes/schedule).
//
//===----------------------------------------------------------------------===//

#include "passes/verify/FormRules.h"

#include "llvm/ADT/StringMap.h"

#include <map>
#include <set>
#include <tuple>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;
using namespace lwcc::forms;

namespace {
/// The ops of one function by the task that they certainly belong to.
class OwnOps {
public:
  explicit OwnOps(func::FuncOp func) {
    for (Operation &op : func.getBody().front().without_terminator()) {
      position[&op] = position.size();
      ofLabels[&op] = llvm::all_of(op.getOperands(), [&](Value value) {
        Operation *producer = value.getDefiningOp();
        return producer ? producer->getNumOperands() == 0 || ofLabels[producer]
                        : isLabels(roleOf(cast<BlockArgument>(value)));
      });
      if (isOwn(&op))
        if (std::optional<Place> lane = placeOf(&op))
          ops[{*lane, layerOf(&op), phaseOf(&op)}].push_back(&op);
    }
  }

  /// Calls `visit` with the ops of a phase that belong to a task of a lane.
  void forEach(TaskAttr task, Phase phase, Place lane,
               llvm::function_ref<void(Operation *)> visit) const {
    auto found = ops.find({lane, task.getLayer(), phase});
    if (found == ops.end())
      return;
    for (Operation *op : found->second)
      if (!task.getTile() || workOf(op).getTile() == task.getTile())
        visit(op);
  }

  llvm::DenseMap<Operation *, size_t> position;

private:
  static std::optional<Place> placeOf(Operation *op) {
    auto tiling = op->getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling || tiling.getPlaces().empty())
      return std::nullopt;
    return tiling.getPlaces().front().getValue();
  }
  /// Whether an op needs, of its own layer and phase, only its own tile's work
  /// on its own lane.
  bool isOwn(Operation *op) {
    if (!workOf(op))
      return false;
    std::set<Maker> &made = makers[op];
    for (Value value : op->getOperands())
      if (Operation *from = value.getDefiningOp();
          from && workOf(from) && layerOf(from) == layerOf(op) &&
          phaseOf(from) == phaseOf(op))
        made.insert(makers[from].begin(), makers[from].end());
    if (std::optional<int64_t> tile = workOf(op).getTile())
      made.insert({tile, placeOf(op)});
    Maker self = {workOf(op).getTile(), placeOf(op)};
    return phaseOf(op) != Phase::update && !ofLabels[op] &&
           (made.empty() || (made.size() == 1 && *made.begin() == self));
  }

  /// A tile of a layer, and the lane that made it.
  using Maker = std::pair<std::optional<int64_t>, std::optional<Place>>;
  /// What each op needs of its layer and phase, itself included.
  std::map<Operation *, std::set<Maker>> makers;
  llvm::DenseMap<Operation *, bool> ofLabels;
  std::map<std::tuple<Place, StringRef, Phase>, SmallVector<Operation *>> ops;
};
} // namespace

/// The layers of which a lane has tasks of the phase `weight`, with the tiles
/// that these name.
using Apart = llvm::StringMap<std::set<std::optional<int64_t>>>;

static bool isApart(const Apart &weights, TaskAttr task) {
  auto found = weights.find(task.getLayer());
  return found != weights.end() &&
         (!task.getTile() || found->second.contains(std::nullopt) ||
          found->second.contains(task.getTile()));
}

/// Checks each lane: each task's ops stand behind all of the tasks before it.
/// Neighbours of one group are one task.
void FormRules::checkOrder(func::FuncOp func, ArrayAttr lanes) {
  OwnOps known(func);
  for (auto order : lanes.getAsRange<LaneOrderAttr>()) {
    ArrayRef<TaskAttr> tasks = order.getTasks();
    const Place lane = order.getLane().getValue();
    Apart weights;
    for (TaskAttr task : tasks)
      if (task.getPhase() == Phase::weight)
        weights[task.getLayer()].insert(task.getTile());
    Operation *last = nullptr;      // of all tasks so far
    Operation *lastOfNow = nullptr; // of these and the present group
    auto check = [&](Operation *op) {
      if (last && known.position[op] < known.position[last])
        broken(op, "C2")
                .append("the plan has work of '", layerOf(last),
                        "' before it on ", lane.text())
                .attachNote(last->getLoc())
            << "which is here";
      if (!lastOfNow || known.position[lastOfNow] < known.position[op])
        lastOfNow = op;
    };
    for (auto [i, task] : llvm::enumerate(tasks)) {
      bool joins = i > 0 && !task.getGroup().empty() &&
                   tasks[i - 1].getGroup() == task.getGroup();
      if (!joins)
        last = lastOfNow;
      known.forEach(task, task.getPhase(), lane, check);
      if (task.getPhase() == Phase::backward && !isApart(weights, task))
        known.forEach(task, Phase::weight, lane, check);
    }
  }
}
