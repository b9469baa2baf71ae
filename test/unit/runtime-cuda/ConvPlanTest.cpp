//===- ConvPlanTest.cpp - cuDNN accepts our graphs, without a GPU ---------===//

#include "runtime/cuda/ConvPlan.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

static PlanTarget targetOf(const std::string &device) {
  std::ifstream file(std::string(LWCC_DEVICE_FOLDER) + "/" + device + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return PlanTarget::fromJson(text.str());
}

static constexpr ConvKind allKinds[] = {
    ConvKind::forward, ConvKind::forwardBias, ConvKind::forwardBiasRelu,
    ConvKind::gradInput, ConvKind::gradWeight};

static ConvShape shapeOf(Quad x, Quad w, Quad pad, Pair stride = {1, 1},
                         Pair dilation = {1, 1}) {
  ConvShape shape;
  shape.x = x;
  shape.w = w;
  shape.pad = pad;
  shape.stride = stride;
  shape.dilation = dilation;
  shape.y = {x[0], w[0], 0, 0};
  for (size_t d = 0; d < 2; ++d)
    shape.y[2 + d] =
        (x[2 + d] + pad[d] + pad[2 + d] - (w[2 + d] - 1) * dilation[d] - 1) /
            stride[d] +
        1;
  return shape;
}

namespace {
class ConvPlans : public testing::TestWithParam<const char *> {};
} // namespace

TEST_P(ConvPlans, EveryKindIsAccepted) {
  PlanTarget target = targetOf(GetParam());
  const ConvShape shapes[] = {
      shapeOf({8, 3, 224, 224}, {64, 3, 7, 7}, {3, 3, 3, 3}, {2, 2}),
      shapeOf({8, 96, 27, 27}, {256, 48, 5, 5}, {2, 2, 2, 2}), // groups
      shapeOf({8, 32, 28, 28}, {32, 1, 3, 3}, {1, 1, 1, 1}),   // depthwise
      shapeOf({8, 1, 28, 28}, {6, 1, 5, 5}, {2, 2, 2, 2}),     // one channel
      shapeOf({8, 3, 225, 225}, {32, 3, 3, 3}, {0, 0, 1, 1}, {2, 2}),
      shapeOf({7, 13, 17, 19}, {5, 13, 3, 2}, {1, 0, 1, 0}, {1, 2}, {2, 3}),
      shapeOf({1, 2048, 1, 1}, {1000, 2048, 1, 1}, {0, 0, 0, 0})};
  for (ConvShape shape : shapes)
    for (ConvKind kind : allKinds)
      for (bool tf32 : {false, true})
        for (bool deterministic : {false, true}) {
          shape.kind = kind;
          shape.tf32 = tf32;
          shape.deterministic = deterministic;
          std::string reason;
          auto plan = buildConvPlan(target, shape, &reason);
          ASSERT_TRUE(plan) << shape.describe() << ": " << reason;
          EXPECT_GE(plan->workspaceBytes(), 0);
        }
}

TEST_P(ConvPlans, AnyAlignmentIsAccepted) {
  PlanTarget target = targetOf(GetParam());
  ConvShape shape = shapeOf({4, 64, 14, 14}, {64, 64, 3, 3}, {1, 1, 1, 1});
  shape.alignment = 4;
  for (ConvKind kind : allKinds) {
    shape.kind = kind;
    std::string reason;
    EXPECT_TRUE(buildConvPlan(target, shape, &reason)) << reason;
  }
}

/// VGG-16's layers at a batch of 64, whose quickest engines ask for gigabytes.
TEST_P(ConvPlans, WorkspacesAreModest) {
  PlanTarget target = targetOf(GetParam());
  const ConvShape shapes[] = {
      shapeOf({64, 64, 224, 224}, {64, 64, 3, 3}, {1, 1, 1, 1}),
      shapeOf({64, 128, 112, 112}, {128, 128, 3, 3}, {1, 1, 1, 1}),
      shapeOf({64, 256, 56, 56}, {256, 256, 3, 3}, {1, 1, 1, 1})};
  for (ConvShape shape : shapes)
    for (ConvKind kind : allKinds)
      for (bool tf32 : {false, true}) {
        shape.kind = kind;
        shape.tf32 = tf32;
        std::optional<ConvPlan> plan = buildConvPlan(target, shape);
        ASSERT_TRUE(plan) << shape.describe();
        EXPECT_LE(plan->workspaceBytes(), int64_t(256) << 20)
            << shape.describe();
      }
}

TEST_P(ConvPlans, AnEngineThatFailsMakesRoomForTheNext) {
  PlanTarget target = targetOf(GetParam());
  ConvShape shape = shapeOf({64, 64, 224, 224}, {64, 64, 3, 3}, {1, 1, 1, 1});
  int tried = 0, failing = 2;
  auto tryOut = [&](const ConvPlan &) {
    if (tried++ < failing)
      throw CudnnRefusal(CUDNN_STATUS_EXECUTION_FAILED, "trying it");
  };
  std::string reason;
  EXPECT_TRUE(buildConvPlan(target, shape, &reason, tryOut)) << reason;
  EXPECT_EQ(tried, 3);
  // Those with large workspaces, too, before it is given up.
  failing = 1000;
  EXPECT_FALSE(buildConvPlan(target, shape, &reason, tryOut));
  EXPECT_GT(tried, 6);
  EXPECT_NE(reason.find("trying it"), std::string::npos) << reason;
}

INSTANTIATE_TEST_SUITE_P(Devices, ConvPlans,
                         testing::Values("sm_80", "sm_90", "sm_100"),
                         [](const auto &info) { return info.param; });

TEST(ConvPlan, AnImpossibleShapeIsRefusedWithAReason) {
  ConvShape shape = shapeOf({1, 4, 8, 8}, {4, 4, 3, 3}, {0, 0, 0, 0});
  shape.y[2] = 100; // not what the window gives
  std::string reason;
  EXPECT_FALSE(buildConvPlan(targetOf("sm_90"), shape, &reason));
  EXPECT_FALSE(reason.empty());
}

TEST(ConvPlan, ADescriptionThatIsNoDeviceIsRefused) {
  EXPECT_THROW(PlanTarget::fromJson("{}"), CudnnRefusal);
}

TEST(ConvPlan, DescribesItsShape) {
  ConvShape shape = shapeOf({1, 4, 8, 8}, {6, 2, 3, 3}, {0, 1, 0, 1});
  EXPECT_EQ(shape.describe(), "forward x 1x4x8x8 w 6x2x3x3 y 1x6x6x8 pad "
                              "0,1,0,1 stride 1,1 dilation 1,1 fp32");
}
