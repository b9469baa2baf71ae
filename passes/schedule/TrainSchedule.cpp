//===- TrainSchedule.cpp - The order of a function ------------------------===//
//
// Takes `sharded`, gives `scheduled`: states each function as a
// ScheduleProblem, and puts its ops into the order that is the solution.
//
// Dependences have three sources:
// - data flow;
// - the plan's order of tasks on a lane (`train.order`: GPipe, 1F1B, ...);
// - the old value of a parameter. The new value is to lie in the same memory,
//   so readers of the old one go before an op that must work in place, and
//   before the train.write. They go before the producer of the new value, too,
//   where program order has it so; then StorageMap needs no copy.
//
// Does not decide the order itself (ScheduleProblem.h), nor lanes and tasks
// (the plan). An order of the plan that contradicts data flow is reported here,
// with the reason.
//
// Long because one class makes all of it: every source of dependences numbers
// the same ops and lanes.
//
//===----------------------------------------------------------------------===//

#include "passes/schedule/TrainSchedule.h"
#include "ir/exec/Exec.h"
#include "ir/exec/Readers.h"
#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/schedule/ScheduleProblem.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

#include <map>

namespace lwcc {
#define GEN_PASS_DEF_TRAINSCHEDULE
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

/// A function as a scheduling problem.
class Function {
public:
  Function(func::FuncOp func, ArrayAttr lanes, const TicksOf &ticksOf)
      : body(func.getBody().front()) {
    for (Operation &op : body.without_terminator())
      if (op.getNumOperands() > 0 || op.use_empty()) {
        number[&op] = ops.size();
        ops.push_back(&op);
      }
    problem.ops.reserve(ops.size());
    storageOf.reserve(ops.size());
    for (Operation *op : ops)
      add(op);
    problem.lanes = std::max<int>(1, lanesOf.size());
    if (ticksOf && problem.lanes > 1)
      for (auto [op, entry] : llvm::zip_equal(ops, problem.ops))
        entry.ticks = ticksOf(op);
    for (auto read : body.getOps<ReadOp>())
      reads[read.getParameter()] = read;
    for (Operation *op : ops)
      if (auto write = dyn_cast<WriteOp>(op))
        protectOldValue(write);
    if (lanes)
      applyOrder(lanes);
  }

  LogicalResult schedule() {
    schedule::Order order = schedule::solve(problem);
    if (std::string found = order.empty() ? contradiction() : "";
        !found.empty())
      return body.getParentOp()->emitError(
                 "the plan's \"order\" contradicts what the layers need of "
                 "each other: ")
             << found;
    if (order.empty() && !ops.empty())
      return body.getParentOp()->emitError(
          "cannot be ordered: an op needs both the old and the new value of a "
          "parameter that is updated in place");
    assert(schedule::verify(problem, order).empty() && "solver's promise");
    for (int op : order)
      if (!problem.ops[op].isBarrier)
        ops[op]->moveBefore(body.getTerminator());
    sinkSources();
    return success();
  }

private:
  /// Ops without operands (a fill, a read of a parameter) are not part of the
  /// problem. Each goes right in front of its first user.
  void sinkSources() {
    SmallVector<Operation *> sources;
    llvm::DenseMap<Operation *, int> position;
    for (auto [number, op] : llvm::enumerate(body)) {
      position[&op] = number;
      if (op.getNumOperands() == 0 && !op.use_empty())
        sources.push_back(&op);
    }
    for (Operation *op : llvm::reverse(sources)) {
      Operation *first = *op->user_begin();
      for (Operation *user : op->getUsers())
        if (position[user] < position[first])
          first = user;
      op->moveBefore(first);
    }
  }

