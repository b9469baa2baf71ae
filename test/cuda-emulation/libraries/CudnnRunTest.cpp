//===- CudnnRunTest.cpp - What graphs of cuDNN compute --------------------===//
//
// The emulated cuDNN against the definition of a convolution, for random shapes
// and strides and every engine; then graphs and variant packs that say the
// wrong thing, which must compute the wrong thing, be refused or reported.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/World.h"
#include "test/cuda-emulation/libraries/CudnnBuilder.h"
#include "test/cuda-emulation/libraries/Libraries.h"
#include "test/cuda-emulation/libraries/TestConv.h"

#include <cmath>
#include <functional>

#include <gtest/gtest.h>

using namespace lwcc::emulation;
using namespace lwcc::emulation::test;

namespace {

enum Id : int64_t { idX = 1, idW, idY, idBias, idProduct, idSum };

/// A plan that was made of one offer.
struct Plan {
  Built built{CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR};
  std::vector<cudnnBackendNumericalNote_t> notes;
  int64_t workspace = 0;

  bool has(cudnnBackendNumericalNote_t note) const {
    return std::find(notes.begin(), notes.end(), note) != notes.end();
  }
};

class CudnnRun : public testing::Test {
protected:
  void SetUp() override {
    libraryOptions().capricious = false;
    ASSERT_EQ(cudnnCreate(&handle), CUDNN_STATUS_SUCCESS);
  }
  void TearDown() override {
    cudnnDestroy(handle);
    libraryOptions() = {};
  }

  std::vector<Plan> plansOf(const Built &graph) {
    std::vector<Plan> plans;
    for (auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK})
      for (const Built &offer : offers(graph, mode)) {
        Plan plan;
        plan.built.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, offer)
            .set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
                 std::vector{handle})
            .finalize();
        EXPECT_EQ(plan.built.status, CUDNN_STATUS_SUCCESS);
        int64_t count = 0;
        cudnnBackendGetAttribute(plan.built.get(),
                                 CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &count, &plan.workspace);
        Built engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
        cudnnBackendDescriptor_t raw = engine.get();
        cudnnBackendGetAttribute(offer.get(), CUDNN_ATTR_ENGINECFG_ENGINE,
                                 CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                 &raw);
        plan.notes.resize(CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
        cudnnBackendGetAttribute(
            raw, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE,
            CUDNN_NUMERICAL_NOTE_TYPE_COUNT, &count, plan.notes.data());
        plan.notes.resize(static_cast<size_t>(count));
        // The one whose workspace is large takes long.
        if (plan.workspace < 1 << 20)
          plans.push_back(std::move(plan));
      }
    return plans;
  }

  cudnnStatus_t execute(const Plan &plan, const std::vector<int64_t> &ids,
                        const std::vector<void *> &pointers, void *workspace) {
    Built pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids)
        .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
             pointers)
        .set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR,
             std::vector{workspace})
        .finalize();
    EXPECT_EQ(pack.status, CUDNN_STATUS_SUCCESS);
    return cudnnBackendExecute(handle, plan.built.get(), pack.get());
  }

  World world{1, 1};
  cudnnHandle_t handle = nullptr;
};

std::vector<int64_t> list(const Dims4 &dims) {
  return {dims.begin(), dims.end()};
}

ConvolutionIs isOf(const ConvCase &c) {
  ConvolutionIs is;
  is.before = {c.pad[0], c.pad[1]};
  is.after = {c.pad[2], c.pad[3]};
  is.stride = {c.stride[0], c.stride[1]};
  is.dilation = {c.dilation[0], c.dilation[1]};
  is.mode = c.flips ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
  return is;
}

} // namespace

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

//===----------------------------------------------------------------------===//
// Graphs of several operations
//===----------------------------------------------------------------------===//

namespace {
/// y = relu(conv(x, w) + bias), channels last, and what may be wrong with it.
struct Fused {
  ConvCase c;
  ConvolutionIs conv;
  TensorIs x = {.id = idX}, w = {.id = idW}, y = {.id = idY},
           bias = {.id = idBias}, product = {.id = idProduct},
           sum = {.id = idSum};
  cudnnPointwiseMode_t adds = CUDNN_POINTWISE_ADD;
  cudnnPointwiseMode_t clips = CUDNN_POINTWISE_RELU_FWD;
  std::vector<int64_t> ids = {idX, idW, idY, idBias};

