//===- LearningRateTest.cpp - Learning rates by epoch and step ------------===//
//
// Expected values are computed by hand; test/runtime-train/schedules.test
// compares whole trainings with PyTorch's schedulers.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/loop/LearningRate.h"
#include "runtime/train/loop/Trainer.h"

#include <gtest/gtest.h>

using namespace lwcc::rt::train;

TEST(LearningRate, Constant) {
  LearningRate rate;
  rate.lr = 0.3;
  EXPECT_DOUBLE_EQ(rate.at({0}), 0.3);
  EXPECT_DOUBLE_EQ(rate.at({1000}), 0.3);
}

TEST(LearningRate, Step) {
  LearningRate rate;
  rate.kind = LearningRate::step;
  rate.lr = 1;
  rate.decayEpochs = 30;
  rate.decayRate = 0.1;
  EXPECT_DOUBLE_EQ(rate.at({29}), 1);
  EXPECT_DOUBLE_EQ(rate.at({30}), 0.1);
  EXPECT_DOUBLE_EQ(rate.at({89}), 0.1 * 0.1);
  EXPECT_NEAR(rate.at({90}), 0.001, 1e-15);
}

TEST(LearningRate, Cosine) {
  LearningRate rate;
  rate.kind = LearningRate::cosine;
  rate.lr = 1;
  rate.minLr = 0.2;
  rate.epochs = 4;
  EXPECT_DOUBLE_EQ(rate.at({0}), 1);
  EXPECT_DOUBLE_EQ(rate.at({1}), 0.2 + 0.4 * (1 + 0.70710678118654752440));
  EXPECT_DOUBLE_EQ(rate.at({2}), 0.6);
  EXPECT_DOUBLE_EQ(rate.at({4}), 0.2);
  EXPECT_DOUBLE_EQ(rate.at({9}), 0.2);
}

TEST(LearningRate, WarmupReplacesTheStart) {
  LearningRate rate;
  rate.kind = LearningRate::cosine;
  rate.lr = 1;
  rate.epochs = 4;
  rate.warmupEpochs = 2;
  rate.warmupLr = 0.5;
  EXPECT_DOUBLE_EQ(rate.at({0}), 0.5);
  EXPECT_DOUBLE_EQ(rate.at({1}), 0.75);
  EXPECT_DOUBLE_EQ(rate.at({2}), 0.5); // where the curve is without warm-up
}

TEST(LearningRate, WarmupByStep) {
  LearningRate rate;
  rate.lr = 1;
  rate.warmupSteps = 4;
  rate.warmupLr = 0.2;
  EXPECT_DOUBLE_EQ(rate.at({0, 0}), 0.2);
  EXPECT_DOUBLE_EQ(rate.at({0, 3}), 0.8);
  EXPECT_DOUBLE_EQ(rate.at({1, 4}), 1);
}

TEST(LearningRate, Milestones) {
  LearningRate rate;
  rate.kind = LearningRate::multistep;
  rate.lr = 1;
  rate.decayRate = 0.5;
  rate.milestones = {6, 2, 2};
  EXPECT_DOUBLE_EQ(rate.at({1}), 1);
  EXPECT_DOUBLE_EQ(rate.at({2}), 0.25);
  EXPECT_DOUBLE_EQ(rate.at({6}), 0.125);
}

TEST(LearningRate, OneCycle) {
  LearningRate rate;
  rate.kind = LearningRate::onecycle;
  rate.lr = 1;
  rate.steps = 20;
  EXPECT_NEAR(rate.at({0, 0}), 0.04, 1e-15);
  EXPECT_DOUBLE_EQ(rate.at({0, 5}), 1); // 0.3 * 20 - 1
  EXPECT_NEAR(rate.at({0, 19}), 4e-6, 1e-15);
  EXPECT_DOUBLE_EQ(rate.at({0, 19}), rate.at({0, 30}));
  // So few steps that it begins at the top, or ends there.
  for (int64_t steps : {1, 2, 3}) {
    rate.steps = steps;
    for (int64_t step = 0; step < steps; ++step) {
      EXPECT_GT(rate.at({0, step}), 0);
      EXPECT_LE(rate.at({0, step}), 1);
    }
  }
  rate.pctStart = 1;
  EXPECT_DOUBLE_EQ(rate.at({0, 2}), 1);
}

TEST(LearningRate, PlateausFallToTheLeast) {
  LearningRate rate;
  rate.kind = LearningRate::plateau;
  rate.lr = 1;
  rate.minLr = 0.02;
  EXPECT_DOUBLE_EQ(rate.at({9, 90, 0}), 1);
  EXPECT_DOUBLE_EQ(rate.at({9, 90, 1}), 0.1);
  EXPECT_DOUBLE_EQ(rate.at({9, 90, 2}), 0.02);
  EXPECT_DOUBLE_EQ(rate.at({9, 90, 4294967295}), 0.02);
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
  EXPECT_EQ(length(4, -1).curve, 12);
  EXPECT_EQ(length(4, 5).curve, 12); // the same where it is stopped before
  EXPECT_EQ(length(-1, 7).curve, 7);
}

TEST(TrainingLength, AnEpochEndsWithABatchThatIsNotFull) {
  Options options;
  options.lastBatch = "keep";
  options.epochs = 2;
  EXPECT_EQ(TrainingLength(options, {}, /*images=*/35, /*batch=*/10).steps, 8);
  EXPECT_EQ(TrainingLength(options, {}, /*images=*/30, /*batch=*/10).steps, 6);
  EXPECT_EQ(TrainingLength(options, {}, /*images=*/3, /*batch=*/10).steps, 2);
  const TrainState inLast = {3, 0, 30, 35};
  EXPECT_EQ(TrainingLength(options, inLast, 35, 10).firstEpoch, 0);
  EXPECT_EQ(TrainingLength(options, inLast, 35, 10).firstBatch, 3);
}