  void add(Operation *op) {
    schedule::Op entry;
    entry.name = (op->getName().getStringRef() + " of " + layerOf(op)).str();
    entry.phase = phaseOf(op);
    // The need of an update: the number of the first op of its layer, which is
    // of the forward phase.
    entry.need =
        firstOf.try_emplace(layerOf(op), problem.ops.size()).first->second;
    if (auto tiling = op->getAttrOfType<TilingAttr>(tilingAttr))
      if (!tiling.getPlaces().empty())
        entry.lane = lanesOf
                         .try_emplace(tiling.getPlaces().front().getValue(),
                                      lanesOf.size())
                         .first->second;
    for (Value operand : op->getOperands()) {
      Operation *producer = operand.getDefiningOp();
      if (!producer)
        continue;
      if (auto known = number.find(producer); known != number.end())
        entry.after.push_back(known->second);
      else if (!storageOf.contains(operand)) // a source's
        storageOf[operand] = storageFor(producer, 0);
    }
    for (auto [index, result] : llvm::enumerate(op->getResults()))
      storageOf[result] = storageFor(op, index);
    for (Value value : op->getOperands())
      if (auto storage = storageOf.find(value); storage != storageOf.end())
        entry.storages.push_back(storage->second);
    for (Value value : op->getResults())
      entry.storages.push_back(storageOf[value]);
    problem.ops.push_back(std::move(entry));
  }

  int storageFor(Operation *op, unsigned result) {
    auto known = [&](Value value) {
      auto storage = storageOf.find(value);
      return storage == storageOf.end() ? newStorage(0) : storage->second;
    };
    if (std::optional<unsigned> operand = tiedOperand(op, result))
      return known(op->getOperand(*operand));
    if (mayBeView(op))
      return known(op->getOperand(0));
    if (isa<ReadOp>(op))
      return newStorage(0);
    return newStorage(
        exec::bytesOf(cast<RankedTensorType>(op->getResult(result).getType())));
  }
  int newStorage(int64_t bytes) {
    problem.storages.push_back(bytes);
    return problem.storages.size() - 1;
  }

  /// Adds dependences: readers of a parameter's old value before the ops that
  /// overwrite it.
  void protectOldValue(WriteOp write) {
    llvm::SetVector<Operation *> readers;
    if (ReadOp read = reads.lookup(write.getParameter()))
      readers.insert_range(
          readersOfPart(read, write.getValue(), write.getBegin()));
    Operation *producer = write.getValue().getDefiningOp();
    bool inPlace =
        producer &&
        tiedOperand(producer,
                    cast<OpResult>(write.getValue()).getResultNumber());
    for (Operation *reader : readers) {
      auto precede = [&](Operation *overwriter) {
        if (overwriter && reader != overwriter && number.count(reader))
          problem.ops[number[overwriter]].after.push_back(number[reader]);
      };
      precede(write);
      if (producer && (inPlace || reader->isBeforeInBlock(producer)))
        precede(producer);
    }
  }

  /// Which tiles of its layer an op depends on within its phase, and on which
  /// lanes these were made.
  struct Made {
    std::optional<int64_t> tile; ///< one of the tiles
    Attribute place;             ///< lane of that tile
    bool severalTiles = false, severalPlaces = false;

    void add(const Made &other) {
      if (!other.tile)
        return;
      severalTiles |= other.severalTiles || (tile && tile != other.tile);
      severalPlaces |= other.severalPlaces || (tile && place != other.place);
      tile = other.tile;
      place = other.place;
    }
  };

  /// What each op depends on within its layer and phase, itself included.
  std::vector<Made> findMade() {
    std::vector<Made> made(ops.size());
    for (auto [i, op] : llvm::enumerate(ops)) {
      // A sum that is one tile's adds that tile's gradient to those before it,
      // which the plan has come before it (shard/Accumulate.cpp).
      bool accumulates = isa<SumOp>(op) && tileOf(op);
      for (Value operand : op->getOperands().drop_front(accumulates ? 1 : 0))
        if (auto from = number.find(operand.getDefiningOp());
            from != number.end() && layerOf(from->first) == layerOf(op) &&
            phaseOf(from->first) == phaseOf(op))
          made[i].add(made[from->second]);
      if (std::optional<int64_t> tile = tileOf(op))
        made[i].add({tile, placeOf(op)});
    }
    return made;
  }

  static PlaceAttr placeOf(Operation *op) {
    return op->getAttrOfType<TilingAttr>(tilingAttr).getPlaces().front();
  }

