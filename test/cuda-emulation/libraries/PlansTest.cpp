//===- PlansTest.cpp - Our plans on the emulated libraries ----------------===//
//
// ConvPlan.cpp and GemmPlan.cpp, as a training uses them, against definitions:
// every kind of plan over random shapes and alignments, with engines that are
// offered in any order, refuse or fail (the seed). What a plan promises is
// checked, too: single precision, the same bits twice, NaN, modest workspaces.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ConvPlan.h"
#include "runtime/cuda/GemmPlan.h"
#include "test/cuda-emulation/World.h"
#include "test/cuda-emulation/libraries/CudnnBuilder.h"
#include "test/cuda-emulation/libraries/Libraries.h"
#include "test/cuda-emulation/libraries/TestConv.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

using namespace lwcc::rt::cuda;
using namespace lwcc::emulation;
using namespace lwcc::emulation::test;

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

static ConvShape shapeOf(const ConvCase &c, ConvKind kind) {
  ConvShape shape;
  shape.kind = kind;
  shape.x = c.x;
  shape.w = c.w;
  shape.y = c.y;
  shape.pad = c.pad;
  shape.stride = c.stride;
  shape.dilation = c.dilation;
  return shape;
}

namespace {
/// The operands of a plan; its result begins as something else.
struct ConvData {
  Floats x, w, y, bias;
  Doubles wanted;
  int result = 0; ///< x, w or y

  ConvData(std::mt19937 &random, const ConvCase &c, ConvKind kind,
           bool hasNan) {
    x = randomFloats(random, elementsOf(c.x));
    w = randomFloats(random, elementsOf(c.w));
    y = randomFloats(random, elementsOf(c.y));
    bias = randomFloats(random, static_cast<size_t>(c.y[1]));
    if (hasNan)
      for (Floats *each : {&x, &y})
        (*each)[random() % each->size()] = std::nanf("");
    if (kind == ConvKind::gradInput) {
      wanted = c.gradInput(y, w);
      return;
    }
    if (kind == ConvKind::gradWeight) {
      wanted = c.gradWeight(y, x);
      result = 1;
      return;
    }
    wanted = c.forward(x, w);
    result = 2;
    const size_t plane = static_cast<size_t>(c.y[2] * c.y[3]);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (kind != ConvKind::forward)
        wanted[i] += double(bias[i / plane % bias.size()]);
    }
  }

  /// Runs a plan on memory that is aligned to `alignment` and no better.
  Floats run(cudnnHandle_t handle, const ConvPlan &plan, const ConvCase &c,
             size_t alignment) const {
    auto last = [](const Dims4 &dims) {
      return channelsLast({dims.begin(), dims.end()});
    };
    const size_t shift = alignment < 16 ? alignment : 0;
    OnDevice onX(scattered(x, c.x, last(c.x)), shift),
        onW(scattered(w, c.w, last(c.w)), shift),
        onY(scattered(y, c.y, last(c.y)), shift), onBias(bias, shift),
        workspace(static_cast<size_t>(plan.workspaceBytes() + 3) / 4);
    plan.execute(handle, onX.data(), onW.data(), onY.data(), onBias.data(),
                 workspace.data());
    return result == 0   ? gathered(onX.read(), c.x, last(c.x))
           : result == 1 ? gathered(onW.read(), c.w, last(c.w))
                         : gathered(onY.read(), c.y, last(c.y));
  }
};
} // namespace

static constexpr ConvKind allKinds[] = {
    ConvKind::forward, ConvKind::forwardBias, ConvKind::gradInput,
    ConvKind::gradWeight};

TEST(Plans, EveryConvolutionIsRight) {
  std::mt19937 random(1);
  int built = 0, fused = 0, notFused = 0, retried = 0, rounded = 0,
      withWorkspace = 0;
  for (int round = 0; round < 150; ++round) {
    World world(random(), 1);
    libraryOptions().seed = random();
    cudnnHandle_t handle = nullptr;
    ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
    ConvCase c = randomConv(random);
    for (ConvKind kind : allKinds) {
      ConvShape shape = shapeOf(c, kind);
      shape.alignment = 4 << random() % 3;
      shape.tf32 = random() % 3 == 0;
      shape.deterministic = random() % 2;
      const bool hasNan = random() % 4 == 0;
      ConvData data(random, c, kind, hasNan);
      auto alignment = static_cast<size_t>(shape.alignment);
      int tried = 0;
      std::string reason;
      auto plan = buildConvPlan(PlanTarget(handle), shape, &reason,
                                [&](const ConvPlan &candidate) {
                                  ++tried;
                                  data.run(handle, candidate, c, alignment);
                                  return 0.0;
                                });
      retried += tried > 1;
      if (!plan) {
        // A bias may be left to our own kernels, nothing else.
        EXPECT_EQ(kind, ConvKind::forwardBias)
            << shape.describe() << ": " << reason;
        EXPECT_FALSE(reason.empty());
        ++notFused;
        continue;
      }
      ++built;
      // Not only where a bias of x's channels would do as well.
      fused += kind == ConvKind::forwardBias && c.x[1] != c.y[1];
      withWorkspace += plan->workspaceBytes() > 0;
      EXPECT_LE(plan->workspaceBytes(), int64_t(256) << 20);
      Floats first = data.run(handle, *plan, c, alignment);
      double off = difference(first, data.wanted);
      EXPECT_LT(off, shape.tf32 ? 0.3 : 3e-5) << shape.describe();
      rounded += off > 1e-4;
      if (shape.deterministic) {
        Floats second = data.run(handle, *plan, c, alignment);
        for (size_t i = 0; i < first.size(); ++i)
          EXPECT_TRUE(first[i] == second[i] || std::isnan(first[i]));
      }
    }
    cudnnDestroy(handle);
    ASSERT_TRUE(faults().empty()) << faults().front();
  }
  libraryOptions() = {};
  EXPECT_GT(built, 500);
  EXPECT_GT(fused, 50);
  EXPECT_GT(withWorkspace, 100);
  EXPECT_GT(notFused, 5);
  EXPECT_GT(retried, 20);
  EXPECT_GT(rounded, 20);
}

