//===- ScheduleProblem.cpp - The order of the ops of a step ---------------===//

#include "passes/schedule/ScheduleProblem.h"
#include "ir/Parallel.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <functional>
#include <queue>

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

namespace {

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

  const ScheduleProblem &problem;
  const Rules rules;
  Memory memory;
  llvm::ArrayRef<int> successorsOf(int op) const {
    return llvm::ArrayRef(successors)
        .slice(firstSuccessor[op], firstSuccessor[op + 1] - firstSuccessor[op]);
  }
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

} // namespace

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
