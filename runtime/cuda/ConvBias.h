//===- ConvBias.h - What a convolution's bias needs of our own --*- C++ -*-===//
#ifndef LWCC_RUNTIME_CUDA_CONVBIAS_H
#define LWCC_RUNTIME_CUDA_CONVBIAS_H

#include "runtime/core/Ops.h"

namespace lwcc::rt::cuda {

class CudaLane;
struct Work;

/// dbias[c] = sum of dy over all dimensions but the second.
Work biasGradient(CudaLane &lane, Tensor dbias, Tensor dy);

/// Launches y = y + bias along the second dimension of channels-last y, then
/// max(y, 0) if `relu`. `bias` may be absent.
void launchBiasRelu(CudaLane &lane, Tensor y, Tensor bias, bool relu);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_CONVBIAS_H
