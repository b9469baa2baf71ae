//===- ConvPlanTest.cpp - cuDNN accepts our graphs, without a GPU ---------===//

#include "runtime/cuda/ConvPlan.h"
#include "runtime/cuda/TurnedConv.h"

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
    ConvKind::forward, ConvKind::forwardBias, ConvKind::gradInput,
    ConvKind::gradWeight};

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
class ConvPlans : public testing::TestWithParam<const char *> {
protected:
  int tried = 0;
};
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
    return 0.0; // not timed
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

TEST_P(ConvPlans, TheQuickestOfTheFirstIsTaken) {
  PlanTarget target = targetOf(GetParam());
  ConvShape shape = shapeOf({64, 64, 56, 56}, {64, 64, 3, 3}, {1, 1, 1, 1});
  shape.tf32 = true;
  std::vector<double> times;
  auto tryOut = [&](const ConvPlan &) { return times.at(size_t(tried++)); };
  auto chosen = [&](std::vector<double> given) {
    times = std::move(given);
    tried = 0;
    return buildConvPlan(target, shape, nullptr, tryOut)->seconds();
  };
  EXPECT_EQ(chosen({4, 3, 2, 5, 5.5, 1.5, 3, 3.5}), 1.5);
  EXPECT_EQ(tried, 8);
  // Behind one that takes far longer than the quickest nothing is tried.
  EXPECT_EQ(chosen({4, 3, 9.5, 1}), 3);
  EXPECT_EQ(tried, 3);
  // Nor behind one that could not be run; what was timed is rather taken.
  EXPECT_EQ(chosen({4, 0, 1}), 4);
  EXPECT_EQ(tried, 2);
  shape.deterministic = true;
  EXPECT_EQ(chosen({4, 3}), 4);
  EXPECT_EQ(tried, 1);
}

TEST_P(ConvPlans, GradientsAreConvolutionsForward) {
  PlanTarget target = targetOf(GetParam());
  int turnedAround = 0;
  for (int64_t kernel : {1, 2, 3, 5})
    for (int64_t pad : {0, 1, 2, 4})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t group : {1, 4}) {
            ConvShape shape =
                shapeOf({2, 8, 19, 21}, {16, 8 / group, kernel, kernel},
                        {pad, pad, pad / 2, pad / 2}, {stride, stride},
                        {dilation, dilation});
            shape.kind = ConvKind::gradInput;
            std::optional<TurnedConv> turned = turnedConv(shape);
            const bool onePixel = kernel == 1 && pad == 0;
            EXPECT_EQ(turned.has_value(),
                      onePixel ||
                          (stride == 1 && pad <= dilation * (kernel - 1)))
                << shape.describe();
            if (!turned)
              continue;
            ++turnedAround;
            const ConvShape &t = turned->shape;
            EXPECT_EQ(turned->groups, group);
            EXPECT_EQ(t.x, shape.y);
            ConvShape derived = shapeOf(t.x, t.w, t.pad, t.stride, t.dilation);
            EXPECT_EQ(derived.y, t.y) << t.describe();
            for (size_t d = 2; d < 4; ++d)
              EXPECT_LE(t.y[d], shape.x[d]);
            std::string reason;
            EXPECT_TRUE(buildConvPlan(target, t, &reason)) << reason;
            shape.tf32 = true;
            EXPECT_FALSE(turnedConv(shape));
          }
  EXPECT_GT(turnedAround, 30);
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
