//===- LaneProblemTest.cpp - Lanes of devices, against all choices --------===//
//
// The referee plays steps in small slices of time and knows nothing of events;
// the best choice comes from trying all.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/solve/LaneProblem.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace lwcc::plan;

namespace {

/// Whole numbers of seconds, and uses in eighths.
LaneProblem randomProblem(std::mt19937 &random, bool divides) {
  auto below = [&](int count) { return static_cast<int>(random() % count); };
  LaneProblem problem;
  problem.lanes = 1 + below(3);
  problem.devices = 1 + below(2);
  problem.units = 2 + below(5);
  int count = problem.units + below(4);
  for (int i = 0; i < count; ++i) {
    LaneTask task;
    task.device = below(problem.devices);
    task.unit = i < problem.units ? i : below(problem.units);
    task.shift = below(2);
    task.alone = 1 + below(8);
    task.whole = divides ? task.alone / problem.lanes : task.alone;
    if (divides) {
      task.processors = task.alone / problem.lanes;
    } else {
      task.use = {(1 + below(8)) / 8.0, below(9) / 8.0};
      task.processors = task.alone * task.use.processors;
      task.memory = task.alone * task.use.memory;
    }
    for (int before = 0; before < i; ++before)
      if (below(3) == 0)
        task.after.push_back(before);
    problem.tasks.push_back(task);
  }
  return problem;
}

/// Slice by slice: all that runs goes on by a little. A task that its lane has
/// waited for begins later by what waking takes.
double stepInSlices(const LaneProblem &problem, const LaneChoice &choice,
                    double slice) {
  const size_t count = problem.tasks.size();
  std::vector<double> tail(count, 0), left(count);
  for (size_t i = count; i-- > 0;) {
    tail[i] = problem.tasks[i].alone;
    for (size_t j = i + 1; j < count; ++j)
      if (std::count(problem.tasks[j].after.begin(),
                     problem.tasks[j].after.end(), static_cast<int>(i)))
        tail[i] = std::max(tail[i], problem.tasks[i].alone + tail[j]);
    left[i] = problem.tasks[i].alone;
  }
  std::vector<int> runs(static_cast<size_t>(problem.devices) * problem.lanes,
                        -1);
  auto laneOf = [&](size_t i) {
    const LaneTask &task = problem.tasks[i];
    return static_cast<size_t>(task.device) * problem.lanes +
           (choice[task.unit] + task.shift) % problem.lanes;
  };
  std::vector<double> ended(count, 0), idleSince(runs.size(), 0);
  auto waking = [&](size_t i) {
    int last = -1;
    for (int before : problem.tasks[i].after)
      if (last < 0 || ended[before] > ended[last])
        last = before;
    return last >= 0 && laneOf(last) != laneOf(i) &&
                   ended[last] > idleSince[laneOf(i)]
               ? problem.waking
               : 0;
  };
  size_t done = 0;
  double time = 0;
  while (done < count) {
    for (size_t lane = 0; lane < runs.size(); ++lane) {
      if (runs[lane] >= 0)
        continue;
      for (size_t i = 0; i < count; ++i) {
        const LaneTask &task = problem.tasks[i];
        bool isReady = laneOf(i) == lane && left[i] > 0;
        for (int before : task.after)
          isReady &= left[before] <= 0;
        if (isReady && (runs[lane] < 0 || tail[i] > tail[runs[lane]]))
          runs[lane] = static_cast<int>(i);
      }
      if (runs[lane] >= 0)
        left[runs[lane]] += waking(runs[lane]);
    }
    for (int device = 0; device < problem.devices; ++device) {
      double processors = 0, memory = 0;
      for (int lane = 0; lane < problem.lanes; ++lane)
        if (int task = runs[device * problem.lanes + lane]; task >= 0) {
          processors += problem.tasks[task].use.processors;
          memory += problem.tasks[task].use.memory;
        }
      for (int lane = 0; lane < problem.lanes; ++lane)
        if (int &task = runs[device * problem.lanes + lane]; task >= 0) {
          left[task] -= slice / std::max({1.0, processors, memory});
          if (left[task] < slice / 1e3) {
            left[task] = 0;
            ended[task] = time + slice;
            idleSince[laneOf(task)] = ended[task];
            task = -1;
            ++done;
          }
        }
    }
    time += slice;
  }
  return time;
}

LaneChoice randomChoice(std::mt19937 &random, const LaneProblem &problem) {
  LaneChoice choice(problem.units);
  for (int &lane : choice)
    lane = static_cast<int>(random() % problem.lanes);
  return choice;
}

// With a lane for each unit and the tasks of a unit in a row, no two tasks ever
// wait for one lane: then slices and events cannot differ in whom they choose.
TEST(LaneProblem, aStepTakesAsLongAsPlayedInSlices) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 200; ++trial) {
    LaneProblem problem = randomProblem(random, /*divides=*/trial % 2 == 0);
    problem.lanes = problem.units;
    // Seconds that are not whole: nothing ends at the moment of something else.
    if (trial % 3 == 0)
      problem.waking = 0.5;
    for (LaneTask &task : problem.tasks) {
      task.shift = 0;
      if (problem.waking > 0)
        task.alone += static_cast<double>(random()) / std::mt19937::max();
    }
    LaneChoice choice(problem.units);
    for (int unit = 0; unit < problem.units; ++unit)
      choice[unit] = unit;
    for (size_t i = problem.units; i < problem.tasks.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        if (problem.tasks[j].unit == problem.tasks[i].unit &&
            !std::count(problem.tasks[i].after.begin(),
                        problem.tasks[i].after.end(), static_cast<int>(j)))
          problem.tasks[i].after.push_back(static_cast<int>(j));
    const double slice = 1e-3;
    double bySlices = stepInSlices(problem, choice, slice);
    EXPECT_NEAR(stepOf(problem, choice), bySlices,
                slice * static_cast<double>(problem.tasks.size() + 1))
        << "trial " << trial;
  }
}

