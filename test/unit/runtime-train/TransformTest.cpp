//===- TransformTest.cpp - Images become inputs ---------------------------===//

#include "runtime/train/data/Transform.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <numeric>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;
using testing::Pointwise;

/// The input that a sample with these elements becomes.
template <typename T = float>
static std::vector<float>
apply(const SampleFormat &format, const std::vector<int64_t> &dims,
      const std::vector<T> &elements, const std::vector<double> &mean = {},
      const std::vector<double> &std = {}) {
  Transform transform(format, dims, mean, std);
  std::vector<float> input(std::accumulate(dims.begin(), dims.end(), int64_t(1),
                                           std::multiplies<>()),
                           -1.0f);
  Sample sample{format, reinterpret_cast<const char *>(elements.data()), {}};
  transform.apply(sample, {}, input.data());
  return input;
}

// Half-pixel centres: outputs lie at source -0.25 (clamped to 0), 0.25, 0.75
// and 1.25 (beyond the last pixel).
TEST(Transform, ResizeUpByTwo) {
  EXPECT_THAT(apply({1, 1, 2, true}, {1, 1, 4}, {0, 1}),
              Pointwise(FloatEq(), {0.0f, 0.25f, 0.75f, 1.0f}));
}

// Pillow's resize of [[0, 4, 8, 12]] to a half: each output is a triangle over
// four pixels, cut off at the border.
TEST(Transform, ResizeDownAverages) {
  EXPECT_THAT(apply({1, 2, 4, true}, {1, 1, 2}, {0, 4, 8, 12, 0, 4, 8, 12}),
              Pointwise(testing::FloatNear(1e-5f), {20 / 7.0f, 64 / 7.0f}));
}

// To cover 3x2, an image of 2x3 becomes 3x4; of that the two columns in the
// middle are taken.
TEST(Transform, ResizeKeepsTheShapeAndTakesTheCentre) {
  EXPECT_THAT(apply({1, 2, 3, true}, {1, 3, 2}, {0, 1, 2, 3, 4, 5}),
              Pointwise(testing::FloatNear(1e-6f),
                        {0.625f, 1.375f, 2.125f, 2.875f, 3.625f, 4.375f}));
}

// Bytes, channels-last, as image libraries write them, give the bits that the
// same numbers give as floats by planes: with and without a resize.
TEST(Transform, TypeAndLayoutOfASampleDoNotChangeTheInput) {
  constexpr int64_t channels = 3, height = 5, width = 4;
  std::vector<uint8_t> pixels(channels * height * width);
  std::vector<float> planes(pixels.size());
  std::vector<double> doubles(pixels.size());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = 0; i < height * width; ++i) {
      uint8_t value = static_cast<uint8_t>(37 * i + 101 * c);
      pixels[i * channels + c] = value;
      planes[c * height * width + i] = value / 255.0f;
      doubles[i * channels + c] = planes[c * height * width + i];
    }
  SampleFormat bytes = {channels, height,   width,
                        true,     {'u', 1}, SampleLayout::pixels};
  SampleFormat wide = bytes;
  wide.type = {'f', 8};
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{3, 5, 4}, {3, 9, 7}, {3, 2, 3}}) {
    auto expected = apply({channels, height, width, true}, dims, planes,
                          {0.1, 0.2, 0.3}, {0.5});
    EXPECT_EQ(apply(bytes, dims, pixels, {0.1, 0.2, 0.3}, {0.5}), expected);
    EXPECT_EQ(apply(wide, dims, doubles, {0.1, 0.2, 0.3}, {0.5}), expected);
  }
}

TEST(Transform, GreyIsRepeatedAndNormalizedPerChannel) {
  EXPECT_THAT(apply({1, 1, 2, true}, {3, 1, 2}, {1, 3}, {0, 1, 2}, {1, 2, 4}),
              ElementsAre(1, 3, 0, 1, -0.25f, 0.25f));
  EXPECT_EQ(Transform({1, 1, 2, true}, {3, 1, 2}, {}, {}).describe(),
            "repeated to 3 channels");
}

TEST(Transform, OneMeanForAllChannels) {
  EXPECT_THAT(apply({3, 1, 1, true}, {3, 1, 1}, {1, 2, 3}, {1}),
              ElementsAre(0, 1, 2));
}

TEST(Transform, RowsOfFeatures) {
  EXPECT_THAT(apply({4, 1, 1, false}, {4}, {1, 3, 5, 7}, {1}, {2}),
              ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(apply({4, 1, 1, false}, {1, 2, 2}, {1, 2, 3, 4}),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(apply({1, 2, 2, true}, {4}, {1, 2, 3, 4}),
              ElementsAre(1, 2, 3, 4));
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
