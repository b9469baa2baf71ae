//===- TurnedConv.h - The gradient of an input, forward ---------*- C++ -*-===//
//
// The gradient of a convolution's input is a convolution of the result's
// gradient with the same weights, turned by half a circle, inputs for outputs.
// cuDNN has quick engines for convolutions in single precision forward, but for
// some gradients none that takes less than 30 times as long (an H100 and cuDNN
// 9.19: 3x3 of 64 to 128 channels, 112 pixels, batch 64: 235 ms, forward 6).
//
// Decides when that is possible and what it takes. Whether it is quicker is
// seen in Convolution.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_TURNEDCONV_H
#define LWCC_RUNTIME_CUDA_TURNEDCONV_H

#include "runtime/cuda/ConvPlan.h"
#include "runtime/cuda/CudaMachine.h"

#include <optional>

namespace lwcc::rt::cuda {

struct TurnedConv {
  ConvShape shape; ///< forward, from the gradient of the result
  /// A window of one pixel that does not touch every pixel: what the
  /// convolution gives is spread over the gradient, with zeros between.
  Pair spread = {1, 1};
  int64_t groups = 1;
};

/// None with tensor cores, whose engines are as quick backward, and where a
/// window of several pixels takes steps of several.
std::optional<TurnedConv> turnedConv(const ConvShape &gradInput);

/// Appends the gradient dx of a convolution by weights w.
void appendTurned(CudaLane &lane, const TurnedConv &turned,
                  const ConvPlan &plan, Tensor dx, Tensor dy, Tensor w);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_TURNEDCONV_H
