//===- LiveMemory.h - What an order holds at once ---------------*- C++ -*-===//
//
// Counts the bytes that are live while the ops of an order run
// (ScheduleProblem.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_LIVEMEMORY_H
#define LWCC_PASSES_SCHEDULE_LIVEMEMORY_H

#include "passes/schedule/ScheduleProblem.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

namespace lwcc::schedule {

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

} // namespace lwcc::schedule

#endif // LWCC_PASSES_SCHEDULE_LIVEMEMORY_H
