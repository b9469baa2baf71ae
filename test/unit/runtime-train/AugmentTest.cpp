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

TEST(Augment, AllThatIsWrongIsSaid) {
  const std::string error = errorOf([] {
    Transform({1, 4, 4, true}, {1, 4, 4}, {}, {}, 1, {{0.5}, {2, 1}, 0});
  });
  EXPECT_THAT(error, HasSubstr("--scale: expected two numbers"));
  EXPECT_THAT(error, HasSubstr("--ratio: expected two numbers"));
  EXPECT_THAT(errorOf([] {
                Transform({4, 1, 1, false}, {4}, {}, {}, 1, {{}, {1, 1}, 0.5});
              }),
              HasSubstr("--scale and --hflip are for images"));
}
