//===- MemoryProblemTest.cpp - Offsets in an arena ------------------------===//
//
// The solver's promise (valid, deterministic, never below the bound, close to
// it) over random lifetimes, and what its checker refuses.
//
//===----------------------------------------------------------------------===//

#include "passes/memory/MemoryProblem.h"

#include "llvm/Support/MathExtras.h"
#include "gtest/gtest.h"

#include <random>

using namespace lwcc;
using namespace lwcc::memory;

namespace {

/// A buffer that one lane uses from step `first` to before step `end`.
Buffer interval(std::string name, int64_t bytes, int first, int end) {
  Buffer buffer{std::move(name), bytes, {}};
  for (int step : {first, end - 1})
    buffer.lifetime.add({0, step + 1}, Clock{step}, step);
  return buffer;
}

TEST(MemoryProblem, buffersWithDisjointLivesShareBytes) {
  MemoryProblem problem;
  problem.buffers = {interval("a", 1000, 0, 2), interval("b", 1000, 2, 4)};
  MemorySolution solution = solve(problem);
  EXPECT_EQ(solution.arena, 1024);
  EXPECT_EQ(solution.offsets[0], solution.offsets[1]);
  EXPECT_EQ(verify(problem, solution), "");
}

TEST(MemoryProblem, operandAndResultOfOneCallDoNotShareBytes) {
  MemoryProblem problem;
  problem.buffers = {interval("x", 256, 0, 2), interval("y", 256, 1, 3)};
  EXPECT_EQ(solve(problem).arena, 512);
}

TEST(MemoryProblem, twoLanesWithoutEventsShareNothing) {
  MemoryProblem problem;
  HappensBefore order(2, 1);
  for (int lane : {0, 1}) {
    Buffer buffer{"b" + std::to_string(lane), 256, {}};
    Clock clock = order.clock(lane);
    buffer.lifetime.add(order.append(lane), clock, lane);
    problem.buffers.push_back(buffer);
  }
  EXPECT_EQ(solve(problem).arena, 512);
  // Apart in the order of appending, but not in every order that may happen.
  EXPECT_EQ(maxLive(problem).bytes, 512);
}

TEST(MemoryProblem, anEventLetsLanesShareBytes) {
  MemoryProblem problem;
  HappensBefore order(2, 1);
  Buffer a{"a", 256, {}}, b{"b", 256, {}};
  Clock clock = order.clock(0);
  a.lifetime.add(order.append(0), clock, 0);
  order.record(0, 0);
  ASSERT_TRUE(order.wait(0, 1));
  clock = order.clock(1);
  b.lifetime.add(order.append(1), clock, 1);
  problem.buffers = {a, b};
  EXPECT_EQ(solve(problem).arena, 256);
}

TEST(MemoryProblem, unusedAndEmptyBuffersCostNothing) {
  MemoryProblem problem;
  EXPECT_EQ(solve(problem).arena, 0);
  problem.buffers = {interval("zero", 0, 0, 2), interval("a", 4, 0, 2)};
  MemorySolution solution = solve(problem);
  EXPECT_EQ(solution.arena, 256);
  EXPECT_EQ(verify(problem, solution), "");
}

TEST(MemoryProblem, wishesAreGrantedWhereAnotherArenaIsAsLarge) {
  MemoryProblem problem;
  problem.buffers = {interval("x", 10240, 0, 1)};
  auto arena = [&](int64_t wish, int64_t slack, int64_t harmless) {
    return solve(problem, {wish}, slack, harmless).arena;
  };
  EXPECT_EQ(arena(256, 0, 0), 10240);
  EXPECT_EQ(arena(256, 256, 0), 10496);
  EXPECT_EQ(arena(256, 0, 10495), 10240);
  EXPECT_EQ(arena(256, 0, 10496), 10496);
  // Not what is far above the bound, however much others need.
  EXPECT_EQ(arena(512, 0, 1 << 20), 10240);
}

TEST(MemoryProblem, checkerObjectsToEveryKindOfMistake) {
  MemoryProblem problem;
  problem.buffers = {interval("a", 256, 0, 2), interval("b", 256, 1, 3)};
  EXPECT_EQ(verify(problem, {{0, 256}, 512}), "");
  EXPECT_EQ(verify(problem, {{0, 0}, 512}),
            "a and b overlap and may hold data at the same time");
  EXPECT_EQ(verify(problem, {{0, 256}, 256}), "b reaches beyond the arena");
  EXPECT_EQ(verify(problem, {{0, 128}, 512}),
            "b lies at 128, which is not a multiple of the alignment");
  EXPECT_EQ(verify(problem, {{0}, 512}), "has 1 offsets for 2 buffers");
}

/// Random problems over several lanes with random events.
MemoryProblem randomProblem(std::mt19937 &random, int lanes, int calls) {
  auto below = [&](int n) { return static_cast<int>(random() % n); };
  MemoryProblem problem;
  HappensBefore order(lanes, calls);
  std::vector<int> alive;
  for (int call = 0; call < calls; ++call) {
    int lane = below(lanes);
    if (call > 0 && below(2))
      order.wait(below(call), lane);
    Clock clock = order.clock(lane);
    Stamp work = order.append(lane);
    problem.buffers.push_back(
        {"b" + std::to_string(call), 1 + below(100000), {}});
    problem.buffers.back().lifetime.add(work, clock, call);
    for (int b : alive)
      if (below(3) == 0)
        problem.buffers[b].lifetime.add(work, clock, call);
    alive.push_back(call);
    if (alive.size() > 8)
      alive.erase(alive.begin() + below(alive.size()));
    order.record(call, lane);
  }
  return problem;
}

TEST(MemoryProblem, randomProblemsAreSolvedValidlyAndDeterministically) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    MemoryProblem problem =
        randomProblem(random, 1 + trial % 4, 2 + trial % 60);
    MemorySolution solution = solve(problem);
    EXPECT_EQ(verify(problem, solution), "");
    EXPECT_GE(solution.arena, maxLive(problem).bytes);
    EXPECT_EQ(solve(problem).offsets, solution.offsets);
  }
}

TEST(MemoryProblem, trainingShapedLifetimesComeCloseToTheBound) {
  // Layer i's activation lives until its backward step; sizes fall with depth,
  // gradients live for one hand-over.
  std::mt19937 random(3);
  for (int layers : {40, 150, 600}) {
    MemoryProblem problem;
    for (int i = 0; i < layers; ++i) {
      int64_t bytes = 4096 * (1 + (layers - i) / 3 + random() % 5);
      problem.buffers.push_back(
          interval("y" + std::to_string(i), bytes, i, 2 * layers - i + 1));
      problem.buffers.push_back(interval("d" + std::to_string(i), bytes,
                                         2 * layers - i - 1,
                                         2 * layers - i + 1));
    }
    double ratio = double(solve(problem).arena) / maxLive(problem).bytes;
    EXPECT_LE(ratio, 1.01) << layers << " layers";
  }
}

} // namespace
