//===- SgdBody.h - One parameter element's SGD update -----------*- C++ -*-===//
//
// The update of torch.optim.SGD with dampening 0. The momentum buffer starts at
// zero: the first step then leaves the gradient in it, as PyTorch does.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_SGDBODY_H
#define LWCC_RUNTIME_CORE_SGDBODY_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Scalars.h"

namespace lwcc::rt {

/// Whether the step may change anything: the loss is neither NaN nor infinite.
LWCC_HD bool isFiniteLoss(float loss) { return loss - loss == 0.0f; }

/// T is float, or a vector of floats.
template <typename T>
LWCC_HD void sgdUpdate(const StepScalars &s, T &w, const T &gradient, T &m) {
  T g = gradient + s.weight_decay * w;
  m = s.momentum * m + g;
  T direction = s.nesterov ? g + s.momentum * m : m;
  w = w - s.lr * direction;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_SGDBODY_H
