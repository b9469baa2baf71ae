//===- ScheduleProblem.cpp - The order of the ops of a step ---------------===//

#include "passes/schedule/ScheduleProblem.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <set>

using namespace lwcc;
using namespace lwcc::schedule;

namespace {

/// Bytes that are live while the ops of an order run one by one.
class Memory {
public:
  explicit Memory(const ScheduleProblem &problem)
      : problem(problem), touches(problem.storages.size(), 0),
        most(problem.storages.size(), 0), born(problem.storages.size(), false) {
    for (const Op &op : problem.ops)
      for (int s : op.storages) {
        ++touches[s];
        most[s] =
            std::max(most[s], static_cast<int>(llvm::count(op.storages, s)));
      }
  }

  /// The bytes that become live minus those that are freed if the op runs next.
  int64_t change(const Op &op) const {
    int64_t bytes = 0;
    for (int s : op.storages) {
      if (!born[s])
        bytes += problem.storages[s];
      if (touches[s] == static_cast<int>(llvm::count(op.storages, s)))
        bytes -= problem.storages[s];
    }
    return bytes;
  }

  /// Runs an op. Calls `changed` with each storage for which `change` may now
  /// return another number for the ops that still touch it.
  template <typename Changed>
  void run(const Op &op, Changed changed) {
    llvm::SmallDenseSet<int> others;
    for (int s : op.storages)
      if (!born[s]) {
        born[s] = true;
        live += problem.storages[s];
        others.insert(s);
      }
    peak = std::max(peak, live);
    for (int s : op.storages) {
      if (--touches[s] == 0)
        live -= problem.storages[s];
      else if (touches[s] <= most[s])
        others.insert(s); // one op may touch it alone now, and will free it
    }
    for (int s : others)
      if (problem.storages[s] > 0)
        changed(s);
  }

  int64_t peak = 0;

private:
  const ScheduleProblem &problem;
  std::vector<int> touches; ///< accesses by ops that have not run
  std::vector<int> most;    ///< the most accesses by one op
  std::vector<bool> born;
  int64_t live = 0;
};

} // namespace

int64_t schedule::peakOf(const ScheduleProblem &problem, const Order &order) {
  Memory memory(problem);
  for (int op : order)
    memory.run(problem.ops[op], [](int) {});
  return memory.peak;
}

/// List scheduling. A ready update goes first, by need; else the first ready op
/// in program order. With `drawFreeing`, the ready backward op that frees the
/// most bytes goes before a backward op that frees fewer.
static Order listSchedule(const ScheduleProblem &problem, bool drawFreeing) {
  int n = problem.ops.size();
  std::vector<std::vector<int>> successors(n);
  std::vector<int> waiting(n, 0);
  for (int i = 0; i < n; ++i)
    for (int before : problem.ops[i].after) {
      successors[before].push_back(i);
      ++waiting[i];
    }
  Memory memory(problem);
  // Ready ops by index, which is program order; ready updates apart.
  std::set<int> barriers, ready;
  std::set<std::pair<int, int>> updates; // (need, op)
  // Ready backward ops by (change, op). Of thousands that are ready, an op
  // alters the change of few: `touching` finds those by storage.
  std::set<std::pair<int64_t, int>> freeing;
  llvm::DenseMap<int, int64_t> changeOf;
  std::vector<std::vector<int>> touching(problem.storages.size());
  auto note = [&](int op) {
    if (auto known = changeOf.find(op); known != changeOf.end())
      freeing.erase({known->second, op});
    changeOf[op] = memory.change(problem.ops[op]);
    freeing.insert({changeOf[op], op});
  };
  auto release = [&](int op) {
    if (problem.ops[op].isBarrier) {
      barriers.insert(op);
      return;
    }
    if (problem.ops[op].phase == Phase::update) {
      updates.insert({problem.ops[op].need, op});
      return;
    }
    ready.insert(op);
    if (!drawFreeing || problem.ops[op].phase == Phase::forward)
      return;
    note(op);
    for (int s : problem.ops[op].storages)
      touching[s].push_back(op);
  };
  for (int i = 0; i < n; ++i)
    if (waiting[i] == 0)
      release(i);

  auto choose = [&] {
    int first = *ready.begin();
    if (!drawFreeing || problem.ops[first].phase == Phase::forward ||
        freeing.empty())
      return first;
    auto [change, op] = *freeing.begin();
    return change < std::min<int64_t>(0, memory.change(problem.ops[first]))
               ? op
               : first;
  };

  Order order;
  while (!barriers.empty() || !ready.empty() || !updates.empty()) {
    int op = !barriers.empty() ? *barriers.begin()
             : updates.empty() ? choose()
                               : updates.begin()->second;
    barriers.erase(op);
    ready.erase(op);
    updates.erase({problem.ops[op].need, op});
    if (auto known = changeOf.find(op); known != changeOf.end()) {
      freeing.erase({known->second, op});
      changeOf.erase(known);
    }
    order.push_back(op);
    memory.run(problem.ops[op], [&](int storage) {
      llvm::erase_if(touching[storage],
                     [&](int other) { return !changeOf.contains(other); });
      for (int other : touching[storage])
        note(other);
    });
    for (int next : successors[op])
      if (--waiting[next] == 0)
        release(next);
  }
  return static_cast<int>(order.size()) == n ? order : Order();
}

Order schedule::solve(const ScheduleProblem &problem) {
  Order plain = listSchedule(problem, /*drawFreeing=*/false);
  Order freeing = listSchedule(problem, /*drawFreeing=*/true);
  return peakOf(problem, freeing) < peakOf(problem, plain) ? freeing : plain;
}

std::string schedule::verify(const ScheduleProblem &problem,
                             const Order &order) {
  std::vector<bool> done(problem.ops.size(), false);
  for (int op : order) {
    const std::string &name = problem.ops[op].name;
    if (done[op])
      return name + " runs twice";
    for (int before : problem.ops[op].after)
      if (!done[before])
        return name + " runs before " + problem.ops[before].name;
    done[op] = true;
  }
  for (auto [op, isDone] : llvm::zip_equal(problem.ops, done))
    if (!isDone)
      return op.name + " never runs";
  return "";
}
