//===- CublasLtTest.cpp - Products of matrices, right and wrong -----------===//
//
// The emulated cuBLASLt against three loops over random shapes, leading
// dimensions, batches, epilogues and algorithms; then the promises that a
// caller may break, each of which must be refused or reported.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/World.h"
#include "test/cuda-emulation/libraries/Libraries.h"
#include "test/cuda-emulation/libraries/TestProduct.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

using namespace lwcc::emulation;
using namespace lwcc::emulation::test;

TEST(CublasLt, RandomProducts) {
  std::mt19937 random(1);
  std::set<uint64_t> workspaces;
  for (int round = 0; round < 150; ++round) {
    World world(random(), 1);
    Product p;
    p.m = between(random, 1, 40);
    p.n = between(random, 1, 20);
    p.k = between(random, 1, 150);
    p.batches = between(random, 1, 3);
    p.ta = random() % 2;
    p.tb = random() % 2;
    p.gap = random() % 2 ? between(random, 1, 5) : 0;
    p.distance = between(random, 0, 3);
    const uint32_t epilogues[] = {
        CUBLASLT_EPILOGUE_DEFAULT, CUBLASLT_EPILOGUE_BIAS,
        CUBLASLT_EPILOGUE_RELU, CUBLASLT_EPILOGUE_RELU_BIAS};
    p.epilogue = epilogues[random() % 4];
    p.alpha = random() % 3 ? 1 : 0.5f;
    p.beta = random() % 3 ? 0 : 2.0f;
    p.describe();
    Floats a = randomFloats(random, p.size(0)),
           b = randomFloats(random, p.size(1)),
           d = randomFloats(random, p.size(2)),
           bias = randomFloats(random, size_t(p.m));
    OnDevice onA(a), onB(b), onBias(bias);
    ASSERT_EQ(p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, onBias.data()),
              CUBLAS_STATUS_SUCCESS);
    auto found = p.algorithms();
    ASSERT_FALSE(found.empty());
    for (const auto &how : found) {
      OnDevice onD(d), workspace(how.workspaceSize / sizeof(float));
      workspaces.insert(how.workspaceSize);
      ASSERT_EQ(p.multiply(how, onA.data(), onB.data(), onD.data(),
                           workspace.data(), how.workspaceSize),
                CUBLAS_STATUS_SUCCESS);
      EXPECT_LT(difference(onD.read(), expected(p, a, b, d, bias)), 2e-5);
    }
    EXPECT_TRUE(faults().empty()) << faults().front();
  }
  EXPECT_GT(workspaces.size(), 10u);
}

TEST(CublasLt, GradientsOfTheBias) {
  for (bool ofA : {true, false})
    for (bool ta : {true, false})
      for (bool tb : {true, false}) {
        World world(1, 1);
        std::mt19937 random(2);
        Product p;
        p.ta = ta;
        p.tb = tb;
        p.epilogue = ofA ? CUBLASLT_EPILOGUE_BGRADA : CUBLASLT_EPILOGUE_BGRADB;
        p.describe();
        Floats a = randomFloats(random, p.size(0)),
               b = randomFloats(random, p.size(1));
        OnDevice onA(a), onB(b), onD(p.size(2)), sums(size_t(ofA ? p.m : p.n)),
            workspace(size_t(1) << 18);
        p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.data());
        ASSERT_EQ(p.multiply(p.algorithms().front(), onA.data(), onB.data(),
                             onD.data(), workspace.data(), 1 << 20),
                  CUBLAS_STATUS_SUCCESS);
        std::vector<double> wanted(size_t(ofA ? p.m : p.n));
        for (int64_t l = 0; l < p.k; ++l)
          for (size_t i = 0; i < wanted.size(); ++i) {
            auto at = static_cast<int64_t>(i);
            wanted[i] +=
                ofA ? double(
                          a[size_t(ta ? l + at * p.ld(0) : at + l * p.ld(0))])
                    : double(
                          b[size_t(tb ? at + l * p.ld(1) : l + at * p.ld(1))]);
          }
        EXPECT_LT(difference(sums.read(), wanted), 1e-5);
      }
}

