//===- ScheduleTest.cpp - Learning rates by epoch -------------------------===//
//
// Expected values are those of timm's schedulers, computed by hand.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/loop/Schedule.h"
#include "runtime/train/loop/Trainer.h"

#include <gtest/gtest.h>

using namespace lwcc::rt::train;

TEST(Schedule, Constant) {
  Schedule schedule;
  schedule.lr = 0.3;
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.3);
  EXPECT_DOUBLE_EQ(schedule.at(1000), 0.3);
}

TEST(Schedule, Step) {
  Schedule schedule;
  schedule.kind = Schedule::step;
  schedule.lr = 1;
  schedule.decayEpochs = 30;
  schedule.decayRate = 0.1;
  EXPECT_DOUBLE_EQ(schedule.at(29), 1);
  EXPECT_DOUBLE_EQ(schedule.at(30), 0.1);
  EXPECT_DOUBLE_EQ(schedule.at(89), 0.1 * 0.1);
  EXPECT_NEAR(schedule.at(90), 0.001, 1e-15);
}

TEST(Schedule, Cosine) {
  Schedule schedule;
  schedule.kind = Schedule::cosine;
  schedule.lr = 1;
  schedule.minLr = 0.2;
  schedule.epochs = 4;
  EXPECT_DOUBLE_EQ(schedule.at(0), 1);
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.2 + 0.4 * (1 + 0.70710678118654752440));
  EXPECT_DOUBLE_EQ(schedule.at(2), 0.6);
  EXPECT_DOUBLE_EQ(schedule.at(4), 0.2);
  EXPECT_DOUBLE_EQ(schedule.at(9), 0.2);
}

TEST(Schedule, WarmupReplacesTheStart) {
  Schedule schedule;
  schedule.kind = Schedule::cosine;
  schedule.lr = 1;
  schedule.epochs = 4;
  schedule.warmupEpochs = 2;
  schedule.warmupLr = 0.5;
  EXPECT_DOUBLE_EQ(schedule.at(0), 0.5);
  EXPECT_DOUBLE_EQ(schedule.at(1), 0.75);
  EXPECT_DOUBLE_EQ(schedule.at(2), 0.5); // where the curve is without warm-up
}

TEST(TrainingLength, FromEpochsAndSteps) {
  auto length = [](int64_t epochs, int64_t steps, TrainState start = {}) {
    Options options;
    options.epochs = epochs;
    options.steps = steps;
    return TrainingLength(options, start, /*images=*/35, /*batch=*/10);
  };
  EXPECT_EQ(length(-1, -1).steps, 3); // the last five images do not fill one
  EXPECT_EQ(length(4, -1).steps, 12);
  EXPECT_EQ(length(4, 5).steps, 5);
  EXPECT_EQ(length(1, 50).steps, 3);
  EXPECT_EQ(length(-1, 7).epochs, 3);
  EXPECT_EQ(length(-1, 7).steps, 7);
  EXPECT_EQ(length(0, -1).steps, 0);
  EXPECT_EQ(length(4, -1, {5, 1, 20, 35}).steps, 12);
  EXPECT_EQ(length(4, -1, {5, 1, 20, 35}).firstBatch, 2);
  EXPECT_EQ(length(4, 3, {5, 1, 20, 35}).steps, 5);
  EXPECT_EQ(length(4, -1, {3, 0, 30, 35}).firstEpoch, 1);
}