  Fused() {
    c.pad = {1, 0, 1, 2};
    c.stride = {1, 2};
    c.close();
    conv = isOf(c);
    x.dims = list(c.x);
    w.dims = list(c.w);
    for (TensorIs *each : {&y, &product, &sum})
      each->dims = list(c.y);
    bias.dims = {1, c.y[1], 1, 1};
    product.isVirtual = sum.isVirtual = true;
  }

  Built build(cudnnHandle_t handle) const {
    Built tConv = convolution(conv), tX = tensor(x), tW = tensor(w),
          tY = tensor(y), tBias = tensor(bias), tProduct = tensor(product),
          tSum = tensor(sum),
          first = operation(Direction::forward, tConv, tX, tW, tProduct),
          second = pointwise(adds, tProduct, &tBias, tSum),
          third = pointwise(clips, tSum, nullptr, tY);
    for (const Built *each : {&first, &second, &third})
      if (each->status != CUDNN_STATUS_SUCCESS)
        return Built(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
    return graph(handle, {&first, &second, &third});
  }
};

struct FusedData {
  Floats x, w, bias;
  Doubles wanted;

  explicit FusedData(const ConvCase &c) {
    std::mt19937 random(7);
    x = randomFloats(random, elementsOf(c.x));
    w = randomFloats(random, elementsOf(c.w));
    bias = randomFloats(random, static_cast<size_t>(c.y[1]));
    expect(c);
  }
  void expect(const ConvCase &c) {
    wanted = c.forward(x, w);
    const size_t plane = static_cast<size_t>(c.y[2] * c.y[3]);
    for (size_t i = 0; i < wanted.size(); ++i) {
      double value = wanted[i] + double(bias[i / plane % bias.size()]);
      wanted[i] = value < 0 ? 0 : value; // NaN stays
    }
  }
};
} // namespace

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

/// "refused", "reported", "wrong" or "right".
static std::string
outcomeOf(cudnnHandle_t handle, const std::function<void(Fused &)> &change,
          const std::function<std::vector<Plan>(const Built &)> &plansOf,
          const std::function<
              cudnnStatus_t(const Plan &, const std::vector<int64_t> &,
                            const std::vector<void *> &, void *)> &execute) {
  const Fused right;
  Fused is;
  change(is);
  FusedData data(right.c);
  Built whole = is.build(handle);
  if (whole.status != CUDNN_STATUS_SUCCESS)
    return "refused";
  for (const Plan &plan : plansOf(whole)) {
    if (plan.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS))
      continue;
    OnDevice x(scattered(data.x, right.c.x, channelsLast(right.x.dims))),
        w(scattered(data.w, right.c.w, channelsLast(right.w.dims))),
        bias(data.bias), y(Floats(elementsOf(right.c.y), 1e9f)),
        workspace(static_cast<size_t>(plan.workspace + 3) / 4);
    if (execute(plan, is.ids, {x.data(), w.data(), y.data(), bias.data()},
                workspace.data()) != CUDNN_STATUS_SUCCESS)
      return "refused";
    cudaDeviceSynchronize();
    if (!faults().empty()) {
      clearFaults();
      return "reported";
    }
    return difference(gathered(y.read(), right.c.y, channelsLast(right.y.dims)),
                      data.wanted) < 1e-4
               ? "right"
               : "wrong";
  }
  return "refused";
}

