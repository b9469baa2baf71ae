//===- AugmentTest.cpp - What differs each time a picture is seen ---------===//
//
// That crops and mirrors are torchvision's is tested by
// test/runtime-train/pictures.test; here, what the user may rely on.
//
//===----------------------------------------------------------------------===//

#include "TestFiles.h"
#include "runtime/train/data/Transform.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

TEST(Augment, CropsLieWithinThePictureAndHaveTheAreaAndShapeAskedFor) {
  Augmentation augmentation{{0.3, 0.5}, {0.5, 2}, 0};
  for (int64_t index = 0; index < 2000; ++index) {
    const int64_t height = 40 + index % 23, width = 40 + index % 17;
    Crop crop = augmentation.crop({1, 2, index}, height, width);
    EXPECT_GE(crop.top, 0);
    EXPECT_GE(crop.left, 0);
    EXPECT_LE(crop.top + crop.height, height);
    EXPECT_LE(crop.left + crop.width, width);
    // But for rounding of the sides.
    const double area =
        double(crop.height * crop.width) / double(height * width);
    EXPECT_GT(area, 0.3 * 0.93);
    EXPECT_LT(area, 0.5 * 1.07);
    const double shape = double(crop.width) / double(crop.height);
    EXPECT_GT(shape, 0.5 * 0.95);
    EXPECT_LT(shape, 2 * 1.05);
  }
}

TEST(Augment, TakesTheMiddleWhereNoCropFits) {
  Augmentation augmentation{{0.9, 1}, {3.0 / 4, 4.0 / 3}, 0};
  EXPECT_EQ(augmentation.crop({}, 30, 300), (Crop{0, 130, 30, 40}));
  EXPECT_EQ(augmentation.crop({}, 300, 30), (Crop{130, 0, 40, 30}));
  EXPECT_EQ(augmentation.crop({}, 1, 1000), (Crop{0, 499, 1, 1}));
}

TEST(Augment, DependsOnSeedEpochAndPictureAlone) {
  Augmentation augmentation{{0.1, 1}, {3.0 / 4, 4.0 / 3}, 0.25};
  const Crop crop = augmentation.crop({3, 4, 5}, 500, 500);
  EXPECT_EQ(augmentation.crop({3, 4, 5}, 500, 500), crop);
  EXPECT_NE(augmentation.crop({2, 4, 5}, 500, 500), crop);
  EXPECT_NE(augmentation.crop({3, 3, 5}, 500, 500), crop);
  EXPECT_NE(augmentation.crop({3, 4, 6}, 500, 500), crop);
  int mirrored = 0;
  for (int64_t index = 0; index < 4000; ++index)
    mirrored += augmentation.flips({0, 0, index});
  EXPECT_NEAR(mirrored, 1000, 100); // 3.6 standard deviations
}

TEST(Augment, AMirrorTurnsColumns) {
  Transform transform({1, 1, 3, true}, {2, 1, 3}, {}, {}, 1, {{}, {1, 1}, 1});
  const float pixels[] = {1, 2, 3};
  float input[6];
  transform.apply({{1, 1, 3, true}, reinterpret_cast<const char *>(pixels), {}},
                  {}, input);
  EXPECT_THAT(input, testing::ElementsAre(3, 2, 1, 3, 2, 1));
  EXPECT_EQ(transform.describe(),
            "mirrored with probability 1, repeated to 2 channels");
}

TEST(Augment, UpsideDownTurnsRows) {
  Augmentation augmentation;
  augmentation.verticalFlip = 1;
  Transform transform({1, 3, 2, true}, {1, 3, 2}, {}, {}, 1, augmentation);
  const float pixels[] = {1, 2, 3, 4, 5, 6};
  float input[6];
  transform.apply({{1, 3, 2, true}, reinterpret_cast<const char *>(pixels), {}},
                  {}, input);
  EXPECT_THAT(input, testing::ElementsAre(5, 6, 3, 4, 1, 2));
  EXPECT_EQ(transform.describe(), "upside down with probability 1");
  int both = 0;
  augmentation.flip = augmentation.verticalFlip = 0.5;
  for (int64_t index = 0; index < 4000; ++index)
    both += augmentation.flips({0, 0, index}) &&
            augmentation.flipsVertically({0, 0, index});
  EXPECT_NEAR(both, 1000, 100); // 3.6 standard deviations
}

TEST(Augment, AllThatIsWrongIsSaid) {
  const std::string error = errorOf([] {
    Transform({1, 4, 4, true}, {1, 4, 4}, {}, {}, 1, {{0.5}, {2, 1}, 0});
  });
  EXPECT_THAT(error, HasSubstr("--scale: expected two numbers"));
  EXPECT_THAT(error, HasSubstr("--ratio: expected two numbers"));
  EXPECT_THAT(errorOf([] {
                Transform({4, 1, 1, false}, {4}, {}, {}, 1, {{}, {1, 1}, 0.5});
              }),
              HasSubstr("--hflip: for images only"));
}

TEST(Augment, ColoursStayBetweenBlackAndWhite) {
  Augmentation augmentation;
  augmentation.colour = {3, 3, 3, 0.5};
  const SampleFormat format{3, 1, 4, true, {'u', 1}};
  Transform transform(format, {3, 1, 4}, {}, {}, 1, augmentation);
  const uint8_t pixels[] = {0, 255, 10, 200, 0, 255, 10, 100, 0, 255, 10, 50};
  Sample sample;
  sample.format = format;
  sample.data = reinterpret_cast<const char *>(pixels);
  std::vector<float> first(12), out(12);
  bool differs = false;
  for (int64_t index = 0; index < 200; ++index) {
    transform.apply(sample, {1, 2, index}, out.data());
    for (float x : out) {
      EXPECT_GE(x, 0);
      EXPECT_LE(x, 1);
    }
    differs |= index > 0 && out != first;
    first = out;
  }
  EXPECT_TRUE(differs);
}