TEST(LaneProblem, noChoiceBeatsTheBound) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 500; ++trial) {
    LaneProblem problem = randomProblem(random, trial % 2 == 0);
    LaneBound bound = boundOf(problem);
    double least = std::max({bound.path, bound.processors, bound.memory});
    EXPECT_GE(stepOf(problem, randomChoice(random, problem)),
              least * (1 - 1e-9))
        << "trial " << trial;
  }
}

/// Descent need not find the optimum; how far it stays behind is known.
TEST(LaneProblem, theSolverIsNearTheBestOfAllChoices) {
  std::mt19937 random(13);
  double worst = 1, sum = 0;
  constexpr int trials = 300;
  for (int trial = 0; trial < trials; ++trial) {
    LaneProblem problem = randomProblem(random, trial % 2 == 0);
    LaneChoice choice(problem.units, 0);
    double least = stepOf(problem, choice), oneLane = least;
    while (true) {
      size_t at = 0;
      while (at < choice.size() && ++choice[at] == problem.lanes)
        choice[at++] = 0;
      if (at == choice.size())
        break;
      least = std::min(least, stepOf(problem, choice));
    }
    double found = stepOf(problem, solve(problem));
    EXPECT_LE(found, oneLane);
    EXPECT_GE(found, least * (1 - 1e-9));
    worst = std::max(worst, found / least);
    sum += found / least;
  }
  EXPECT_LE(worst, 1.5);
  EXPECT_LE(sum / trials, 1.02);
}

TEST(LaneProblem, branchesRunBesideEachOther) {
  // 0 -> {1, 2} -> 3, each branch uses half of the device.
  LaneProblem problem;
  problem.lanes = 2;
  problem.units = 4;
  for (int i = 0; i < 4; ++i) {
    LaneTask task;
    task.unit = i;
    task.whole = task.alone = 1;
    task.use = {0.5, 0.25};
    task.processors = 0.5;
    task.memory = 0.25;
    problem.tasks.push_back(task);
  }
  problem.tasks[1].after = problem.tasks[2].after = {0};
  problem.tasks[3].after = {1, 2};
  LaneChoice choice = solve(problem);
  EXPECT_NE(choice[1], choice[2]);
  EXPECT_DOUBLE_EQ(stepOf(problem, choice), 3);
  LaneBound bound = boundOf(problem);
  EXPECT_DOUBLE_EQ(bound.sum, 4);
  EXPECT_DOUBLE_EQ(bound.path, 3);
  EXPECT_DOUBLE_EQ(bound.processors, 2);
  EXPECT_DOUBLE_EQ(bound.memory, 1);
  EXPECT_DOUBLE_EQ(bound.gain(), 4.0 / 3);
}

} // namespace