  /// The tile of its layer to which an op belongs, if there is just one.
  static std::optional<int64_t> tileOf(Operation *op) {
    WorkAttr work = workOf(op);
    return work ? work.getTile() : std::nullopt;
  }

  /// The task to which an op belongs, spelled as in plan files.
  static std::string textOf(Operation *op) {
    return Task{layerOf(op).str(), tileOf(op), phaseOf(op)}.text();
  }
  static std::string textOf(TaskAttr task) {
    if (!task.getGroup().empty())
      return task.getGroup().str();
    return Task{task.getLayer().str(), task.getTile(), task.getPhase()}.text();
  }

  /// Adds the plan's order of tasks: on each lane, every op of a task before
  /// every op of the next.
  ///
  /// An op that combines several tiles of its layer (a sum of partial sums,
  /// statistics of all samples) belongs to no tile's task. Otherwise the
  /// task of one tile would need all others, and could precede none of them.
  /// For the same reason nothing that is computed of labels alone belongs to a
  /// task: each tile's gradient of the loss is divided by the weight of all
  /// labels.
  void applyOrder(ArrayAttr lanes) {
    using Key = std::tuple<Place, StringRef, Phase, std::optional<int64_t>>;
    std::map<Key, SmallVector<int>> tasks;
    std::vector<Made> made = findMade();
    llvm::SmallDenseSet<Operation *> ofLabels;
    auto isOfLabels = [&](Value value) {
      Operation *producer = value.getDefiningOp();
      return producer ? producer->getNumOperands() == 0 ||
                            ofLabels.contains(producer)
                      : isLabels(roleOf(cast<BlockArgument>(value)));
    };
    for (auto [i, op] : llvm::enumerate(ops)) {
      if (llvm::all_of(op->getOperands(), isOfLabels)) {
        ofLabels.insert(op);
        continue;
      }
      if (!op->hasAttr(tilingAttr) || phaseOf(op) == Phase::update)
        continue;
      PlaceAttr place = placeOf(op);
      Place lane = place.getValue();
      bool elsewhere =
          made[i].severalPlaces || (made[i].tile && made[i].place != place);
      if (!elsewhere)
        tasks[{lane, layerOf(op), phaseOf(op), std::nullopt}].push_back(i);
      if (tileOf(op) && !made[i].severalTiles)
        tasks[{lane, layerOf(op), phaseOf(op), tileOf(op)}].push_back(i);
    }
    for (auto order : lanes.getAsRange<LaneOrderAttr>()) {
      Place lane = order.getLane().getValue();
      auto opsOf = [&](TaskAttr task, Phase phase) {
        auto found = tasks.find({lane, task.getLayer(), phase, task.getTile()});
        return found == tasks.end() ? SmallVector<int>() : found->second;
      };
      // The ops of a task; of neighbours of one group together.
      SmallVector<int> before, now;
      TaskAttr last;
      for (auto [i, task] : llvm::enumerate(order.getTasks())) {
        now.append(opsOf(task, task.getPhase()));
        // The whole backward pass, unless the order tells the phases apart.
        bool apart = llvm::any_of(order.getTasks(), [&](TaskAttr other) {
          return other.getPhase() == Phase::weight &&
                 other.getLayer() == task.getLayer() &&
                 (!other.getTile() || !task.getTile() ||
                  other.getTile() == task.getTile());
        });
        if (task.getPhase() == Phase::backward && !apart)
          now.append(opsOf(task, Phase::weight));
        if (i + 1 < order.getTasks().size() && !task.getGroup().empty() &&
            order.getTasks()[i + 1].getGroup() == task.getGroup())
          continue;
        if (now.empty())
          continue; // evaluation has no backward pass; or it was fused
        if (!before.empty())
          wanted.push_back({before, now, last, task, lane});
        before = std::exchange(now, {});
        last = task;
      }
    }
    for (const Wish &wish : wanted)
      grant(wish);
  }

