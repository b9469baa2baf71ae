//===- TestGraph.h - Graphs of cuDNN that are run, for tests ----*- C++ -*-===//
//
// A fixture that makes plans of graphs and executes them, and the graph of a
// convolution with bias and ReLU, of which a test may distort any part.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_TESTGRAPH_H
#define LWCC_TEST_CUDAEMULATION_TESTGRAPH_H

#include "test/cuda-emulation/World.h"
#include "test/cuda-emulation/libraries/CudnnBuilder.h"
#include "test/cuda-emulation/libraries/Libraries.h"
#include "test/cuda-emulation/libraries/TestConv.h"

#include <gtest/gtest.h>

namespace lwcc::emulation::test {

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

inline std::vector<int64_t> list(const Dims4 &dims) {
  return {dims.begin(), dims.end()};
}

inline ConvolutionIs isOf(const ConvCase &c) {
  ConvolutionIs is;
  is.before = {c.pad[0], c.pad[1]};
  is.after = {c.pad[2], c.pad[3]};
  is.stride = {c.stride[0], c.stride[1]};
  is.dilation = {c.dilation[0], c.dilation[1]};
  is.mode = c.flips ? CUDNN_CONVOLUTION : CUDNN_CROSS_CORRELATION;
  return is;
}

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

} // namespace lwcc::emulation::test

#endif // LWCC_TEST_CUDAEMULATION_TESTGRAPH_H