TEST(Augment, OneNumberLeavesHueAndNoneLeavesAll) {
  Augmentation augmentation;
  augmentation.colour = {0.4};
  for (int64_t index = 0; index < 50; ++index) {
    ColourChange change = augmentation.colours({1, 2, index});
    for (size_t step : {0, 1, 2}) {
      EXPECT_GE(change.amount[step], 0.6f);
      EXPECT_LE(change.amount[step], 1.4f);
    }
    EXPECT_EQ(change.amount[3], 0);
    std::sort(change.order.begin(), change.order.end());
    EXPECT_EQ(change.order,
              (std::array{ColourStep::brightness, ColourStep::contrast,
                          ColourStep::saturation, ColourStep::hue}));
  }
  augmentation.colour = {0, 0, 0.5};
  EXPECT_EQ(augmentation.colours({1, 2, 3}).amount[0], 1);
  EXPECT_NE(augmentation.colours({1, 2, 3}).amount[2], 1);
}

TEST(Augment, WhatIsErasedLiesWithinTheImage) {
  Augmentation augmentation;
  augmentation.erase = 0.75;
  int64_t holes = 0;
  for (int64_t index = 0; index < 1000; ++index)
    if (auto hole = augmentation.erased({1, 2, index}, 30, 20)) {
      ++holes;
      EXPECT_LE(hole->top + hole->height, 30);
      EXPECT_LE(hole->left + hole->width, 20);
      EXPECT_LT(double(hole->height * hole->width) / 600, 0.33 * 1.1);
    }
  EXPECT_NEAR(double(holes), 750, 60);
  // Of a pixel nothing can be erased but nothing.
  for (int64_t index = 0; index < 50; ++index)
    if (auto hole = augmentation.erased({1, 2, index}, 1, 1))
      EXPECT_EQ(hole->height * hole->width, 0);
}

TEST(Augment, ColoursAreOfBytes) {
  const SampleFormat bytes{3, 4, 4, true, {'u', 1}};
  Augmentation augmentation;
  auto error = [&](const SampleFormat &from, const std::vector<int64_t> &dims) {
    return errorOf([&] { Transform(from, dims, {}, {}, 1, augmentation); });
  };
  augmentation.colour = {0.4};
  EXPECT_EQ(error(bytes, {3, 4, 4}), "");
  EXPECT_THAT(error({3, 4, 4, true}, {3, 4, 4}),
              HasSubstr("--color-jitter is for images of bytes, grey or red, "
                        "green and blue; the data has 3 channels of float32"));
  EXPECT_THAT(error({2, 4, 4, true, {'u', 1}}, {2, 4, 4}),
              HasSubstr("2 channels of uint8"));
  augmentation.colour = {0.1, 0.1, 0.1, 0.6};
  EXPECT_THAT(error(bytes, {3, 4, 4}), HasSubstr("hue, at most 0.5"));
  augmentation.colour = {};
  augmentation.erase = 0.5;
  augmentation.rotate = 5;
  EXPECT_THAT(error({8, 1, 1, false}, {8}),
              HasSubstr("--rotate, --erase: for images only"));
  augmentation = {};
  augmentation.randAugment = {2};
  EXPECT_EQ(error(bytes, {3, 4, 4}), "");
  EXPECT_THAT(error({3, 4, 4, true}, {3, 4, 4}),
              HasSubstr("--rand-augment is for images of bytes"));
}

TEST(Augment, ChangesAreAWholeNumberOfAStrength) {
  const SampleFormat bytes{3, 4, 4, true, {'u', 1}};
  for (const std::vector<double> &wrong :
       {std::vector<double>{17}, {1.5}, {2, 31}, {2, 9.5}, {2, 9, 1}, {-1}}) {
    Augmentation augmentation;
    augmentation.randAugment = wrong;
    EXPECT_THAT(
        errorOf([&] { Transform(bytes, {3, 4, 4}, {}, {}, 1, augmentation); }),
        HasSubstr("at most 16, and their strength, 0 to 30"));
  }
  Augmentation augmentation;
  augmentation.randAugment = {3, 30};
  augmentation.rotate = 15;
  EXPECT_EQ(Transform(bytes, {3, 4, 4}, {}, {}, 1, augmentation).describe(),
            "turned by up to 15 degrees, 3 changes of strength 30");
}

/// Any picture of any size keeps its bytes where nothing is to be done, and
/// stays in its memory whatever is (the address sanitizer looks on).
TEST(Augment, ChangesStayWithinThePicture) {
  for (int64_t width : {1, 2, 3, 17})
    for (int64_t height : {1, 2, 5})
      for (int64_t channels : {1, 3})
        for (size_t which = 0; which < pictureChanges; ++which)
          for (bool negative : {false, true})
            for (int64_t strength : {int64_t(0), int64_t(9), mostStrength}) {
              std::vector<uint8_t> pixels(channels * height * width);
              for (size_t i = 0; i < pixels.size(); ++i)
                pixels[i] = static_cast<uint8_t>(i * 37);
              const std::vector<uint8_t> before = pixels;
              const auto change = static_cast<PictureChange>(which);
              changePicture({{change, negative}}, strength, pixels.data(),
                            channels, height, width);
              const bool changesAlways =
                  change == PictureChange::autoContrast ||
                  change == PictureChange::equalize;
              if (change == PictureChange::identity ||
                  (strength == 0 && !changesAlways &&
                   change != PictureChange::solarize)) {
                EXPECT_EQ(pixels, before) << which;
              }
            }
}
