//===- Segments.cpp - A sequence cut into segments ------------------------===//
//
// Gives each unit a level; a segment is the units of one level and section, or
// of a task. A lane's level rises where it waits for an event that another
// device, or another section of its own device, has recorded, and where a task
// begins or ends.
//
// Devices that do the same may rise at different calls: one adds what all of
// them made, the others fetch the sum. So counterpart calls are put on one
// level, the highest of theirs, and calls that only some devices have on a
// level of their own. Raising one call may raise others; levels are computed
// anew until they settle.
//
//===----------------------------------------------------------------------===//

#include "codegen/Segments.h"

#include <algorithm>
#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

namespace {

/// Finds the segments of one sequence.
class Cutter {
public:
  Cutter(SequenceOp sequence, ProgramNames &names, bool byMicroBatch)
      : names(names), units(unitsOf(sequence, names, byMicroBatch)),
        levels(units.size(), 0) {
    numberMakers();
    const size_t kinds = makers.size();
    leastLevel.assign(kinds, 0);
    // If devices do the same in different orders, levels need not settle. Then
    // each lane rises only where it has to.
    bool settled = names.devices.size() > 1 && settle();
    if (!settled) {
      leastLevel.assign(kinds, 0);
      raise(/*together=*/false);
    }
  }

  std::vector<Segment> segments() const {
    assert(areOrdered() && "a segment waits for a later one");
    std::map<Key, Segment> found;
    for (auto [number, unit] : llvm::enumerate(units)) {
      Segment &segment = found[keyOf(number)];
      segment.section = unit.section;
      segment.microBatch = unit.microBatch;
      segment.ops.resize(names.devices.size());
      llvm::append_range(segment.ops[unit.device], unit.ops);
    }
    std::vector<Segment> list;
    for (auto &[key, segment] : found)
      list.push_back(std::move(segment));
    return list;
  }

private:
  /// Segments are printed in the order of their keys.
  using Key = std::tuple<size_t, Section, int64_t, int>;
  Key keyOf(int unit) const {
    const Unit &of = units[unit];
    return {levels[unit], of.section, of.microBatch, of.task};
  }
  bool areOrdered() const;

  /// Where a lane stands while levels are computed.
  struct LaneState {
    size_t level = 0;
    Section section = Section::forward;
    int task = -1;
  };

  /// Raises levels until counterparts agree; false if they do not after
  /// maxPasses. Real programs take a few passes.
  bool settle() {
    constexpr int maxPasses = 64;
    for (int pass = 0; pass < maxPasses; ++pass)
      if (!raise(/*together=*/true))
        return true;
    return false;
  }

  void numberMakers();
  bool raise(bool together);
  size_t leastOf(const Unit &unit, const LaneState &lane) const;

  ProgramNames &names;
  std::vector<Unit> units;
  std::vector<size_t> levels;     ///< by unit
  std::vector<size_t> makers;     ///< by kind of call: the number of the set
                                  ///< of devices that have it
  std::vector<size_t> leastLevel; ///< by kind of call
};

} // namespace

void Cutter::numberMakers() {
  int kinds = 0;
  for (const Unit &unit : units)
    kinds = std::max(kinds, unit.kind + 1);
  std::vector<std::set<int>> devices(kinds);
  for (const Unit &unit : units)
    if (unit.kind >= 0)
      devices[unit.kind].insert(unit.device);
  std::map<std::set<int>, size_t> numbers;
  for (std::set<int> &some : devices)
    makers.push_back(
        numbers.try_emplace(std::move(some), numbers.size()).first->second);
}

/// Whether no unit precedes what is before it on its lane or what it waits for.
/// Units of one device and segment keep their order.
bool Cutter::areOrdered() const {
  std::map<int, int> lanes;
  for (auto [number, unit] : llvm::enumerate(units)) {
    auto [before, isFirst] = lanes.try_emplace(unit.lane, number);
    if (keyOf(before->second) > keyOf(number))
      return false;
    before->second = number;
    for (int by : unit.waits)
      if (by >= int(number) || keyOf(by) > keyOf(number) ||
          (keyOf(by) == keyOf(number) && units[by].device != unit.device))
        return false;
  }
  return true;
}

/// The level that a unit has at least, for what is before it on its lane and
/// for its waits.
size_t Cutter::leastOf(const Unit &unit, const LaneState &lane) const {
  // Sections of one level are printed in the order of the enum.
  bool rises = unit.task != lane.task || unit.section < lane.section;
  size_t level = lane.level + (rises ? 1 : 0);
  for (int number : unit.waits) {
    const Unit &by = units[number];
    if (by.task >= 0 && by.task == unit.task)
      continue;
    bool elsewhere = by.device != unit.device || by.section != unit.section ||
                     by.task != unit.task;
    level = std::max(level, levels[number] + (elsewhere ? 1 : 0));
  }
  return level;
}

/// Computes the level of each unit. With `together` a unit is at least on the
/// highest level known of its counterparts. Returns whether a higher one was
/// found.
bool Cutter::raise(bool together) {
  bool changed = false;
  std::map<int, LaneState> lanes;
  std::map<std::pair<int, Section>, int> last; // kind of a section's call
  for (size_t begin = 0, end; begin < units.size(); begin = end) {
    // A unit, or all units of a task: they are side by side.
    end = begin + 1;
    while (end < units.size() && units[begin].task >= 0 &&
           units[end].task == units[begin].task)
      ++end;
    size_t level = 0;
    for (size_t n = begin; n < end; ++n)
      level = std::max(level, leastOf(units[n], lanes[units[n].lane]));
    for (size_t n = begin; n < end; ++n) {
      const Unit &unit = units[n];
      if (!together || unit.kind < 0)
        continue;
      auto [before, isFirst] =
          last.try_emplace({unit.device, unit.section}, unit.kind);
      int previous = before->second;
      before->second = unit.kind;
      // Updates are excluded: each device owns other parameters.
      if (!isFirst && unit.section != Section::update && unit.task < 0 &&
          makers[previous] != makers[unit.kind])
        level = std::max(level, leastLevel[previous] + 1);
      level = std::max(level, leastLevel[unit.kind]);
    }
    for (size_t n = begin; n < end; ++n) {
      if (int kind = units[n].kind; together && kind >= 0) {
        changed |= level > leastLevel[kind];
        leastLevel[kind] = level;
      }
      levels[n] = level;
      lanes[units[n].lane] = {level, units[n].section, units[n].task};
    }
  }
  return changed;
}

std::vector<Segment> lwcc::segmentsOf(SequenceOp sequence, ProgramNames &names,
                                      bool byMicroBatch) {
  return Cutter(sequence, names, byMicroBatch).segments();
}
