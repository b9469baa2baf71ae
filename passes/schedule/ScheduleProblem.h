//===- ScheduleProblem.h - The order of the ops of a step -------*- C++ -*-===//
//
// Given are the ops of a function in program order, their dependences and the
// memory that they touch. Wanted is a total order of the ops: the order in
// which train-schedule appends them to their lanes. This is list scheduling
// with a priority per op.
//
// The nouns of this problem:
//   op           one op of the function; it runs once
//   dependence   op a must come before op b (data flow, the plan's order,
//                reads of a parameter's old value)
//   storage      memory that ops touch; several values may share one
//   live         a storage from the first op of an order that touches it to the
//                last
//   peak         the most bytes that are live at one op of an order
//   need         of an update: how early the next step reads its parameter
//   lane         an op takes its lane for its ticks; lanes run at once. Ticks
//                are a unit of time: what one tick is, is the caller's business
//   makespan     the ticks until the last lane is free
//   barrier      stands between two tasks of a lane that the plan has in order:
//                it comes after every op of the first and before every op of
//                the second. It takes nothing, and runs as soon as it can.
//
// Wanted is an order of small makespan and small peak: of those within 2 % of
// the smallest makespan, the one with the least product of both. Candidates are
// found by list scheduling, with the rules that follow in two ways: whatever
// the time, or such that the op goes next that can start first.
//
// Program order is deliberate: forward in the model's order, backward in its
// reverse, a layer's data gradient before its weight gradient (the critical
// path runs through the former, nothing waits for the latter). The solution
// keeps to it, with three exceptions:
// - An update runs as soon as its gradient is there, so that the gradient's
//   memory is freed. Of several ready updates that with the smallest need goes
//   first: transfers queue in this order, so new values arrive in the order in
//   which the next step reads them.
// - A ready backward op that frees memory goes before one that does not, if
//   that lowers the peak of the whole step.
// - Within the plan's tasks, gradients of parameters go after the gradients
//   that other lanes wait for, if that shortens the step.
//
// Does not decide lanes (the plan) or events (Synchronize.h). Durations are
// those of kernels alone: links that transfers share, and what waiting costs,
// are the business of passes/plan/price.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_SCHEDULEPROBLEM_H
#define LWCC_PASSES_SCHEDULE_SCHEDULEPROBLEM_H

#include "ir/place/Work.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::schedule {

/// One op of the function, as the problem sees it.
struct Op {
  std::string name;
  int lane = 0; ///< 0 to ScheduleProblem::lanes - 1
  Phase phase = Phase::forward;
  int need = 0; ///< of an update: the smaller, the earlier it is read again
  std::vector<int> after;    ///< ops that must come before it
  std::vector<int> storages; ///< one per operand and result
  bool isBarrier = false;
  int64_t ticks = 0; ///< for which it takes its lane; 0: it takes none
};

/// The ops of one function; their order is wanted.
struct ScheduleProblem {
  std::vector<Op> ops; ///< in program order
  /// Bytes of each storage; 0 for memory that outlives the step and is never
  /// freed.
  std::vector<int64_t> storages;
  int lanes = 1;
};

using Order = std::vector<int>; ///< indices of ops

/// The peak of an order.
int64_t peakOf(const ScheduleProblem &problem, const Order &order);

/// The makespan of an order that keeps all dependences.
int64_t makespanOf(const ScheduleProblem &problem, const Order &order);

/// The best of some list schedules (see above). Empty if the dependences form a
/// cycle. Deterministic.
Order solve(const ScheduleProblem &problem);

/// Checks that an order has every op once and keeps all dependences. Empty if
/// it does, else a message that names the ops.
std::string verify(const ScheduleProblem &problem, const Order &order);

} // namespace lwcc::schedule

#endif // LWCC_PASSES_SCHEDULE_SCHEDULEPROBLEM_H
