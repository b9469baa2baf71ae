//===- ScheduleProblem.cpp - The order of the ops of a step ---------------===//

#include "passes/schedule/ScheduleProblem.h"
#include "ir/Parallel.h"
#include "passes/schedule/ListScheduler.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace lwcc::schedule;

int64_t schedule::peakOf(const ScheduleProblem &problem, const Order &order) {
  Memory memory(problem);
  for (int op : order)
    memory.run(problem.ops[op], [](int) {});
  return memory.peak;
}

int64_t schedule::makespanOf(const ScheduleProblem &problem,
                             const Order &order) {
  std::vector<int64_t> ends(problem.ops.size(), 0), free(problem.lanes, 0);
  for (int i : order) {
    const Op &op = problem.ops[i];
    for (int before : op.after)
      ends[i] = std::max(ends[i], ends[before]);
    if (op.ticks > 0)
      ends[i] = free[op.lane] = std::max(ends[i], free[op.lane]) + op.ticks;
  }
  return order.empty() ? 0 : *llvm::max_element(ends);
}

/// An order whose makespan is this much longer may still be the best, since
/// ticks are no better known.
static constexpr double tolerance = 1.02;

Order schedule::solve(const ScheduleProblem &problem) {
  std::vector<Rules> tried = {{}, {.drawFreeing = true}};
  const bool isTimed =
      problem.lanes > 1 &&
      llvm::any_of(problem.ops, [](const Op &op) { return op.ticks > 0; });
  if (isTimed)
    llvm::append_range(
        tried, std::vector<Rules>{{.byStart = true},
                                  {.byStart = true, .drawFreeing = true},
                                  {.byStart = true, .urgency = true}});
  // Where tasks have no order, the exchange of parameters' gradients is what
  // would wait.
  if (isTimed &&
      llvm::any_of(problem.ops, [](const Op &op) { return op.isBarrier; }))
    tried.push_back({.byStart = true, .weightLast = true});
  struct Candidate {
    Order order;
    int64_t makespan, peak;
  };
  std::vector<Candidate> candidates(tried.size());
  inParallel(tried.size(), [&](size_t i) {
    ListScheduler scheduler(problem, tried[i]);
    candidates[i].order = scheduler.run();
    candidates[i].makespan =
        isTimed ? makespanOf(problem, candidates[i].order) : 0;
    candidates[i].peak = scheduler.peak();
  });
  auto least = llvm::min_element(candidates, [](const auto &a, const auto &b) {
    return a.makespan < b.makespan;
  });
  // A per cent of time is worth a per cent of memory.
  auto cost = [](const Candidate &candidate) {
    return static_cast<double>(std::max<int64_t>(candidate.makespan, 1)) *
           static_cast<double>(std::max<int64_t>(candidate.peak, 1));
  };
  const Candidate *best = nullptr;
  for (const Candidate &candidate : candidates)
    if (static_cast<double>(candidate.makespan) <=
            tolerance * static_cast<double>(least->makespan) &&
        (!best || cost(candidate) < cost(*best)))
      best = &candidate;
  return best->order;
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
