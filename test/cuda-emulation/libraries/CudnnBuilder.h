//===- CudnnBuilder.h - Descriptors of cuDNN, right or wrong ----*- C++ -*-===//
//
// For tests: builds cuDNN's backend descriptors by its C interface and keeps
// the statuses, so that a test can leave out or distort one attribute. Links
// with the emulation and with NVIDIA's library alike.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_CUDNNBUILDER_H
#define LWCC_TEST_CUDAEMULATION_CUDNNBUILDER_H

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include <cudnn_backend.h>

// Handles are deprecated in graphs and plans, but ours have them.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace lwcc::emulation::test {

/// One descriptor; its first failure stays.
class Built {
public:
  explicit Built(cudnnBackendDescriptorType_t type) {
    status = cudnnBackendCreateDescriptor(type, &raw);
  }
  Built(Built &&other) noexcept
      : status(other.status), raw(std::exchange(other.raw, nullptr)) {}
  ~Built() {
    if (raw)
      cudnnBackendDestroyDescriptor(raw);
  }

  template <typename T>
  Built &set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
             const std::vector<T> &values) {
    return note(cudnnBackendSetAttribute(
        raw, name, type, static_cast<int64_t>(values.size()), values.data()));
  }
  Built &ints(cudnnBackendAttributeName_t name,
              const std::vector<int64_t> &values) {
    return set(name, CUDNN_TYPE_INT64, values);
  }
  Built &flag(cudnnBackendAttributeName_t name, bool value) {
    return note(
        cudnnBackendSetAttribute(raw, name, CUDNN_TYPE_BOOLEAN, 1, &value));
  }
  Built &parts(cudnnBackendAttributeName_t name,
               std::initializer_list<const Built *> built) {
    std::vector<cudnnBackendDescriptor_t> values;
    for (const Built *each : built)
      values.push_back(each->raw);
    return set(name, CUDNN_TYPE_BACKEND_DESCRIPTOR, values);
  }
  Built &part(cudnnBackendAttributeName_t name, const Built &built) {
    return parts(name, {&built});
  }
  Built &finalize() { return note(cudnnBackendFinalize(raw)); }

  cudnnBackendDescriptor_t get() const { return raw; }
  cudnnStatus_t status;

private:
  Built &note(cudnnStatus_t next) {
    if (status == CUDNN_STATUS_SUCCESS)
      status = next;
    return *this;
  }
  cudnnBackendDescriptor_t raw = nullptr;
};

struct TensorIs {
  int64_t id = 1;
  std::vector<int64_t> dims = {2, 4, 8, 8};
  std::vector<int64_t> strides = {}; ///< none: channels last
  int64_t alignment = 4;
  bool isVirtual = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
};

inline std::vector<int64_t> channelsLast(const std::vector<int64_t> &dims) {
  return {dims[1] * dims[2] * dims[3], 1, dims[3] * dims[1], dims[1]};
}

inline Built tensor(const TensorIs &is) {
  Built built(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  built.ints(CUDNN_ATTR_TENSOR_UNIQUE_ID, {is.id})
      .set(CUDNN_ATTR_TENSOR_DATA_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector{is.type})
      .ints(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, {is.alignment})
      .ints(CUDNN_ATTR_TENSOR_DIMENSIONS, is.dims)
      .ints(CUDNN_ATTR_TENSOR_STRIDES,
            is.strides.empty() ? channelsLast(is.dims) : is.strides);
  if (is.isVirtual)
    built.flag(CUDNN_ATTR_TENSOR_IS_VIRTUAL, true);
  built.finalize();
  return built;
}

struct ConvolutionIs {
  std::vector<int64_t> before = {0, 0}, after = {0, 0}, stride = {1, 1},
                       dilation = {1, 1};
  cudnnConvolutionMode_t mode = CUDNN_CROSS_CORRELATION;
  cudnnDataType_t computeType = CUDNN_DATA_FLOAT;
};

inline Built convolution(const ConvolutionIs &is) {
  Built built(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  built.ints(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, {2})
      .set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_TYPE_DATA_TYPE,
           std::vector{is.computeType})
      .set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
           std::vector{is.mode})
      .ints(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, is.before)
      .ints(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, is.after)
      .ints(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, is.stride)
      .ints(CUDNN_ATTR_CONVOLUTION_DILATIONS, is.dilation)
      .finalize();
  return built;
}

enum class Direction { forward, gradInput, gradWeight };

/// x, w and y are the convolution's or their gradients.
inline Built operation(Direction direction, const Built &conv, const Built &x,
                       const Built &w, const Built &y, float alpha = 1,
                       float beta = 0) {
  struct Names {
    cudnnBackendDescriptorType_t type;
    cudnnBackendAttributeName_t conv, x, w, y, alpha, beta;
  };
  static const Names names[] = {
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA},
      {CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_CONV_DESC,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DW,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA,
       CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_BETA}};
  const Names &n = names[static_cast<int>(direction)];
  Built built(n.type);
  built.part(n.conv, conv)
      .part(n.x, x)
      .part(n.w, w)
      .part(n.y, y)
      .set(n.alpha, CUDNN_TYPE_FLOAT, std::vector{alpha})
      .set(n.beta, CUDNN_TYPE_FLOAT, std::vector{beta})
      .finalize();
  return built;
}

/// `b` may be null.
inline Built pointwise(cudnnPointwiseMode_t mode, const Built &x,
                       const Built *b, const Built &y) {
  Built how(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  how.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE,
          std::vector{mode})
      .set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_TYPE_DATA_TYPE,
           std::vector{CUDNN_DATA_FLOAT})
      .finalize();
  Built built(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  built.part(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, how)
      .part(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, x)
      .part(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, y);
  if (b)
    built.part(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, *b);
  built.finalize();
  return built;
}

inline Built graph(cudnnHandle_t handle,
                   std::initializer_list<const Built *> operations) {
  Built built(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  if (handle)
    built.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE,
              std::vector{handle});
  built.parts(CUDNN_ATTR_OPERATIONGRAPH_OPS, operations).finalize();
  return built;
}

/// The configurations that a heuristic offers; `device` may be null.
inline std::vector<Built> offers(const Built &graph,
                                 cudnnBackendHeurMode_t mode,
                                 const Built *device = nullptr) {
  Built heuristic(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  heuristic.part(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph)
      .set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, std::vector{mode});
  if (device)
    heuristic.part(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *device);
  heuristic.finalize();
  std::vector<Built> found;
  std::vector<cudnnBackendDescriptor_t> raws;
  for (int i = 0; i < 100; ++i) {
    found.emplace_back(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    raws.push_back(found.back().get());
  }
  int64_t count = 0;
  if (heuristic.status == CUDNN_STATUS_SUCCESS)
    cudnnBackendGetAttribute(heuristic.get(), CUDNN_ATTR_ENGINEHEUR_RESULTS,
                             CUDNN_TYPE_BACKEND_DESCRIPTOR, 100, &count,
                             raws.data());
  while (static_cast<int64_t>(found.size()) > count)
    found.pop_back();
  return found;
}

} // namespace lwcc::emulation::test

#endif // LWCC_TEST_CUDAEMULATION_CUDNNBUILDER_H
