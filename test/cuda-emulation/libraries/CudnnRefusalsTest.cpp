//===- CudnnRefusalsTest.cpp - What cuDNN takes, and what not -------------===//
//
// The emulated cuDNN refuses what NVIDIA's refuses, with the same status. The
// same file is linked with NVIDIA's library (LWCC_REAL_CUDNN), which finalizes
// descriptors without a GPU, so that the expectations are not ours alone. What
// only the emulation refuses stands in tests of its own.
//
//===----------------------------------------------------------------------===//

#include "test/cuda-emulation/libraries/CudnnBuilder.h"

#ifndef LWCC_REAL_CUDNN
#include "test/cuda-emulation/libraries/Libraries.h"
#endif

#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

using namespace lwcc::emulation::test;

static constexpr auto good = CUDNN_STATUS_SUCCESS, bad = CUDNN_STATUS_BAD_PARAM;

/// With all engines: what is offered must not depend on a seed here.
class CudnnRefusals : public testing::Test {
#ifndef LWCC_REAL_CUDNN
  void SetUp() override {
    lwcc::emulation::libraryOptions().capricious = false;
  }
  void TearDown() override {
    lwcc::emulation::libraryOptions().capricious = true;
  }
#endif
};

static cudnnStatus_t statusOf(const TensorIs &is) { return tensor(is).status; }

TEST_F(CudnnRefusals, Tensors) {
  EXPECT_EQ(statusOf({}), good);
  EXPECT_EQ(statusOf({.strides = {256, 64, 8, 1}}), good);
  EXPECT_EQ(statusOf({.strides = {1, 1, 1, 1}}), good); // until it is used
  EXPECT_EQ(statusOf({.strides = {256, 1, 32}}), bad);
  EXPECT_EQ(statusOf({.dims = {2, 4, 8}, .strides = {256, 1, 32, 4}}), bad);
  EXPECT_EQ(statusOf({.dims = {2, -4, 8, 8}, .strides = {256, 1, 32, 4}}), bad);
  EXPECT_EQ(statusOf({.strides = {-256, 1, 32, 4}}), bad);
  EXPECT_EQ(statusOf({.strides = {0, 1, 32, 4}}), good);
  for (int64_t rank : {1, 2, 3, 5, 8})
    EXPECT_EQ(statusOf({.dims = std::vector<int64_t>(rank, 2),
                        .strides = std::vector<int64_t>(rank, 1)}),
              good);
  EXPECT_EQ(statusOf({.dims = std::vector<int64_t>(9, 2),
                      .strides = std::vector<int64_t>(9, 1)}),
            bad);
  for (int64_t alignment : {0, -4, 1, 2, 3, 6})
    EXPECT_EQ(statusOf({.alignment = alignment}), bad) << alignment;
  for (int64_t alignment : {4, 8, 12, 16, 20, 256, 4096})
    EXPECT_EQ(statusOf({.alignment = alignment}), good) << alignment;
}

TEST_F(CudnnRefusals, MissingAttributes) {
  Built empty(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  empty.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {1})
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector{CUDNN_DATA_FLOAT});
  EXPECT_EQ(empty.finalize().status, bad);
  Built conv(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  EXPECT_EQ(conv.finalize().status, bad);
  Built x = tensor({});
  Built op(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  op.part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, x);
  EXPECT_EQ(op.finalize().status, bad);
  Built graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(graph.finalize().status, bad);
}

