//===- LaneProblem.cpp - Which lane of its device does what ---------------===//

#include "passes/plan/solve/LaneProblem.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <numeric>
#include <queue>

using namespace lwcc::plan;

static int laneOf(const LaneProblem &problem, const LaneTask &task,
                  const LaneChoice &choice) {
  return task.device * problem.lanes +
         (choice[task.unit] + task.shift) % problem.lanes;
}

static std::vector<double> tailsOf(const LaneProblem &problem) {
  std::vector<double> tails(problem.tasks.size(), 0);
  for (size_t i = tails.size(); i-- > 0;) {
    tails[i] += problem.tasks[i].alone;
    for (int before : problem.tasks[i].after)
      tails[before] = std::max(tails[before], tails[i]);
  }
  return tails;
}

static double stepOf(const LaneProblem &problem, const LaneChoice &choice,
                     const std::vector<double> &tails) {
  const std::vector<LaneTask> &tasks = problem.tasks;
  std::vector<int> deviceOf;
  for (int lane = 0; lane < problem.devices * problem.lanes; ++lane)
    deviceOf.push_back(lane / problem.lanes);
  LaneSharing sharing(deviceOf);
  std::vector<std::vector<int>> readers(tasks.size());
  std::vector<size_t> missing(tasks.size());
  for (auto [i, task] : llvm::enumerate(tasks)) {
    missing[i] = task.after.size();
    for (int before : task.after)
      readers[before].push_back(static_cast<int>(i));
  }
  auto isLater = [&](int a, int b) {
    return tails[a] != tails[b] ? tails[a] < tails[b] : a > b;
  };
  using Ready = std::priority_queue<int, std::vector<int>, decltype(isLater)>;
  std::vector<Ready> ready(deviceOf.size(), Ready(isLater));
  std::vector<int> running(deviceOf.size(), -1);
  std::vector<double> lost(tasks.size(), 0); // before a task, by waking
  auto add = [&](int task) {
    ready[laneOf(problem, tasks[task], choice)].push(task);
  };
  for (size_t i = 0; i < tasks.size(); ++i)
    if (missing[i] == 0)
      add(static_cast<int>(i));
  while (true) {
    for (size_t lane = 0; lane < ready.size(); ++lane)
      if (running[lane] < 0 && !ready[lane].empty()) {
        running[lane] = ready[lane].top();
        ready[lane].pop();
        const LaneTask &task = tasks[running[lane]];
        sharing.start(static_cast<int>(lane), lost[running[lane]] + task.alone,
                      task.use);
      }
    auto next = sharing.nextEnd();
    if (!next)
      return sharing.now();
    sharing.advance(next->second);
    sharing.finish(next->first);
    for (int reader : readers[std::exchange(running[next->first], -1)])
      if (--missing[reader] == 0) {
        int lane = laneOf(problem, tasks[reader], choice);
        if (lane != next->first && running[lane] < 0)
          lost[reader] = problem.waking;
        add(reader);
      }
  }
}

double lwcc::plan::stepOf(const LaneProblem &problem,
                          const LaneChoice &choice) {
  return ::stepOf(problem, choice, tailsOf(problem));
}

/// HEFT: tasks by tail, each unit to the lane where its first task ends first.
static LaneChoice listSchedule(const LaneProblem &problem,
                               const std::vector<double> &tails) {
  std::vector<int> order(problem.tasks.size());
  std::iota(order.begin(), order.end(), 0);
  // Stable: of equal tails the earlier task goes first, so that none goes
  // before one that it needs.
  llvm::stable_sort(order, [&](int a, int b) { return tails[a] > tails[b]; });
  LaneChoice choice(problem.units, -1);
  std::vector<double> free(problem.devices * problem.lanes, 0);
  std::vector<double> ends(problem.tasks.size(), 0);
  for (int i : order) {
    const LaneTask &task = problem.tasks[i];
    double ready = 0;
    for (int before : task.after)
      ready = std::max(ready, ends[before]);
    auto startOn = [&](int lane) {
      LaneChoice tried(problem.units, lane);
      return std::max(ready, free[laneOf(problem, task, tried)]);
    };
    if (choice[task.unit] < 0) {
      choice[task.unit] = 0;
      for (int lane = 1; lane < problem.lanes; ++lane)
        if (startOn(lane) < startOn(choice[task.unit]))
          choice[task.unit] = lane;
    }
    ends[i] = startOn(choice[task.unit]) + task.alone;
    free[laneOf(problem, task, choice)] = ends[i];
  }
  for (int &lane : choice)
    lane = std::max(lane, 0);
  return choice;
}

LaneChoice lwcc::plan::solve(const LaneProblem &problem) {
  const std::vector<double> tails = tailsOf(problem);
  LaneChoice best(problem.units, 0);
  double least = ::stepOf(problem, best, tails);
  auto consider = [&](const LaneChoice &choice) {
    double step = ::stepOf(problem, choice, tails);
    // What floating-point sums differ by is no gain.
    if (step >= least * (1 - 1e-9))
      return false;
    least = step;
    best = choice;
    return true;
  };
  consider(listSchedule(problem, tails));
  std::vector<std::vector<int>> moves = problem.moves;
  for (int unit = 0; unit < problem.units; ++unit)
    moves.push_back({unit});
  // Of large problems fewer are simulated: a second is enough for a polish.
  constexpr double mostSteps = 4e6; // of tasks
  double budget = mostSteps / static_cast<double>(
                                  std::max<size_t>(1, problem.tasks.size()));
  bool improved = true;
  while (improved && budget > 0) {
    improved = false;
    for (const std::vector<int> &move : moves)
      for (int lane = 0; lane < problem.lanes && budget > 0; ++lane) {
        LaneChoice choice = best;
        for (int unit : move)
          choice[unit] = lane;
        if (choice == best)
          continue;
        budget -= 1;
        improved |= consider(choice);
      }
  }
  return best;
}

double LaneBound::gain() const {
  double least = std::max({path, processors, memory});
  return least > 0 ? sum / least : 1;
}

LaneBound lwcc::plan::boundOf(const LaneProblem &problem) {
  LaneBound bound;
  std::vector<LaneBound> devices(problem.devices);
  std::vector<double> ends(problem.tasks.size(), 0);
  for (auto [i, task] : llvm::enumerate(problem.tasks)) {
    for (int before : task.after)
      ends[i] = std::max(ends[i], ends[before]);
    // A lane is no quicker than its device.
    ends[i] += std::min(task.whole, task.alone);
    bound.path = std::max(bound.path, ends[i]);
    LaneBound &device = devices[task.device];
    device.sum += task.whole;
    device.processors += task.processors;
    device.memory += task.memory;
  }
  for (const LaneBound &device : devices) {
    bound.sum = std::max(bound.sum, device.sum);
    bound.processors = std::max(bound.processors, device.processors);
    bound.memory = std::max(bound.memory, device.memory);
  }
  return bound;
}
