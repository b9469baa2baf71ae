//===- Segments.cpp - A sequence cut into segments ------------------------===//
//
// Gives each call a level; a segment is the calls of one level and section. A
// lane's level rises where it waits for an event that another device, or
// another section of its own device, has recorded.
//
// Devices that do the same may rise at different calls: one adds what all of
// them made, the others fetch the sum. So counterpart calls are put on one
// level, the highest of theirs, and calls that only some devices have on a
// level of their own. Raising one call may raise others; levels are computed
// anew until they settle.
//
//===----------------------------------------------------------------------===//

#include "codegen/Segments.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
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

namespace {

/// A call or record, with the waits in front of it on its lane.
struct Unit {
  std::vector<Operation *> ops;
  int device = 0;
  int lane = 0;
  Section section = Section::forward;
  int kind = -1;          ///< of a call: equal for counterparts
  std::vector<int> waits; ///< units that record the events it waits for
  size_t level = 0;
};

/// Finds the segments of one sequence.
class Cutter {
public:
  Cutter(SequenceOp sequence, ProgramNames &names)
      : sequence(sequence), names(names) {
    collect();
    // If devices do the same in different orders, levels need not settle. Then
    // each lane rises only where it has to.
    bool settled = names.devices.size() > 1 && settle();
    if (!settled) {
      leastLevel.assign(kinds, 0);
      raise(/*together=*/false);
    }
  }

  std::vector<Segment> segments() const {
    std::map<std::pair<size_t, Section>, Segment> found;
    for (const Unit &unit : units) {
      Segment &segment = found[{unit.level, unit.section}];
      segment.section = unit.section;
      segment.ops.resize(names.devices.size());
      llvm::append_range(segment.ops[unit.device], unit.ops);
    }
    std::vector<Segment> list;
    for (auto &[key, segment] : found)
      list.push_back(std::move(segment));
    return list;
  }

private:
  /// Raises levels until counterparts agree; false if they do not after
  /// maxPasses. Real programs take a few passes.
  bool settle() {
    constexpr int maxPasses = 64;
    for (int pass = 0; pass < maxPasses; ++pass)
      if (!raise(/*together=*/true))
        return true;
    return false;
  }

  void collect();
  Section sectionOf(CallOp call, LaneOp lane, Section before) const;
  std::string kindOf(CallOp call);
  bool raise(bool together);

  SequenceOp sequence;
  ProgramNames &names;
  std::vector<Unit> units;
  size_t kinds = 0;
  std::vector<std::set<int>> makers; ///< by kind of call: its devices
  std::vector<size_t> leastLevel;    ///< by kind of call
};

} // namespace

/// The forward section of a lane ends at its first call of another phase.
Section Cutter::sectionOf(CallOp call, LaneOp lane, Section before) const {
  if (lane.isCopy() && call.getPhase() == Phase::update)
    return Section::update;
  bool forward =
      before == Section::forward && call.getPhase() == Phase::forward;
  return forward ? Section::forward : Section::backward;
}

/// The text that a call has in common with its counterparts: function, layer,
/// phase and first result.
std::string Cutter::kindOf(CallOp call) {
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

void Cutter::collect() {
  std::map<std::string, int> numbers;                     // of kinds
  std::map<std::pair<std::string, int>, int> occurrences; // on a device
  llvm::DenseMap<StringAttr, int> recordedBy;
  std::map<int, Section> sections; // by lane
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
    auto section = sections.try_emplace(unit.lane, Section::forward).first;
    if (auto call = dyn_cast<CallOp>(op)) {
      section->second = sectionOf(call, lane, section->second);
      std::string kind = kindOf(call);
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
  kinds = numbers.size();
  makers.resize(kinds);
  for (const Unit &each : units)
    if (each.kind >= 0)
      makers[each.kind].insert(each.device);
  leastLevel.assign(kinds, 0);
}

/// Computes the level of each unit. With `together` a unit is at least on the
/// highest level known of its counterparts. Returns whether a higher one was
/// found.
bool Cutter::raise(bool together) {
  bool changed = false;
  std::map<int, std::pair<size_t, Section>> lanes;
  std::map<std::pair<int, Section>, int> last; // kind of a section's call
  for (Unit &unit : units) {
    auto lane = lanes.try_emplace(unit.lane, 0, Section::forward).first;
    auto &[level, section] = lane->second;
    // Sections of one level are printed in the order of the enum.
    level += unit.section < section;
    section = unit.section;
    for (int number : unit.waits) {
      const Unit &by = units[number];
      bool elsewhere = by.device != unit.device || by.section != unit.section;
      level = std::max(level, by.level + (elsewhere ? 1 : 0));
    }
    if (together && unit.kind >= 0) {
      auto [before, isFirst] =
          last.try_emplace({unit.device, unit.section}, unit.kind);
      int previous = before->second;
      before->second = unit.kind;
      // Updates are excluded: each device owns other parameters.
      if (!isFirst && unit.section != Section::update &&
          makers[previous] != makers[unit.kind])
        level = std::max(level, leastLevel[previous] + 1);
      changed |= level > leastLevel[unit.kind];
      level = leastLevel[unit.kind] = std::max(level, leastLevel[unit.kind]);
    }
    unit.level = level;
  }
  return changed;
}

std::vector<Segment> lwcc::segmentsOf(SequenceOp sequence,
                                      ProgramNames &names) {
  return Cutter(sequence, names).segments();
}