TEST_F(CudnnRefusals, Attributes) {
  auto first = [](auto set) {
    Built built(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
    set(built);
    return built.status;
  };
  EXPECT_EQ(first([](Built &b) {
              b.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, CUDNN_TYPE_FLOAT,
                    std::vector{1.0f});
            }),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(first([](Built &b) { b.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {}); }),
            bad);
  EXPECT_EQ(
      first([](Built &b) { b.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {1, 2}); }),
      bad);
  EXPECT_EQ(
      first([](Built &b) { b.ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, {1}); }),
      bad);
  int64_t value = 1, count = 0;
  Built open(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(cudnnBackendSetAttribute(open.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID,
                                     CUDNN_TYPE_INT64, 1, nullptr),
            bad);
  EXPECT_EQ(cudnnBackendGetAttribute(open.get(), CUDNN_ATTR_TENSOR_UNIQUE_ID,
                                     CUDNN_TYPE_INT64, 1, &count, &value),
            CUDNN_STATUS_NOT_INITIALIZED);
  for (cudnnStatus_t status :
       {cudnnBackendSetAttribute(nullptr, CUDNN_ATTR_TENSOR_UNIQUE_ID,
                                 CUDNN_TYPE_INT64, 1, &value),
        cudnnBackendFinalize(nullptr), cudnnBackendDestroyDescriptor(nullptr)})
    EXPECT_EQ(status, CUDNN_STATUS_BAD_PARAM_NULL_POINTER);
}

TEST_F(CudnnRefusals, AfterFinalizing) {
  Built done = tensor({});
  int64_t values[8] = {}, count = 0;
  auto get = [&](cudnnBackendAttributeName_t name,
                 cudnnBackendAttributeType_t type) {
    return cudnnBackendGetAttribute(done.get(), name, type, 8, &count, values);
  };
  EXPECT_EQ(get(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_INT64), good);
  EXPECT_EQ(count, 4);
  EXPECT_EQ(values[3], 8);
  EXPECT_EQ(get(CUDNN_ATTR_TENSOR_DIMENSIONS, CUDNN_TYPE_FLOAT),
            CUDNN_STATUS_BAD_PARAM_ATTRIBUTE_TYPE);
  EXPECT_EQ(get(CUDNN_ATTR_CONVOLUTION_DILATIONS, CUDNN_TYPE_INT64), bad);
  EXPECT_EQ(done.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {3}).status, bad);
  Built again = tensor({});
  EXPECT_EQ(again.finalize().status, bad);
}

TEST_F(CudnnRefusals, Convolutions) {
  auto statusOf = [](const ConvolutionIs &is) {
    return convolution(is).status;
  };
  EXPECT_EQ(statusOf({}), good);
  EXPECT_EQ(statusOf({.mode = CUDNN_CONVOLUTION}), good);
  EXPECT_EQ(statusOf({.before = {-1, 0}}), bad);
  EXPECT_EQ(statusOf({.after = {0, -1}}), bad);
  EXPECT_EQ(statusOf({.stride = {0, 1}}), bad);
  EXPECT_EQ(statusOf({.dilation = {1, 0}}), bad);
  EXPECT_EQ(statusOf({.before = {1}}), bad);
  EXPECT_EQ(statusOf({.dilation = {1, 1, 1}}), bad);
}

TEST_F(CudnnRefusals, ShapesThatDisagree) {
  struct Case {
    std::vector<int64_t> x, w, y;
    cudnnStatus_t status;
    ConvolutionIs is = {.before = {1, 1}, .after = {1, 1}};
  };
  using Dims = std::vector<int64_t>;
  const Dims x = {2, 4, 8, 8}, w = {6, 4, 3, 3}, y = {2, 6, 8, 8};
  const Case cases[] = {
      {x, w, y, good},
      {x, w, {3, 6, 8, 8}, bad},
      {x, w, {2, 5, 8, 8}, bad},
      {x, w, {2, 6, 9, 8}, bad},
      {x, w, {2, 6, 8, 7}, bad},
      {x, {6, 3, 3, 3}, y, bad},
      {x, {6, 2, 3, 3}, y, good}, // two groups
      {x, {6, 1, 3, 3}, y, bad},  // four, of six channels
      {x, {6, 8, 3, 3}, y, bad},
      {x, w, {2, 6, 3, 3}, good, {.stride = {2, 2}}},
      {x, w, {2, 6, 4, 4}, bad, {.stride = {2, 2}}},
      {{2, 4, 2, 2}, w, {2, 6, 1, 1}, bad, {}}, // no room for the window
      {x, w, y, good, {.before = {2, 3}, .after = {2, 3}, .dilation = {2, 3}}}};
  for (const Case &each : cases)
    for (Direction direction :
         {Direction::forward, Direction::gradInput, Direction::gradWeight}) {
      Built conv = convolution(each.is), tx = tensor({.id = 1, .dims = each.x}),
            tw = tensor({.id = 2, .dims = each.w}),
            ty = tensor({.id = 3, .dims = each.y});
      EXPECT_EQ(operation(direction, conv, tx, tw, ty).status, each.status)
          << &each - cases;
    }
  Built conv = convolution({.before = {1, 1}, .after = {1, 1}}),
        tx = tensor({.id = 1, .strides = {1, 1, 1, 1}}),
        tw = tensor({.id = 2, .dims = w}), ty = tensor({.id = 3, .dims = y});
  EXPECT_EQ(operation(Direction::forward, conv, tx, tw, ty).status, bad)
      << "elements overlap";
}

