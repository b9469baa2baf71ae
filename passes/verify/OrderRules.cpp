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

#include <map>
#include <set>

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
                        : roleOf(cast<BlockArgument>(value)) == Role::labels;
      });
      if (isOwn(&op))
        ops.push_back(&op);
    }
  }

  /// Whether an op belongs to a task of a lane.
  static bool isOf(Operation *op, TaskAttr task, Place lane, bool withWeight) {
    Phase phase = phaseOf(op);
    if (withWeight && phase == Phase::weight)
      phase = Phase::backward;
    return layerOf(op) == task.getLayer() && phase == task.getPhase() &&
           placeOf(op) == lane &&
           (!task.getTile() || workOf(op).getTile() == task.getTile());
  }

  llvm::DenseMap<Operation *, size_t> position;
  SmallVector<Operation *> ops;

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
};
} // namespace

/// Checks one lane: each task's ops stand behind all of the tasks before it.
/// Neighbours of one group are one task.
void FormRules::checkOrder(func::FuncOp func, LaneOrderAttr order) {
  OwnOps known(func);
  ArrayRef<TaskAttr> tasks = order.getTasks();
  auto isApart = [&](TaskAttr task) {
    return llvm::any_of(tasks, [&](TaskAttr other) {
      return other.getPhase() == Phase::weight &&
             other.getLayer() == task.getLayer() &&
             (!other.getTile() || !task.getTile() ||
              other.getTile() == task.getTile());
    });
  };
  Operation *last = nullptr;      // of all tasks so far
  Operation *lastOfNow = nullptr; // of these and the present group
  for (auto [i, task] : llvm::enumerate(tasks)) {
    bool joins = i > 0 && !task.getGroup().empty() &&
                 tasks[i - 1].getGroup() == task.getGroup();
    if (!joins)
      last = lastOfNow;
    bool withWeight = task.getPhase() == Phase::backward && !isApart(task);
    for (Operation *op : known.ops) {
      if (!OwnOps::isOf(op, task, order.getLane().getValue(), withWeight))
        continue;
      if (last && known.position[op] < known.position[last])
        broken(op, "C2")
                .append("the plan has work of '", layerOf(last),
                        "' before it on ", order.getLane().getValue().text())
                .attachNote(last->getLoc())
            << "which is here";
      if (!lastOfNow || known.position[lastOfNow] < known.position[op])
        lastOfNow = op;
    }
  }
}
