//===- ScheduleProblem.h - The order of a step ------------------*- C++ -*-===//
//
// Given the ops of a function in program order, what they depend on and the
// memory they touch, find the order in which they are appended to their lanes.
//
// Program order is what the frontend and autodiff made on purpose: forward in
// the model's order, backward in its reverse, a layer's data gradient before
// its weight gradient (others wait for the former, nobody for the latter). The
// order keeps to it, except that
//   - an update runs as soon as it can: its gradient dies there. Of several,
//     that of the parameter which the next step needs first: transfers queue in
//     this order, so that new values arrive in it;
//   - among backward ops that could run, one that frees memory may be drawn
//     forward, if that makes the peak of the whole step smaller.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_SCHEDULEPROBLEM_H
#define LWCC_PASSES_SCHEDULE_SCHEDULEPROBLEM_H

#include "ir/place/Work.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::schedule {

struct Op {
  std::string name;
  int lane = 0;
  Phase phase = Phase::forward;
  int need = 0; ///< of an update: smaller if the next step needs it earlier
  std::vector<int> after;    ///< ops that must come before it
  std::vector<int> storages; ///< what it reads and writes
};

struct ScheduleProblem {
  std::vector<Op> ops; ///< in program order
  /// Bytes of each piece of memory, 0 for what lives for ever. It is alive from
  /// the first op that touches it to the last.
  std::vector<int64_t> storages;
};

using Order = std::vector<int>; ///< indices of ops

/// Most bytes alive at one op of the order.
int64_t peakOf(const ScheduleProblem &problem, const Order &order);

/// Empty if the dependences form a cycle. Same problem, same order.
Order solve(const ScheduleProblem &problem);

/// Empty if the order is valid, else what is wrong with it.
std::string verify(const ScheduleProblem &problem, const Order &order);

} // namespace lwcc::schedule

#endif // LWCC_PASSES_SCHEDULE_SCHEDULEPROBLEM_H