//===----------------------------------------------------------------------===//
// Graphs: a convolution, a bias, a ReLU
//===----------------------------------------------------------------------===//

#ifdef LWCC_DEVICE_FOLDER

namespace {
struct Fusion {
  TensorIs x = {.id = 1}, w = {.id = 2, .dims = {6, 4, 3, 3}},
           product = {.id = 5, .dims = {2, 6, 8, 8}, .isVirtual = true},
           bias = {.id = 4, .dims = {1, 6, 1, 1}},
           sum = {.id = 6, .dims = {2, 6, 8, 8}, .isVirtual = true},
           y = {.id = 3, .dims = {2, 6, 8, 8}};
  ConvolutionIs conv = {.before = {1, 1}, .after = {1, 1}};
  bool reversed = false;
};
} // namespace

/// The status of the graph, and whether any engine takes it.
static std::pair<cudnnStatus_t, bool>
answerTo(const std::function<void(Fusion &)> &change) {
  Fusion is;
  change(is);
  Built conv = convolution(is.conv), x = tensor(is.x), w = tensor(is.w),
        product = tensor(is.product), bias = tensor(is.bias),
        sum = tensor(is.sum), y = tensor(is.y),
        first = operation(Direction::forward, conv, x, w, product),
        second = pointwise(CUDNN_POINTWISE_ADD, product, &bias, sum),
        third = pointwise(CUDNN_POINTWISE_RELU_FWD, sum, nullptr, y);
  for (const Built *each : {&first, &second, &third})
    if (each->status != good)
      return {each->status, false};
  Built whole = is.reversed ? graph(nullptr, {&third, &second, &first})
                            : graph(nullptr, {&first, &second, &third});
  std::ifstream file(LWCC_DEVICE_FOLDER "/sm_90.json");
  std::stringstream text;
  text << file.rdbuf();
  std::string json = text.str();
  Built device(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR);
  device
      .set(CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
           std::vector<char>(json.begin(), json.end()))
      .finalize();
  EXPECT_EQ(device.status, good);
  return {whole.status, whole.status == good &&
                            !offers(whole, CUDNN_HEUR_MODE_A, &device).empty()};
}

TEST_F(CudnnRefusals, Graphs) {
  using Answer = std::pair<cudnnStatus_t, bool>;
  const Answer taken(good, true), noEngine(good, false), refused(bad, false);
  EXPECT_EQ(answerTo([](Fusion &) {}), taken);
  EXPECT_EQ(answerTo([](Fusion &f) { f.reversed = true; }), taken);
  EXPECT_EQ(answerTo([](Fusion &f) { f.sum.isVirtual = false; }), taken);
  EXPECT_EQ(answerTo([](Fusion &f) { f.product.isVirtual = false; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.y.isVirtual = true; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.bias.isVirtual = true; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.bias.dims = {1, 5, 1, 1}; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.bias.dims = {1, 1, 1, 8}; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.y.dims = {2, 6, 8, 7}; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.y.dims = {1, 6, 8, 8}; }), noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.product.type = CUDNN_DATA_HALF; }),
            noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) { f.conv.computeType = CUDNN_DATA_HALF; }),
            noEngine);
  EXPECT_EQ(answerTo([](Fusion &f) {
              f.bias.dims = {6};
              f.bias.strides = {1};
            }),
            refused);
  EXPECT_EQ(answerTo([](Fusion &f) { f.sum.id = f.product.id; }), refused);
  EXPECT_EQ(answerTo([](Fusion &f) { f.y.id = f.x.id; }), refused);
}

