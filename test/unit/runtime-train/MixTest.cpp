//===- MixTest.cpp - What is drawn of a batch, and how it is mixed --------===//

#include "runtime/train/data/Mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

using namespace lwcc::rt::train;
using testing::ElementsAre;

static const std::vector<int64_t> picture = {1, 8, 12};

TEST(Mix, SharesHaveTheMomentsOfTheirDistribution) {
  for (double alpha : {0.05, 0.2, 1.0, 1.5, 8.0}) {
    const Mixing mixing = {alpha, 0};
    double sum = 0, squares = 0;
    constexpr int count = 20000;
    for (int batch = 0; batch < count; ++batch) {
      const double share = mixing.draw(1, 2, batch, {4}).share;
      ASSERT_GE(share, 0);
      ASSERT_LE(share, 1);
      sum += share;
      squares += (share - 0.5) * (share - 0.5);
    }
    EXPECT_NEAR(sum / count, 0.5, 0.012) << alpha;
    const double variance = 1 / (4 * (2 * alpha + 1));
    EXPECT_NEAR(squares / count / variance, 1, 0.05) << alpha;
  }
}

TEST(Mix, DependsOnSeedEpochAndBatchAlone) {
  const Mixing mixing = {0.4, 1};
  auto draw = [&](uint64_t seed, int64_t epoch, int64_t batch) {
    return mixing.draw(seed, epoch, batch, picture).share;
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(4, 2, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 4, 3));
  EXPECT_NE(draw(1, 2, 3), draw(1, 2, 4));
}

TEST(Mix, BoxesLieWithinAndTheShareIsWhatIsLeft) {
  const Mixing cutmix = {0, 1}, both = {1, 1};
  int cut = 0, empty = 0;
  constexpr int count = 2000;
  for (int batch = 0; batch < count; ++batch) {
    const Mixture mixture = cutmix.draw(1, 0, batch, picture);
    ASSERT_TRUE(mixture.box);
    const Crop &box = *mixture.box;
    EXPECT_GE(box.top, 0);
    EXPECT_GE(box.left, 0);
    EXPECT_LE(box.top + box.height, 8);
    EXPECT_LE(box.left + box.width, 12);
    const int64_t area = box.height * box.width;
    empty += area == 0;
    EXPECT_DOUBLE_EQ(mixture.share, 1 - double(area) / 96);
    cut += both.draw(1, 0, batch, picture).box.has_value();
  }
  EXPECT_GT(empty, 0); // as torchvision's may be
  EXPECT_LT(empty, count / 4);
  EXPECT_NEAR(double(cut) / count, 0.5, 0.05);
}

TEST(Mix, InputsAreMixedByTheShareOrTheBox) {
  const float own[] = {1, 2, 3, 4, 5, 6}, other[] = {10, 20, 30, 40, 50, 60};
  float mixed[6];
  mixInputs({0.75, {}}, {6}, own, other, mixed);
  EXPECT_THAT(mixed, ElementsAre(3.25f, 6.5f, 9.75f, 13, 16.25f, 19.5f));
  mixInputs({0.5, Crop{0, 1, 1, 2}}, {1, 2, 3}, own, other, mixed);
  EXPECT_THAT(mixed, ElementsAre(1, 20, 30, 4, 5, 6));
  mixInputs({1, Crop{1, 0, 0, 0}}, {1, 2, 3}, own, other, mixed);
  EXPECT_THAT(mixed, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(Mix, LabelsAreDistributions) {
  MixedLabel label;
  label.shares = {9, 9, 9, 9};
  mixLabels({0.75, {}}, 2, 0, label);
  EXPECT_THAT(label.shares, ElementsAre(0.25f, 0, 0.75f, 0));
  EXPECT_EQ(label.label, 2);
  mixLabels({0.25, {}}, 2, 0, label);
  EXPECT_EQ(label.label, 0);
  mixLabels({0.5, {}}, 3, 1, label); // torch.max takes the first
  EXPECT_EQ(label.label, 1);
  mixLabels({0.25, {}}, 3, 3, label);
  EXPECT_THAT(label.shares, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(label.label, 3);
}
