//===- LoopsTest.cpp - Steps rolled into loops ----------------------------===//
//
// Loops must say the steps that they were made of, and find the repetition of a
// pipeline.
//
//===----------------------------------------------------------------------===//
#include "codegen/Loops.h"

#include <gtest/gtest.h>

#include <random>

using namespace lwcc;

namespace {

std::vector<Step> unrolled(llvm::ArrayRef<Loop> loops) {
  std::vector<Step> steps;
  for (const Loop &loop : loops)
    for (int64_t time = 0; time < loop.times; ++time)
      for (Step step : loop.steps) {
        step.microBatch += time * loop.advance;
        steps.push_back(step);
      }
  return steps;
}

std::string textOf(llvm::ArrayRef<Step> steps) {
  std::string text;
  for (const Step &step : steps) {
    text += std::to_string(step.group) + "(";
    for (int64_t device : step.devices)
      text += std::to_string(device) + " ";
    text += std::to_string(step.microBatch) + ") ";
  }
  return text;
}

TEST(Loops, FindTheSteadyStateOfAPipeline) {
  // Two stages, 1F1B: forward is group 0 and 1, backward 2 and 3.
  std::vector<Step> steps = {{0, {0}, 0}};
  for (int64_t m = 0; m < 10; ++m) {
    steps.push_back({1, {1}, m});
    if (m + 1 < 10)
      steps.push_back({0, {0}, m + 1});
    steps.push_back({3, {1}, m});
    steps.push_back({2, {0}, m});
  }
  std::vector<Loop> loops = rollUp(steps);
  EXPECT_EQ(textOf(unrolled(loops)), textOf(steps));
  ASSERT_LE(loops.size(), 5u);
  int64_t most = 0;
  for (const Loop &loop : loops)
    most = std::max(most, loop.times);
  EXPECT_EQ(most, 9);
}

TEST(Loops, AdvanceByMoreThanOne) {
  std::vector<Step> steps;
  for (int64_t m = 0; m < 12; m += 2)
    for (int64_t half : {0, 1})
      for (size_t group : {0, 1})
        steps.push_back({group, {half}, m + half});
  std::vector<Loop> loops = rollUp(steps);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].times, 6);
  EXPECT_EQ(loops[0].advance, 2);
}

TEST(Loops, SayTheStepsTheyWereMadeOf) {
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    // Random steps, and random repetitions among them.
    std::vector<Step> steps;
    auto one = [&]() -> Step {
      return {random() % 3, {int64_t(random() % 2)}, int64_t(random() % 3)};
    };
    for (size_t part = 0, parts = 1 + random() % 5; part < parts; ++part) {
      std::vector<Step> body;
      for (size_t n = 0, count = 1 + random() % 4; n < count; ++n)
        body.push_back(one());
      int64_t advance = random() % 3;
      for (int64_t time = 0, times = random() % 6; time < times; ++time)
        for (Step step : body) {
          step.microBatch += time * advance;
          steps.push_back(step);
        }
    }
    std::vector<Loop> loops = rollUp(steps);
    ASSERT_EQ(textOf(unrolled(loops)), textOf(steps));
    size_t lines = 0;
    for (const Loop &loop : loops)
      lines += loop.steps.size();
    ASSERT_LE(lines, steps.size());
  }
}

} // namespace