#endif // LWCC_DEVICE_FOLDER

TEST_F(CudnnRefusals, GraphsOfOperations) {
  Built conv = convolution({.before = {1, 1}, .after = {1, 1}}),
        x = tensor({.id = 1}), w = tensor({.id = 2, .dims = {6, 4, 3, 3}}),
        y = tensor({.id = 3, .dims = {2, 6, 8, 8}}),
        first = operation(Direction::forward, conv, x, w, y),
        second = operation(Direction::forward, conv, x, w, y);
  EXPECT_EQ(graph(nullptr, {&first}).status, good);
  EXPECT_EQ(graph(nullptr, {&first, &second}).status, bad)
      << "both make the same tensor";
  Built open(CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  EXPECT_EQ(graph(nullptr, {&open}).status,
            CUDNN_STATUS_BAD_PARAM_NOT_FINALIZED);
}

TEST_F(CudnnRefusals, VariantPacks) {
  auto statusOf = [](std::vector<int64_t> ids, std::vector<void *> pointers) {
    Built pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    if (!ids.empty())
      pack.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, ids);
    if (!pointers.empty())
      pack.set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
               pointers);
    return pack.finalize().status;
  };
  float value = 0;
  void *p = &value;
  EXPECT_EQ(statusOf({1, 2}, {p, p}), good);
  EXPECT_EQ(statusOf({1, 2}, {p, nullptr}), good);
  EXPECT_EQ(statusOf({1, 2}, {p}), bad);
  EXPECT_EQ(statusOf({1}, {p, p}), bad);
  EXPECT_EQ(statusOf({}, {p}), bad);
}

#ifndef LWCC_REAL_CUDNN

TEST_F(CudnnRefusals, MistakesThatNvidiasLibraryTakes) {
  Built conv = convolution({.before = {1, 1}, .after = {1, 1}}),
        x = tensor({.id = 1}), w = tensor({.id = 1, .dims = {6, 4, 3, 3}}),
        y = tensor({.id = 3, .dims = {2, 6, 8, 8}}),
        op = operation(Direction::forward, conv, x, w, y);
  EXPECT_EQ(graph(nullptr, {&op}).status, bad) << "x and w have the same id";
  Built pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  float value = 0;
  pack.ints(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, {1, 1})
      .set(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR,
           std::vector<void *>{&value, &value});
  EXPECT_EQ(pack.finalize().status, CUDNN_STATUS_BAD_PARAM_DUPLICATED_ENTRIES);
  // Its documentation calls an id required.
  Built nameless(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  nameless
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector{CUDNN_DATA_FLOAT})
      .ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {4})
      .ints(CUDNN_ATTR_TENSOR_DIMENSIONS, {2, 4, 8, 8})
      .ints(CUDNN_ATTR_TENSOR_STRIDES, {256, 1, 32, 4});
  EXPECT_EQ(nameless.finalize().status, bad);
}

TEST_F(CudnnRefusals, DestroyedDescriptors) {
  cudnnBackendDescriptor_t raw = nullptr;
  ASSERT_EQ(cudnnBackendCreateDescriptor(CUDNN_BACKEND_TENSOR_DESCRIPTOR, &raw),
            good);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(raw), good);
  EXPECT_EQ(cudnnBackendDestroyDescriptor(raw), bad);
  EXPECT_EQ(cudnnBackendFinalize(raw), bad);
}

#endif // LWCC_REAL_CUDNN
