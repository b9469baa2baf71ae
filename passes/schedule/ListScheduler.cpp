//===- ListScheduler.cpp - One order of a step's ops ----------------------===//

#include "passes/schedule/ListScheduler.h"

#include <numeric>

using namespace lwcc;
using namespace lwcc::schedule;

ListScheduler::ListScheduler(const ScheduleProblem &problem, Rules rules)
    : problem(problem), rules(rules), memory(problem),
      firstSuccessor(problem.ops.size() + 1, 0), waiting(problem.ops.size(), 0),
      hasRun(problem.ops.size(), false), ends(problem.ops.size(), 0),
      queues(rules.byStart ? problem.lanes : 1), changeOf(problem.ops.size()),
      touching(problem.storages.size()) {
  for (auto [i, op] : llvm::enumerate(problem.ops)) {
    waiting[i] = static_cast<int>(op.after.size());
    for (int before : op.after)
      ++firstSuccessor[before + 1];
  }
  std::partial_sum(firstSuccessor.begin(), firstSuccessor.end(),
                   firstSuccessor.begin());
  successors.resize(firstSuccessor.back());
  std::vector<int> next(firstSuccessor.begin(), firstSuccessor.end() - 1);
  for (auto [i, op] : llvm::enumerate(problem.ops))
    for (int before : op.after)
      successors[next[before]++] = static_cast<int>(i);
  if (rules.urgency)
    findTails();
}

/// The ticks of the longest path from each op to the end, by a topological
/// order from the end.
void ListScheduler::findTails() {
  tails.assign(problem.ops.size(), 0);
  std::vector<int> left(problem.ops.size()), open;
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<int>(successorsOf(i).size());
    if (left[i] == 0)
      open.push_back(static_cast<int>(i));
  }
  while (!open.empty()) {
    int op = open.back();
    open.pop_back();
    for (int next : successorsOf(op))
      tails[op] = std::max(tails[op], tails[next]);
    tails[op] += problem.ops[op].ticks;
    for (int before : problem.ops[op].after)
      if (--left[before] == 0)
        open.push_back(before);
  }
}

void ListScheduler::noteChange(int op) {
  const int64_t change = memory.change(problem.ops[op]);
  if (changeOf[op] == change)
    return;
  changeOf[op] = change;
  queueOf(op).freeing.insert({change, op});
}

/// An op all of whose dependences have run.
void ListScheduler::release(int op) {
  const Op &entry = problem.ops[op];
  for (int before : entry.after)
    ends[op] = std::max(ends[op], ends[before]);
  if (isImmediate(op))
    immediate.insert({op, op});
  else if (rules.byStart)
    queueOf(op).coming.insert({ends[op], op});
  else
    enqueue(op);
}

void ListScheduler::enqueue(int op) {
  Queue &queue = queueOf(op);
  if (isUpdate(op)) {
    queue.updates.insert({problem.ops[op].need, op});
    return;
  }
  queue.ready.insert({keyOf(op), op});
  if (!rules.drawFreeing || problem.ops[op].phase == Phase::forward)
    return;
  noteChange(op);
  for (int s : problem.ops[op].storages)
    touching[s].push_back(op);
}

/// The queue whose op goes next, its ops that can begin by then enqueued. Null
/// if there is none.
ListScheduler::Queue *ListScheduler::nextQueue() {
  Queue *best = nullptr;
  int64_t least = 0;
  for (Queue &queue : queues) {
    const bool isIdle = isEmpty(queue);
    if (isIdle && hasNone(queue.coming))
      continue;
    int64_t start = queue.free;
    if (isIdle)
      start = std::max(start, queue.coming.first().first);
    if (best && start >= least)
      continue;
    best = &queue;
    least = start;
  }
  while (best && !hasNone(best->coming) &&
         best->coming.first().first <= least) {
    int op = best->coming.first().second;
    best->coming.pop();
    enqueue(op);
  }
  return best;
}

int ListScheduler::choose(Queue &queue) {
  if (!hasNone(queue.updates))
    return queue.updates.first().second;
  int first = queue.ready.first().second;
  if (!rules.drawFreeing || problem.ops[first].phase == Phase::forward ||
      queue.freeing.isEmpty([&](const Heap::Entry &entry) {
        return changeOf[entry.second] != entry.first;
      }))
    return first;
  auto [change, op] = queue.freeing.first();
  return change < std::min<int64_t>(0, memory.change(problem.ops[first]))
             ? op
             : first;
}

void ListScheduler::runOp(int op) {
  const Op &entry = problem.ops[op];
  hasRun[op] = true;
  changeOf[op].reset();
  if (!isImmediate(op)) {
    Queue &queue = queueOf(op);
    ends[op] = queue.free = std::max(ends[op], queue.free) + entry.ticks;
  }
  order.push_back(op);
  memory.run(entry, [&](int storage) {
    llvm::erase_if(touching[storage],
                   [&](int other) { return !changeOf[other].has_value(); });
    for (int other : touching[storage])
      noteChange(other);
  });
  for (int next : successorsOf(op))
    if (--waiting[next] == 0)
      release(next);
}

Order ListScheduler::run() {
  for (int i = 0; i < static_cast<int>(problem.ops.size()); ++i)
    if (waiting[i] == 0)
      release(i);
  while (true) {
    if (!hasNone(immediate))
      runOp(immediate.first().second);
    else if (Queue *queue = nextQueue())
      runOp(choose(*queue));
    else
      break;
  }
  return order.size() == problem.ops.size() ? order : Order();
}
