//===- Units.cpp - A sequence as units and tasks --------------------------===//

#include "codegen/Units.h"
#include "codegen/Tasks.h"

#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

static LaneOp laneOf(Operation *op, ProgramNames &names) {
  FlatSymbolRefAttr lane = TypeSwitch<Operation *, FlatSymbolRefAttr>(op)
                               .Case<CallOp, RecordOp, WaitOp>(
                                   [](auto o) { return o.getLaneAttr(); })
                               .Default(FlatSymbolRefAttr());
  return lane ? names.symbols.lookup<LaneOp>(lane.getAttr()) : LaneOp();
}

int lwcc::deviceOf(Operation *op, ProgramNames &names) {
  LaneOp lane = laneOf(op, names);
  return lane ? names.deviceOf(lane.getDevice()) : 0;
}

/// The text that a call has in common with its counterparts: function, layer,
/// phase and first result.
static std::string kindOf(CallOp call, ProgramNames &names) {
  std::string kind = (call.getCallee() + " " + call.getLayer() + " " +
                      phaseName(call.getPhase()))
                         .str();
  for (Attribute out : call.getOuts())
    if (auto name = dyn_cast<FlatSymbolRefAttr>(out))
      return kind + " " +
             names.counterparts
                 .nameOf(names.symbols.lookup<BufferOp>(name.getValue()))
                 .str();
  return kind;
}

/// The forward section of a lane ends at its first call of another phase. A
/// micro-batch begins another.
static Section sectionOf(CallOp call, bool isCopy, bool isMicroBatch,
                         Section before) {
  if (isCopy && call.getPhase() == Phase::update)
    return Section::update;
  bool forward = (isMicroBatch || before == Section::forward) &&
                 call.getPhase() == Phase::forward;
  return forward ? Section::forward : Section::backward;
}

namespace {
/// The tiles of each layer that each compute lane makes.
class Tiles {
public:
  Tiles(SequenceOp sequence, ProgramNames &names) {
    for (auto call : sequence.getBody().getOps<CallOp>())
      if (std::optional<int64_t> tile = call.getWork().getTile();
          tile && !laneOf(call, names).isCopy())
        made[{call.getLayer(), call.getLane()}].insert(*tile);
  }

  /// The rank of a call's tile among those of its layer on its lane; -1 if that
  /// makes no others.
  int64_t rankOf(CallOp call) const {
    std::optional<int64_t> tile = call.getWork().getTile();
    auto found = made.find({call.getLayer(), call.getLane()});
    if (!tile || found == made.end() || found->second.size() == 1)
      return -1;
    return std::distance(found->second.begin(), found->second.find(*tile));
  }

  bool areSeveral() const {
    return llvm::any_of(made,
                        [](const auto &of) { return of.second.size() > 1; });
  }

private:
  std::map<std::pair<StringRef, StringRef>, std::set<int64_t>> made;
};
} // namespace

bool lwcc::hasMicroBatches(SequenceOp sequence, ProgramNames &names) {
  return Tiles(sequence, names).areSeveral();
}

std::vector<Unit> lwcc::unitsOf(SequenceOp sequence, ProgramNames &names,
                                bool byMicroBatch) {
  std::vector<Unit> units;
  std::map<std::string, int> numbers;                     // of kinds
  std::map<std::pair<std::string, int>, int> occurrences; // on a device
  llvm::DenseMap<StringAttr, int> recordedBy;
  std::map<int, Section> sections; // by lane
  std::optional<Tiles> tiles;
  if (byMicroBatch)
    tiles.emplace(sequence, names);
  Unit unit;
  for (Operation &op : sequence.getBody().front()) {
    unit.ops.push_back(&op);
    if (auto wait = dyn_cast<WaitOp>(op)) {
      auto recorded = recordedBy.find(wait.getEventAttr().getAttr());
      assert(recorded != recordedBy.end() && "verified");
      unit.waits.push_back(recorded->second);
      continue;
    }
    LaneOp lane = laneOf(&op, names);
    unit.device = names.deviceOf(lane.getDevice());
    unit.lane = names.indexOf(lane);
    unit.isCopy = lane.isCopy();
    auto section = sections.try_emplace(unit.lane, Section::forward).first;
    if (auto call = dyn_cast<CallOp>(op)) {
      if (tiles && !unit.isCopy)
        unit.microBatch = tiles->rankOf(call);
      section->second =
          sectionOf(call, unit.isCopy, unit.microBatch >= 0, section->second);
      std::string kind = kindOf(call, names);
      kind += " " + std::to_string(occurrences[{kind, unit.device}]++);
      unit.kind = numbers.try_emplace(kind, numbers.size()).first->second;
    } else if (auto record = dyn_cast<RecordOp>(op)) {
      recordedBy[record.getEventAttr().getAttr()] =
          static_cast<int>(units.size());
    }
    unit.section = section->second;
    units.push_back(std::move(unit));
    unit = {};
  }
  assert(unit.ops.empty() && "a wait is followed by what waits");
  return byMicroBatch ? gatherTasks(std::move(units)) : units;
}