TEST_F(CudnnRun, AGraphThatSaysTheWrongThing) {
  auto outcome = [&](const std::function<void(Fused &)> &change) {
    return outcomeOf(
        handle, change, [&](const Built &built) { return plansOf(built); },
        [&](const Plan &plan, const std::vector<int64_t> &ids,
            const std::vector<void *> &pointers, void *workspace) {
          return execute(plan, ids, pointers, workspace);
        });
  };
  EXPECT_EQ(outcome([](Fused &) {}), "right");
  EXPECT_EQ(outcome([](Fused &f) {
              for (TensorIs *t : {&f.product, &f.sum}) // virtual: any will do
                t->strides = {192, 32, 4, 1};
            }),
            "right");
  // Rows and columns exchanged, and the like: the same memory, read wrongly.
  EXPECT_EQ(outcome([](Fused &f) { f.x.strides = {256, 64, 8, 1}; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.x.strides = {256, 1, 4, 32}; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.w.strides = {36, 9, 3, 1}; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) {
              f.conv.before = {0, 1};
              f.conv.after = {2, 1};
            }),
            "wrong");
  EXPECT_EQ(outcome([](Fused &f) { std::swap(f.conv.before, f.conv.after); }),
            "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.conv.mode = CUDNN_CONVOLUTION; }),
            "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.adds = CUDNN_POINTWISE_MUL; }), "wrong");
  EXPECT_EQ(outcome([](Fused &f) { f.clips = CUDNN_POINTWISE_IDENTITY; }),
            "wrong");
  // Beyond the end of the memory.
  EXPECT_EQ(outcome([](Fused &f) {
              f.x.strides = channelsLast(f.x.dims);
              f.x.strides[0] += 4;
            }),
            "reported");
  EXPECT_EQ(outcome([](Fused &f) { std::swap(f.ids[0], f.ids[1]); }),
            "reported");
  EXPECT_EQ(outcome([](Fused &f) { std::swap(f.ids[1], f.ids[3]); }),
            "reported");
  // Shapes and ids that cannot be.
  EXPECT_EQ(outcome([](Fused &f) { f.conv.stride = {1, 1}; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.conv.dilation = {1, 2}; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.bias.dims = {1, 1, 1, 1}; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.ids[3] = 77; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.bias.id = idX; }), "refused");
  EXPECT_EQ(outcome([](Fused &f) { f.sum.isVirtual = false; }), "refused");
}

//===----------------------------------------------------------------------===//
// Pointers and workspaces
//===----------------------------------------------------------------------===//

TEST_F(CudnnRun, PointersAndWorkspacesAreChecked) {
  Fused is;
  for (TensorIs *each : {&is.x, &is.w, &is.y, &is.bias})
    each->alignment = 16;
  FusedData data(is.c);
  Built whole = is.build(handle);
  int withWorkspace = 0;
  for (const Plan &plan : plansOf(whole)) {
    OnDevice aligned(scattered(data.x, is.c.x, channelsLast(is.x.dims)), 16),
        shifted(scattered(data.x, is.c.x, channelsLast(is.x.dims)), 8),
        w(scattered(data.w, is.c.w, channelsLast(is.w.dims))), bias(data.bias),
        y(elementsOf(is.c.y));
    auto run = [&](const OnDevice &x, void *workspace) {
      cudnnStatus_t status = execute(
          plan, is.ids, {x.data(), w.data(), y.data(), bias.data()}, workspace);
      cudaDeviceSynchronize();
      return status;
    };
    OnDevice workspace(static_cast<size_t>(plan.workspace + 3) / 4);
    EXPECT_EQ(run(aligned, workspace.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_TRUE(faults().empty()) << faults().front();
    EXPECT_EQ(run(shifted, workspace.data()),
              CUDNN_STATUS_BAD_PARAM_MISALIGNED_POINTER);
    EXPECT_TRUE(found("is less aligned"));
    clearFaults();
    if (plan.workspace == 0)
      continue;
    ++withWorkspace;
    EXPECT_EQ(run(aligned, nullptr), CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
    EXPECT_TRUE(faults().empty());
    OnDevice small(static_cast<size_t>(plan.workspace) / 4 - 1);
    EXPECT_EQ(run(aligned, small.data()), CUDNN_STATUS_SUCCESS);
    EXPECT_FALSE(faults().empty());
    clearFaults();
  }
  EXPECT_GE(withWorkspace, 3);
}

TEST_F(CudnnRun, EnginesRefuseAndFailWhereTheyAreTold) {
  Fused is;
  Built whole = is.build(handle);
  auto configs = offers(whole, CUDNN_HEUR_MODE_A);
  ASSERT_GE(configs.size(), 3u);
  auto planOf = [&](const Built &config) {
    Built plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.part(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, config)
        .set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE,
             std::vector{handle})
        .finalize();
    return plan.status;
  };
  for (const Built &config : configs)
    EXPECT_EQ(planOf(config), CUDNN_STATUS_SUCCESS);
  libraryOptions().refusedEngines = {2, 3, 4, 5, 6, 7, 8};
  for (const Built &config : configs)
    EXPECT_EQ(planOf(config), CUDNN_STATUS_NOT_SUPPORTED);
}