TEST(CublasLt, Tf32IsRoundedOnlyWhereItIsAllowed) {
  World world(3, 1);
  double worst[2] = {};
  for (bool tf32 : {false, true}) {
    std::mt19937 random(3);
    Product p;
    p.k = 100;
    p.compute = tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    p.alignment = 16;
    p.describe();
    Floats a = randomFloats(random, p.size(0)),
           b = randomFloats(random, p.size(1)), d(p.size(2));
    OnDevice onA(a), onB(b);
    for (const auto &how : p.algorithms()) {
      OnDevice onD(d), workspace(how.workspaceSize / sizeof(float));
      p.multiply(how, onA.data(), onB.data(), onD.data(), workspace.data(),
                 how.workspaceSize);
      worst[tf32] = std::max(worst[tf32],
                             difference(onD.read(), expected(p, a, b, d, {})));
    }
  }
  EXPECT_LT(worst[0], 1e-5);
  EXPECT_GT(worst[1], 1e-4);
  EXPECT_LT(worst[1], 1e-1);
}

TEST(CublasLt, ANanIsKeptButForTheEpiloguesRelu) {
  World world(1, 1);
  for (uint32_t epilogue : {uint32_t(CUBLASLT_EPILOGUE_DEFAULT),
                            uint32_t(CUBLASLT_EPILOGUE_RELU)}) {
    Product p;
    p.epilogue = epilogue;
    p.describe();
    Floats a(p.size(0), 1.0f), b(p.size(1), 1.0f);
    a[0] = std::numeric_limits<float>::quiet_NaN();
    OnDevice onA(a), onB(b), onD(p.size(2)), workspace(size_t(1) << 18);
    p.multiply(p.algorithms().front(), onA.data(), onB.data(), onD.data(),
               workspace.data(), 1 << 20);
    Floats d = onD.read();
    EXPECT_EQ(std::isnan(d[0]), epilogue == CUBLASLT_EPILOGUE_DEFAULT);
    EXPECT_EQ(d[1], 9.0f);
  }
}

//===----------------------------------------------------------------------===//
// Mistakes
//===----------------------------------------------------------------------===//

TEST(CublasLt, PromisesAndPreferencesFilterAlgorithms) {
  World world(1, 1);
  auto count = [](auto change) {
    Product p;
    p.alignment = 16;
    change(p);
    p.describe();
    return p.algorithms().size();
  };
  size_t all = count([](Product &) {});
  EXPECT_LT(count([](Product &p) { p.alignment = 4; }), all);
  EXPECT_LT(count([](Product &p) { p.maxWorkspace = 0; }), all);
  EXPECT_LT(count([](Product &p) {
              p.schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
            }),
            all);
  EXPECT_EQ(count([](Product &p) { p.alignment = 2; }), 0u);
}

TEST(CublasLt, BrokenPromisesAreReported) {
  for (int broken = 0; broken < 5; ++broken) {
    World world(1, 1);
    Product p;
    p.alignment = 16;
    p.epilogue = CUBLASLT_EPILOGUE_BIAS;
    p.describe();
    auto shift = [&](int i) { return size_t(broken == i ? 8 : 16); };
    OnDevice a(Floats(p.size(0), 1.0f), shift(0)),
        b(Floats(p.size(1), 1.0f), shift(1)), d(p.size(2), shift(2)),
        bias(Floats(size_t(p.m), 1.0f), shift(3)), workspace(size_t(1) << 18);
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, reinterpret_cast<void *>(16));
    auto how = p.algorithms().front();
    p.set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.data());
    p.multiply(how, a.data(), b.data(), d.data(), workspace.data(), 1 << 20);
    cudaDeviceSynchronize();
    EXPECT_EQ(found("is less aligned than the heuristic was told"), broken < 4);
  }
}

