//===- SgdBody.h - One parameter element's SGD update -----------*- C++ -*-===//
//
// torch.optim.SGD with dampening 0. The momentum buffer starts at zero, which
// gives PyTorch's first step (it copies the gradient then).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_SGDBODY_H
#define LWCC_RUNTIME_CORE_SGDBODY_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Scalars.h"

namespace lwcc::rt {

/// Whether the step may change anything: the loss is neither NaN nor infinite.
LWCC_HD bool isFiniteLoss(float loss) { return loss - loss == 0.0f; }

LWCC_HD void sgdUpdate(const StepScalars &s, float &w, float g, float &m) {
  g = g + s.weight_decay * w;
  m = s.momentum * m + g;
  float direction = s.nesterov ? g + s.momentum * m : m;
  w = w - s.lr * direction;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_SGDBODY_H
