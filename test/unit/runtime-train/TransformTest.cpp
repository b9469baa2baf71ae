//===- TransformTest.cpp - Images become inputs ---------------------------===//

#include "runtime/train/Transform.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::Pointwise;

static std::vector<float> apply(const Transform &transform,
                                std::vector<float> in, size_t count) {
  std::vector<float> out(count, -1);
  transform.apply(in.data(), out.data());
  return out;
}

// Half-pixel centres: outputs lie at source -0.25 (clamped to 0), 0.25, 0.75
// and 1.25 (beyond the last pixel).
TEST(Transform, ResizeUpByTwo) {
  Transform transform({1, 1, 2, true}, {1, 1, 4}, {}, {});
  EXPECT_THAT(apply(transform, {0, 1}, 4),
              Pointwise(FloatEq(), {0.0f, 0.25f, 0.75f, 1.0f}));
}

// Outputs lie at source 0.25 and 1.75 for a scale of 1.5.
TEST(Transform, ResizeDownDoesNotAverage) {
  Transform transform({1, 3, 1, true}, {1, 2, 1}, {}, {});
  EXPECT_THAT(apply(transform, {0, 4, 8}, 2),
              Pointwise(FloatEq(), {1.0f, 7.0f}));
}

// torch.nn.functional.interpolate(torch.arange(6.).view(1, 1, 2, 3),
//   size=(3, 2), mode="bilinear", align_corners=False)
TEST(Transform, ResizeBothWays) {
  Transform transform({1, 2, 3, true}, {1, 3, 2}, {}, {});
  EXPECT_THAT(apply(transform, {0, 1, 2, 3, 4, 5}, 6),
              Pointwise(testing::FloatNear(1e-6f),
                        {0.25f, 1.75f, 1.75f, 3.25f, 3.25f, 4.75f}));
}

TEST(Transform, GreyIsRepeatedAndNormalizedPerChannel) {
  Transform transform({1, 1, 2, true}, {3, 1, 2}, {0, 1, 2}, {1, 2, 4});
  EXPECT_THAT(apply(transform, {1, 3}, 6),
              ElementsAre(1, 3, 0, 1, -0.25f, 0.25f));
  EXPECT_EQ(transform.describe(), "repeated to 3 channels");
}

TEST(Transform, OneMeanForAllChannels) {
  Transform transform({3, 1, 1, true}, {3, 1, 1}, {1}, {});
  EXPECT_THAT(apply(transform, {1, 2, 3}, 3), ElementsAre(0, 1, 2));
}

TEST(Transform, RowsOfFeatures) {
  Transform flat({4, 1, 1, false}, {4}, {1}, {2});
  EXPECT_THAT(apply(flat, {1, 3, 5, 7}, 4), ElementsAre(0, 1, 2, 3));
  Transform shaped({4, 1, 1, false}, {1, 2, 2}, {}, {});
  EXPECT_THAT(apply(shaped, {1, 2, 3, 4}, 4), ElementsAre(1, 2, 3, 4));
  Transform image({1, 2, 2, true}, {4}, {}, {});
  EXPECT_THAT(apply(image, {1, 2, 3, 4}, 4), ElementsAre(1, 2, 3, 4));
}

TEST(Transform, WhatDoesNotFit) {
  EXPECT_THAT(errorOf([] { Transform({3, 4, 4, true}, {1, 4, 4}, {}, {}); }),
              HasSubstr("the data (4x4 with 3 channels) does not fit the "
                        "model's input of 1x4x4"));
  EXPECT_THAT(errorOf([] { Transform({5, 1, 1, false}, {4}, {}, {}); }),
              HasSubstr("the data (5 features) does not fit"));
  EXPECT_THAT(
      errorOf([] { Transform({3, 1, 1, true}, {3, 1, 1}, {1, 2}, {}); }),
      HasSubstr("--mean has 2 values; the input has 3 channels"));
}