  /// One pair of consecutive tasks of a lane: the plan wants the ops of the
  /// first before those of the second.
  struct Wish {
    SmallVector<int> before, after;
    TaskAttr first, second;
    Place lane;
  };
  /// Adds the barrier of the next wish. Barriers stand behind all ops, in the
  /// order of the wishes.
  void grant(const Wish &wish) {
    int barrier = problem.ops.size();
    problem.ops.push_back(
        {.name = "the plan's order of " + wish.lane.text(), .isBarrier = true});
    problem.ops[barrier].after.assign(wish.before.begin(), wish.before.end());
    for (int op : wish.after)
      problem.ops[op].after.push_back(barrier);
  }

  /// For a problem without solution: the first wish that makes a cycle with
  /// data flow and earlier wishes, and the reason. Removes all wishes, then
  /// grants them again one by one.
  std::string contradiction() {
    auto isBarrier = [&](int op) { return problem.ops[op].isBarrier; };
    for (schedule::Op &op : problem.ops)
      llvm::erase_if(op.after, isBarrier);
    problem.ops.resize(ops.size());
    for (const Wish &wish : wanted) {
      std::string reason = reasonAgainst(wish);
      if (!reason.empty())
        return llvm::formatv("\"{0}\" before \"{1}\" on {2}, but {3}",
                             textOf(wish.first), textOf(wish.second),
                             wish.lane.text(), reason);
      grant(wish);
    }
    return "";
  }

  /// Why the first task of a wish cannot precede the second: a path of
  /// dependences from the second to the first, each explained by data flow or
  /// by a wish that was granted. Empty if there is no path.
  std::string reasonAgainst(const Wish &wish) {
    // Breadth-first search from the first task to the second, against the
    // dependences.
    std::vector<int> from(problem.ops.size(), -1);
    std::vector<int> open(wish.before.begin(), wish.before.end());
    for (int op : open)
      from[op] = op;
    int found = -1;
    for (size_t i = 0; i < open.size() && found < 0; ++i) {
      if (llvm::is_contained(wish.after, open[i]))
        found = open[i];
      for (int before : problem.ops[open[i]].after)
        if (from[before] < 0) {
          from[before] = open[i];
          open.push_back(before);
        }
    }
    if (found < 0)
      return "";
    SmallVector<int> path = {found};
    while (from[path.back()] != path.back())
      path.push_back(from[path.back()]);
    std::string text;
    for (size_t i = path.size(); i-- > 1;) {
      // An op that several tasks share (a sum of their results) has the layer's
      // name.
      std::string reason;
      if (problem.ops[path[i]].isBarrier)
        continue;
      if (int before = path[i - 1]; problem.ops[before].isBarrier) {
        const Wish &why = wanted[before - ops.size()];
        reason = llvm::formatv("\"{0}\" is to come after \"{1}\" on {2}",
                               textOf(why.second), textOf(why.first),
                               why.lane.text());
      } else {
        std::string task = textOf(ops[path[i]]), needs = textOf(ops[before]);
        if (task != needs)
          reason = llvm::formatv("\"{0}\" needs \"{1}\"", task, needs);
      }
      if (!reason.empty())
        text += (text.empty() ? "" : ", and ") + reason;
    }
    return text.empty() ? "it needs that" : text;
  }

  Block &body;
  std::map<Place, int> lanesOf; ///< the numbers of lanes
  std::vector<Wish> wanted;     ///< the plan's order, in its order
  llvm::SmallVector<Operation *> ops;
  llvm::DenseMap<Operation *, int> number;
  llvm::StringMap<ReadOp> reads; ///< by parameter
  llvm::StringMap<int> firstOf;  ///< by layer: its first op
  llvm::DenseMap<Value, int> storageOf;
  schedule::ScheduleProblem problem;
};

struct TrainSchedule : lwcc::impl::TrainScheduleBase<TrainSchedule> {
  TrainSchedule() = default;
  explicit TrainSchedule(TicksOf ticksOf) : ticksOf(std::move(ticksOf)) {}

  void runOnOperation() override {
    auto lanes = getOperation()->getAttrOfType<ArrayAttr>(orderAttr);
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (failed(Function(func, lanes, ticksOf).schedule()))
        return signalPassFailure();
  }

  TicksOf ticksOf;
};

} // namespace

std::unique_ptr<Pass> lwcc::createTrainSchedule(TicksOf ticksOf) {
  return std::make_unique<TrainSchedule>(std::move(ticksOf));
}
