//===- TasksTest.cpp - What belongs to one micro-batch --------------------===//
//
// However units wait for each other, they are put in an order in which they may
// be appended to the lanes, with those of each task side by side.
//
//===----------------------------------------------------------------------===//
#include "codegen/Tasks.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

using namespace lwcc;

namespace {

/// A call; `kind` tells it from others.
Unit call(int number, int device, int lane, int64_t microBatch,
          std::vector<int> waits = {}) {
  Unit unit;
  unit.device = device;
  unit.lane = lane;
  unit.kind = number;
  unit.microBatch = microBatch;
  unit.waits = std::move(waits);
  return unit;
}

Unit copy(int number, int device, int lane, std::vector<int> waits = {}) {
  Unit unit = call(number, device, lane, -1, std::move(waits));
  unit.isCopy = true;
  return unit;
}

std::vector<int> kindsOf(const std::vector<Unit> &units) {
  std::vector<int> kinds;
  for (const Unit &unit : units)
    kinds.push_back(unit.kind);
  return kinds;
}

/// Checks that `units` are those of `given` in an order that keeps every lane's
/// and every wait's, and that no task is torn apart.
void expectOrder(const std::vector<Unit> &given,
                 const std::vector<Unit> &units) {
  ASSERT_EQ(units.size(), given.size());
  std::map<int, int> lanes;
  std::set<int> done, closed;
  int open = -1;
  for (const Unit &unit : units) {
    auto [last, isFirst] = lanes.try_emplace(unit.lane, unit.kind);
    ASSERT_TRUE(isFirst || last->second < unit.kind) << "lane " << unit.lane;
    last->second = unit.kind;
    const std::vector<int> &waits = given[unit.kind].waits;
    ASSERT_EQ(unit.waits.size(), waits.size());
    for (auto [now, before] : llvm::zip_equal(unit.waits, waits)) {
      ASSERT_EQ(units[now].kind, before);
      ASSERT_TRUE(done.contains(before)) << unit.kind << " before " << before;
    }
    done.insert(unit.kind);
    if (unit.task != open) {
      closed.insert(open);
      open = unit.task;
      ASSERT_TRUE(open < 0 || !closed.contains(open)) << "task " << open;
    }
  }
}

TEST(Tasks, CopiesGoToWhatWaitsForThem) {
  // A stage receives three micro-batches ahead of its turns.
  std::vector<Unit> units = {copy(0, 0, 1),         copy(1, 0, 1),
                             call(2, 0, 0, 0, {0}), copy(3, 0, 1),
                             call(4, 0, 0, 1, {1}), call(5, 0, 0, 2, {3})};
  std::vector<Unit> tasks = gatherTasks(units);
  expectOrder(units, tasks);
  EXPECT_EQ(kindsOf(tasks), (std::vector<int>{0, 2, 1, 4, 3, 5}));
  EXPECT_EQ(tasks[0].task, tasks[1].task);
  EXPECT_EQ(tasks[4].microBatch, 2);
}

TEST(Tasks, ThatWaitForEachOtherAreCut) {
  // Each device's task needs what the other's makes in its midst.
  std::vector<Unit> units = {call(0, 0, 0, 0), call(1, 1, 1, 0),
                             call(2, 0, 0, 0, {1}), call(3, 1, 1, 0, {0}),
                             call(4, 0, 0, 1)};
  std::vector<Unit> tasks = gatherTasks(units);
  expectOrder(units, tasks);
  std::set<int> numbers;
  for (const Unit &unit : tasks)
    numbers.insert(unit.task);
  EXPECT_EQ(numbers.size(), 5u);
}

TEST(Tasks, AlwaysHaveAnOrder) {
  std::mt19937 random(1);
  auto below = [&](int bound) { return int(random() % bound); };
  for (int round = 0; round < 5000; ++round) {
    // Devices have two compute lanes and two for copies; units wait for any
    // earlier ones.
    int devices = 1 + below(3), batches = 1 + below(4), size = 1 + below(40);
    std::vector<Unit> units;
    for (int number = 0; number < size; ++number) {
      int device = below(devices), lane = below(4);
      std::vector<int> waits;
      for (int n = below(3); n > 0 && number > 0; --n)
        waits.push_back(below(number));
      units.push_back(lane < 2
                          ? call(number, device, 4 * device + lane,
                                 below(batches + 1) - 1, waits)
                          : copy(number, device, 4 * device + lane, waits));
      units.back().section = below(3) ? Section::forward : Section::backward;
    }
    expectOrder(units, gatherTasks(units));
    if (HasFatalFailure())
      FAIL() << "in round " << round;
  }
}

} // namespace