TEST(CublasLt, SmallWorkspacesAreNoticed) {
  World world(1, 1);
  Product p;
  p.alignment = 16;
  p.describe();
  OnDevice a(Floats(p.size(0), 1.0f)), b(Floats(p.size(1), 1.0f)), d(p.size(2));
  int tried = 0;
  for (const auto &how : p.algorithms()) {
    if (how.workspaceSize == 0)
      continue;
    ++tried;
    OnDevice whole(how.workspaceSize / 4);
    EXPECT_EQ(p.multiply(how, a.data(), b.data(), d.data(), whole.data(),
                         how.workspaceSize - 1),
              CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_EQ(p.multiply(how, a.data(), b.data(), d.data(), nullptr,
                         how.workspaceSize),
              CUBLAS_STATUS_INVALID_VALUE);
    EXPECT_TRUE(faults().empty());
    // Said to be there, but not: a stray write.
    OnDevice part(how.workspaceSize / 4 - 1);
    p.multiply(how, a.data(), b.data(), d.data(), part.data(),
               how.workspaceSize);
    cudaDeviceSynchronize();
    EXPECT_FALSE(faults().empty());
    clearFaults();
  }
  EXPECT_GT(tried, 1);
}

TEST(CublasLt, WrongDescriptorsAreRefusedOrReported) {
  World world(1, 1);
  auto statusOf = [](auto change) {
    Product p;
    p.describe();
    change(p);
    p.algorithms();
    return p.status;
  };
  auto layout = [](Product &p, int i, cublasLtMatrixLayoutAttribute_t name,
                   auto value) {
    cublasLtMatrixLayoutSetAttribute(p.layouts[i], name, &value, sizeof(value));
  };
  EXPECT_EQ(statusOf([](Product &) {}), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(statusOf([&](Product &p) {
              layout(p, 0, CUBLASLT_MATRIX_LAYOUT_LD, p.rows(0) - 1);
            }),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(statusOf([&](Product &p) {
              layout(p, 1, CUBLASLT_MATRIX_LAYOUT_ROWS, uint64_t(3));
            }),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(statusOf([&](Product &p) {
              layout(p, 2, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, int32_t(2));
            }),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(statusOf([&](Product &p) {
              layout(p, 0, CUBLASLT_MATRIX_LAYOUT_ORDER,
                     int32_t(CUBLASLT_ORDER_ROW));
            }),
            CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(statusOf([](Product &p) {
              p.set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t(CUBLAS_OP_T));
            }),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(statusOf([](Product &p) {
              EXPECT_EQ(p.set(CUBLASLT_MATMUL_DESC_EPILOGUE, int64_t(4)),
                        CUBLAS_STATUS_INVALID_VALUE);
            }),
            CUBLAS_STATUS_SUCCESS);
}

TEST(CublasLt, AnAlgorithmIsOfOneProduct) {
  World world(1, 1);
  Product p, other;
  other.k = 8;
  p.describe();
  other.describe();
  OnDevice a(Floats(p.size(0), 1.0f)), b(Floats(p.size(1), 1.0f)), d(p.size(2)),
      workspace(size_t(1) << 18);
  EXPECT_EQ(p.multiply(other.algorithms().front(), a.data(), b.data(), d.data(),
                       workspace.data(), 1 << 20),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(found("chosen for another product"));
}

TEST(CublasLt, SumsByAtomicsDifferFromRunToRun) {
  World world(1, 1);
  std::mt19937 random(1);
  Product p;
  p.k = 100;
  p.schemes = CUBLASLT_REDUCTION_SCHEME_INPLACE;
  p.describe();
  OnDevice a(randomFloats(random, p.size(0))),
      b(randomFloats(random, p.size(1)));
  int differing = 0;
  for (const auto &how : p.algorithms()) {
    Floats results[2];
    for (Floats &result : results) {
      OnDevice d(p.size(2)), workspace(how.workspaceSize / 4);
      p.multiply(how, a.data(), b.data(), d.data(), workspace.data(),
                 how.workspaceSize);
      result = d.read();
    }
    differing += results[0] != results[1];
  }
  EXPECT_EQ(differing, 1);
}
