//===- CudnnRunTest.cpp - What graphs of cuDNN compute --------------------===//
//
// The emulated cuDNN against the definition of a convolution, for random shapes
// and strides and every engine.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/TestGraph.h"

#include <cmath>
#include <memory>

using namespace lwcc::emulation;
using namespace lwcc::emulation::test;

TEST_F(CudnnRun, RandomConvolutionsInAnyStrides) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    ConvCase c = randomConv(random);
    c.flips = random() % 4 == 0;
    const auto direction = static_cast<Direction>(random() % 3);
    const float alpha = random() % 3 ? 1 : 0.5f, beta = random() % 3 ? 0 : 2.0f;
    const Dims4 dims[] = {c.x, c.w, c.y};
    // The operand that is the result, and the other two.
    const size_t result = direction == Direction::forward     ? 2
                          : direction == Direction::gradInput ? 0
                                                              : 1;
    std::vector<std::vector<int64_t>> strides;
    std::vector<Floats> values;
    for (const Dims4 &each : dims) {
      strides.push_back(randomStrides(random, each));
      values.push_back(randomFloats(random, elementsOf(each)));
    }
    Doubles wanted = result == 2   ? c.forward(values[0], values[1])
                     : result == 0 ? c.gradInput(values[2], values[1])
                                   : c.gradWeight(values[2], values[0]);
    for (size_t i = 0; i < wanted.size(); ++i)
      wanted[i] =
          double(alpha) * wanted[i] + double(beta) * double(values[result][i]);
    Built conv = convolution(isOf(c));
    auto tensorAt = [&](size_t i) {
      return tensor({.id = static_cast<int64_t>(i) + 1,
                     .dims = list(dims[i]),
                     .strides = strides[i]});
    };
    Built x = tensorAt(0), w = tensorAt(1), y = tensorAt(2),
          op = operation(direction, conv, x, w, y, alpha, beta),
          whole = graph(handle, {&op});
    ASSERT_EQ(whole.status, CUDNN_STATUS_SUCCESS);
    auto plans = plansOf(whole);
    ASSERT_GE(plans.size(), 7u);
    for (const Plan &plan : plans) {
      const size_t floats = static_cast<size_t>(plan.workspace + 3) / 4;
      std::vector<std::unique_ptr<OnDevice>> memory;
      for (size_t i = 0; i < 3; ++i)
        memory.push_back(std::make_unique<OnDevice>(
            scattered(values[i], dims[i], strides[i])));
      OnDevice workspace(floats);
      ASSERT_EQ(
          execute(plan, {1, 2, 3},
                  {memory[0]->data(), memory[1]->data(), memory[2]->data()},
                  workspace.data()),
          CUDNN_STATUS_SUCCESS);
      Floats after = memory[result]->read();
      const bool rounds = plan.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
      EXPECT_LT(
          difference(gathered(after, dims[result], strides[result]), wanted),
          rounds ? 0.2 : 2e-5)
          << "round " << round;
      // Nothing between the elements was touched.
      Floats untouched =
          scattered(values[result], dims[result], strides[result]);
      for (size_t i = 0; i < after.size(); ++i)
        EXPECT_EQ(std::isnan(untouched[i]), std::isnan(after[i]));
    }
    ASSERT_TRUE(faults().empty()) << faults().front();
  }
}

TEST_F(CudnnRun, BiasAndReluBehindAConvolution) {
  Fused is;
  FusedData data(is.c);
  Built whole = is.build(handle);
  ASSERT_EQ(whole.status, CUDNN_STATUS_SUCCESS);
  for (bool hasNan : {false, true}) {
    if (hasNan) {
      data.x[5] = std::nanf("");
      data.expect(is.c);
    }
    int keeping = 0;
    for (const Plan &plan : plansOf(whole)) {
      OnDevice x(scattered(data.x, is.c.x, channelsLast(is.x.dims))),
          w(scattered(data.w, is.c.w, channelsLast(is.w.dims))),
          bias(data.bias), y(elementsOf(is.c.y)),
          workspace(static_cast<size_t>(plan.workspace + 3) / 4);
      ASSERT_EQ(execute(plan, is.ids,
                        {x.data(), w.data(), y.data(), bias.data()},
                        workspace.data()),
                CUDNN_STATUS_SUCCESS);
      double off = difference(
          gathered(y.read(), is.c.y, channelsLast(is.y.dims)), data.wanted);
      const bool keeps = plan.has(CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP);
      keeping += keeps;
      if (hasNan && !keeps)
        EXPECT_GT(off, 1e20);
      else
        EXPECT_LT(off, 0.2);
    }
    EXPECT_GE(keeping, 2);
  }
  EXPECT_TRUE(faults().empty()) << faults().front();
}
