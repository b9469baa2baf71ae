//===- ListScheduler.h - One order of a step's ops --------------*- C++ -*-===//
//
// List scheduling by one set of rules. Which rules are tried, and which of the
// orders is taken, is decided by ScheduleProblem.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_LISTSCHEDULER_H
#define LWCC_PASSES_SCHEDULE_LISTSCHEDULER_H

#include "passes/schedule/LiveMemory.h"

#include "llvm/ADT/ArrayRef.h"

#include <functional>
#include <optional>
#include <queue>

namespace lwcc::schedule {

/// Ops by a key, the least first. Nothing is taken out from the middle: what is
/// out of date is dropped when it comes up.
class Heap {
public:
  using Entry = std::pair<int64_t, int>; ///< (key, op)

  void insert(Entry entry) { entries.push(entry); }
  /// Whether nothing is left that is not out of date.
  template <typename IsOld>
  bool isEmpty(IsOld isOld) {
    while (!entries.empty() && isOld(entries.top()))
      entries.pop();
    return entries.empty();
  }
  /// Of a heap that is not empty.
  const Entry &first() const { return entries.top(); }
  void pop() { entries.pop(); }

private:
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> entries;
};

/// What a list schedule prefers.
struct Rules {
  /// Of all lanes, that goes next which can go on first.
  bool byStart = false;
  /// The ready backward op that frees the most bytes goes before a backward op
  /// that frees fewer.
  bool drawFreeing = false;
  /// Of what a lane could begin, the op with the longest path to the end goes
  /// first.
  bool urgency = false;
  /// Gradients of parameters, for which no other lane waits, go last.
  bool weightLast = false;
};

/// List scheduling. Of the ops that a lane could begin, a ready update goes
/// first, by need; else the first in program order. Without `byStart` all lanes
/// are as one, and time does not count.
class ListScheduler {
public:
  ListScheduler(const ScheduleProblem &problem, Rules rules);
  /// Empty if the dependences form a cycle.
  Order run();
  /// That of the order.
  int64_t peak() const { return memory.peak; }

private:
  /// A queue of ready ops: one per lane, or one for all.
  struct Queue {
    Heap ready;
    Heap updates; ///< by need
    /// Ready backward ops by change. Of thousands that are ready, an op alters
    /// the change of few: `touching` finds those by storage.
    Heap freeing;
    Heap coming;      ///< by when the lane can begin it
    int64_t free = 0; ///< when the lane is
  };

  void findTails();
  /// Whether an op takes no lane.
  bool isImmediate(int op) const {
    const Op &entry = problem.ops[op];
    return entry.isBarrier || (rules.byStart && entry.ticks == 0);
  }
  Queue &queueOf(int op) {
    return queues[rules.byStart ? problem.ops[op].lane : 0];
  }
  bool isUpdate(int op) const {
    return problem.ops[op].phase == Phase::update && !rules.urgency;
  }
  /// Ready ops go in the order of this key, then in program order.
  int64_t keyOf(int op) const {
    if (rules.urgency)
      return -tails[op];
    return rules.weightLast && problem.ops[op].phase == Phase::weight;
  }
  bool hasNone(Heap &heap) {
    return heap.isEmpty(
        [&](const Heap::Entry &entry) { return hasRun[entry.second]; });
  }
  bool isEmpty(Queue &queue) {
    return hasNone(queue.ready) && hasNone(queue.updates);
  }
  void noteChange(int op);
  void release(int op);
  void enqueue(int op);
  Queue *nextQueue();
  int choose(Queue &queue);
  void runOp(int op);

  llvm::ArrayRef<int> successorsOf(int op) const {
    return llvm::ArrayRef(successors)
        .slice(firstSuccessor[op], firstSuccessor[op + 1] - firstSuccessor[op]);
  }

  const ScheduleProblem &problem;
  const Rules rules;
  Memory memory;
  std::vector<int> successors, firstSuccessor; ///< by op, one behind the other
  std::vector<int> waiting; ///< of each op: dependences that have not run
  std::vector<bool> hasRun;
  std::vector<int64_t> ends, tails; ///< of each op, in ticks
  Heap immediate;                   ///< ready, and take no lane; by number
  std::vector<Queue> queues;
  std::vector<std::optional<int64_t>> changeOf; ///< of ready backward ops
  std::vector<std::vector<int>> touching;
  Order order;
};

} // namespace lwcc::schedule

#endif // LWCC_PASSES_SCHEDULE_LISTSCHEDULER_H