TEST(Plans, TheLargeWorkspaceIsTheLastResort) {
  World world(1, 1);
  libraryOptions().capricious = false;
  cudnnHandle_t handle = nullptr;
  ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
  ConvCase c;
  c.close();
  ConvShape shape = shapeOf(c, ConvKind::forward);
  libraryOptions().refusedEngines = {0, 1, 2, 3, 4, 5};
  auto plan = buildConvPlan(PlanTarget(handle), shape);
  ASSERT_TRUE(plan);
  EXPECT_GT(plan->workspaceBytes(), int64_t(256) << 20);
  libraryOptions().refusedEngines.insert(8);
  std::string reason;
  EXPECT_FALSE(buildConvPlan(PlanTarget(handle), shape, &reason));
  EXPECT_FALSE(reason.empty());
  cudnnDestroy(handle);
  libraryOptions() = {};
}

//===----------------------------------------------------------------------===//
// Matrix products
//===----------------------------------------------------------------------===//

/// c = op(a) op(b) + bias, row-major.
static Doubles productOf(const GemmShape &s, const Floats &a, const Floats &b,
                         const Floats &bias) {
  Doubles c(static_cast<size_t>(s.batches * s.m * s.n));
  for (int64_t batch = 0; batch < s.batches; ++batch)
    for (int64_t i = 0; i < s.m; ++i)
      for (int64_t j = 0; j < s.n; ++j) {
        double sum = s.bias ? double(bias[static_cast<size_t>(j)]) : 0;
        for (int64_t l = 0; l < s.k; ++l)
          sum += double(a[static_cast<size_t>(
                     batch * s.strideA +
                     (s.transposeA ? l * s.m + i : i * s.k + l))]) *
                 double(b[static_cast<size_t>(
                     batch * s.strideB +
                     (s.transposeB ? j * s.k + l : l * s.n + j))]);
        c[static_cast<size_t>((batch * s.m + i) * s.n + j)] = sum;
      }
  return c;
}

TEST(Plans, EveryProductIsRight) {
  std::mt19937 random(2);
  int rounded = 0, withWorkspace = 0;
  for (int round = 0; round < 300; ++round) {
    World world(random(), 1);
    libraryOptions().seed = random();
    cublasLtHandle_t handle = nullptr;
    ASSERT_EQ(cublasLtCreate(&handle), CUBLAS_STATUS_SUCCESS);
    GemmShape s;
    s.m = between(random, 1, 20);
    s.n = between(random, 1, 40);
    s.k = between(random, 1, 100);
    s.batches = random() % 2 ? 1 : between(random, 2, 4);
    s.transposeA = random() % 2;
    s.transposeB = random() % 2;
    if (s.batches > 1) {
      s.strideA = s.m * s.k;
      s.strideB = random() % 2 ? s.k * s.n : 0;
      s.strideC = s.m * s.n;
    }
    s.bias = random() % 2;
    s.tf32 = random() % 3 == 0;
    s.alignment = 4 << random() % 3;
    Floats a = randomFloats(random, static_cast<size_t>(s.batches * s.m * s.k)),
           b = randomFloats(
               random,
               static_cast<size_t>((s.strideB ? s.batches : 1) * s.k * s.n)),
           bias = randomFloats(random, static_cast<size_t>(s.n));
    if (random() % 4 == 0)
      a[random() % a.size()] = std::nanf("");
    GemmPlan plan = buildGemmPlan(handle, s);
    withWorkspace += plan.workspaceBytes > 0;
    const size_t shift =
        s.alignment < 16 ? static_cast<size_t>(s.alignment) : 0;
    OnDevice onA(a, shift), onB(b, shift), onBias(bias, shift);
    Floats results[2];
    for (Floats &result : results) {
      OnDevice onC(static_cast<size_t>(s.batches * s.m * s.n), shift),
          workspace(static_cast<size_t>(plan.workspaceBytes) / 4);
      plan.execute(handle, nullptr, onC.data(), onA.data(), onB.data(),
                   onBias.data(), workspace.data());
      result = onC.read();
    }
    double off = difference(results[0], productOf(s, a, b, bias));
    EXPECT_LT(off, s.tf32 ? 0.3 : 3e-5);
    rounded += off > 1e-4;
    for (size_t i = 0; i < results[0].size(); ++i)
      EXPECT_TRUE(results[0][i] == results[1][i] || std::isnan(results[0][i]))
          << "not the same bits";
    cublasLtDestroy(handle);
    ASSERT_TRUE(faults().empty()) << faults().front();
  }
  libraryOptions() = {};
  EXPECT_GT(rounded, 20);
  EXPECT_GT(withWorkspace, 50);
}
