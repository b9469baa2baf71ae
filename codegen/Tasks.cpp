//===- Tasks.cpp - What belongs to one micro-batch ------------------------===//

#include "codegen/Tasks.h"

#include <queue>

using namespace lwcc;

namespace {

class Gatherer {
public:
  explicit Gatherer(std::vector<Unit> given) : units(std::move(given)) {
    makeRuns();
    attachCopies();
  }
  std::vector<Unit> run();

private:
  struct Task {
    int64_t microBatch;
    Section section;
    int first; ///< its first unit on the compute lane
    bool isCut = false;
  };

  void makeRuns();
  void attachCopies();
  void connect();
  std::vector<int> sorted(bool backward) const;
  bool cutCycles(const std::vector<int> &order);

  /// The node of a unit in the graph of tasks and single units.
  int nodeOf(int unit) const {
    int task = units[unit].task;
    return task >= 0 ? task : int(tasks.size()) + unit;
  }
  int positionOf(int node) const {
    return node < int(tasks.size()) ? tasks[node].first
                                    : node - int(tasks.size());
  }

  std::vector<Unit> units;
  std::vector<Task> tasks;
  std::vector<std::vector<int>> before, after; ///< by node
};

} // namespace

void Gatherer::makeRuns() {
  std::map<int, int> lanes; // the task that is open on each
  for (auto [number, unit] : llvm::enumerate(units)) {
    if (unit.isCopy)
      continue;
    int &open = lanes.try_emplace(unit.lane, -1).first->second;
    bool goesOn = open >= 0 && tasks[open].section == unit.section &&
                  tasks[open].microBatch == unit.microBatch;
    if (unit.microBatch >= 0 && !goesOn) {
      open = tasks.size();
      tasks.push_back({unit.microBatch, unit.section, int(number)});
    }
    // A record, and a call that makes no tile, follow the call before it.
    unit.task = open;
  }
}

/// Gives the copies to the tasks that wait for them, lane by lane from the
/// last: a copy must be appended before all that follow it on its lane.
void Gatherer::attachCopies() {
  std::map<int, std::vector<int>> waiters; // on the same device
  for (auto [number, unit] : llvm::enumerate(units))
    for (int by : unit.waits)
      if (units[by].isCopy && units[by].device == unit.device)
        waiters[by].push_back(number);
  std::map<int, int> next; // by lane: the unit that has to wait first
  for (size_t number = units.size(); number-- > 0;) {
    Unit &unit = units[number];
    if (!unit.isCopy)
      continue;
    int &first = next.try_emplace(unit.lane, int(units.size())).first->second;
    for (int waiter : waiters[number])
      first = std::min(first, waiter);
    if (first == int(units.size()))
      continue;
    unit.task = units[first].task;
    if (unit.task >= 0)
      first = std::min(first, tasks[unit.task].first);
  }
}

/// Builds the graph of tasks and single units.
void Gatherer::connect() {
  before.assign(tasks.size() + units.size(), {});
  after = before;
  std::map<int, int> lanes; // the unit before on each lane
  for (auto [number, unit] : llvm::enumerate(units)) {
    int node = nodeOf(number);
    auto follows = [&](int earlier) {
      if (int other = nodeOf(earlier); other != node) {
        before[node].push_back(other);
        after[other].push_back(node);
      }
    };
    auto [previous, isFirst] = lanes.try_emplace(unit.lane, number);
    if (!isFirst)
      follows(previous->second);
    previous->second = number;
    for (int by : unit.waits)
      follows(by);
  }
}

/// The nodes that can be put in order, the earliest of the sequence first; from
/// the end of the sequence with `backward`. Nodes on cycles, and those behind
/// them, are left out.
std::vector<int> Gatherer::sorted(bool backward) const {
  const auto &of = backward ? after : before;
  const auto &next = backward ? before : after;
  std::vector<int> missing, order;
  for (const auto &list : of)
    missing.push_back(list.size());
  using Entry = std::pair<int, int>; // position, node
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  std::vector<bool> isUsed(of.size(), false);
  for (size_t number = 0; number < units.size(); ++number)
    isUsed[nodeOf(number)] = true;
  for (size_t node = 0; node < of.size(); ++node)
    if (isUsed[node] && missing[node] == 0)
      ready.push({positionOf(node), node});
  while (!ready.empty()) {
    int node = ready.top().second;
    ready.pop();
    order.push_back(node);
    for (int other : next[node])
      if (--missing[other] == 0)
        ready.push({positionOf(other), other});
  }
  return order;
}

/// Cuts the tasks on cycles, if there are any; `order` is sorted(false).
bool Gatherer::cutCycles(const std::vector<int> &order) {
  std::vector<bool> isOrdered(before.size(), false);
  for (int node : order)
    isOrdered[node] = true;
  for (int node : sorted(/*backward=*/true))
    isOrdered[node] = true;
  std::vector<bool> isCut(tasks.size(), false);
  for (const Unit &unit : units)
    if (unit.task >= 0)
      isCut[unit.task] = !isOrdered[unit.task];
  if (!llvm::is_contained(isCut, true))
    return false;
  std::map<int, int> current; // by task that is cut: the piece that is open
  for (auto [number, unit] : llvm::enumerate(units)) {
    if (unit.task < 0 || unit.task >= int(isCut.size()) || !isCut[unit.task])
      continue;
    int whole = unit.task;
    assert(!tasks[whole].isCut && "pieces have an order");
    if (unit.isCopy) {
      unit.task = -1;
      continue;
    }
    auto [piece, isFirst] = current.try_emplace(whole, -1);
    bool waits = llvm::any_of(
        unit.waits, [&](int by) { return units[by].lane != unit.lane; });
    if (isFirst || waits) {
      piece->second = tasks.size();
      Task rest = tasks[whole];
      rest.first = number;
      rest.isCut = true;
      tasks.push_back(rest);
    }
    unit.task = piece->second;
  }
  return true;
}

std::vector<Unit> Gatherer::run() {
  std::vector<int> order;
  do {
    connect();
    order = sorted(/*backward=*/false);
  } while (cutCycles(order));

  std::vector<std::vector<int>> unitsOf(before.size());
  for (size_t number = 0; number < units.size(); ++number)
    unitsOf[nodeOf(number)].push_back(number);
  std::vector<int> newNumber(units.size());
  std::vector<Unit> moved;
  for (int node : order)
    for (int number : unitsOf[node]) {
      newNumber[number] = moved.size();
      moved.push_back(std::move(units[number]));
      bool isTask = node < int(tasks.size());
      moved.back().microBatch = isTask ? tasks[node].microBatch : -1;
      if (isTask)
        moved.back().section = tasks[node].section;
    }
  for (Unit &unit : moved)
    for (int &by : unit.waits)
      by = newNumber[by];
  return moved;
}

std::vector<Unit> lwcc::gatherTasks(std::vector<Unit> units) {
  return Gatherer(std::move(units)).run();
}
