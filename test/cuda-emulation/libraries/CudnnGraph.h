//===- CudnnGraph.h - What an operation graph computes ----------*- C++ -*-===//
//
// A finalized graph of cuDNN as plain structs: tensors by unique id, operations
// in an order in which each finds its operands. CudnnGraph.cpp makes it of
// descriptors and refuses what is no graph; CudnnRun.cpp runs it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_CUDNNGRAPH_H
#define LWCC_TEST_CUDAEMULATION_CUDNNGRAPH_H

#include "test/cuda-emulation/libraries/CudnnDescriptor.h"

#include <array>

namespace lwcc::emulation::dnn {

struct GraphTensor {
  int64_t id = 0;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int64_t> dims, strides;
  int64_t alignment = 1;
  bool isVirtual = false;

  bool operator==(const GraphTensor &) const = default;
};

GraphTensor tensorOf(const Descriptor &descriptor);
/// Whether no two elements share a place.
bool isInjective(const GraphTensor &tensor);

enum class NodeKind { forward, gradInput, gradWeight, pointwise };

/// One operation. Tensors are named by their ids.
struct GraphNode {
  NodeKind kind = NodeKind::forward;
  /// What it reads: x and w, dy and w, dy and x, or x and b of a pointwise
  /// operation (b only where the mode has two operands).
  std::vector<int64_t> inputs;
  int64_t output = 0;
  cudnnDataType_t computeType = CUDNN_DATA_FLOAT;
  /// Factors: alpha and beta of a convolution, alpha1 and alpha2 of a pointwise
  /// operation.
  double scale = 1, otherScale = 0;

  // Convolutions: top and left, bottom and right, ...
  std::array<int64_t, 2> before = {}, after = {}, stride = {1, 1},
                         dilation = {1, 1};
  bool flips = false; ///< CUDNN_CONVOLUTION: the filter is turned around

  // Pointwise operations.
  cudnnPointwiseMode_t mode = CUDNN_POINTWISE_IDENTITY;
  double lowerClip = 0, upperClip = 0, slope = 0;
  bool clipsAbove = false;
};

struct Graph {
  std::map<int64_t, GraphTensor> tensors;
  std::vector<GraphNode> nodes;
  int device = -1; ///< of the handle that it was made with; -1: none

  /// Depends on everything above but the device.
  uint64_t hash() const;
};

/// How many tensors a pointwise mode reads; 0 where the mode is not emulated.
int operandsOf(cudnnPointwiseMode_t mode);

/// The graph of finalized operations; refuses.
Graph graphOf(const std::vector<DescriptorPtr> &operations);

} // namespace lwcc::emulation::dnn

#endif // LWCC_TEST_CUDAEMULATION_CUDNNGRAPH_H
