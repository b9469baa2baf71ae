//===- Sgd.h - An update within another operator ----------------*- C++ -*-===//
//
// What MatMulSgd.cpp launches behind its products: the kernel of sgd().
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_SGD_H
#define LWCC_RUNTIME_CUDA_SGD_H

#include "runtime/cuda/CudaMachine.h"

namespace lwcc::rt::cuda {

/// Launches the update of w and m in place with the sum of gs, in their order.
void launchSgd(CudaLane &lane, const Tensor &w, const Tensor &m,
               const Tensor &scalars, const Tensor &loss, const Tensors &gs,
               const UpdateParams &params);

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_SGD_H
