//===- Math.h - Functions of the expression language ------------*- C++ -*-===//
//
// What ir/train/Expression.h may call, for both targets and for lwcc-run's
// interpreter, so that all of them run the same arithmetic. Emitted kernels
// stand in namespace lwcc::rt::kernels and so find these before the C ones.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_MATH_H
#define LWCC_RUNTIME_CORE_MATH_H

#include "runtime/core/HostDevice.h"

#include <cmath>

namespace lwcc::rt {

LWCC_HD float abs(float x) { return ::fabsf(x); }
LWCC_HD float exp(float x) { return ::expf(x); }
LWCC_HD float log(float x) { return ::logf(x); }
LWCC_HD float sqrt(float x) { return ::sqrtf(x); }
LWCC_HD float tanh(float x) { return ::tanhf(x); }
LWCC_HD float erf(float x) { return ::erff(x); }
LWCC_HD float pow(float x, float y) { return ::powf(x, y); }
LWCC_HD float floor(float x) { return ::floorf(x); }
/// A NaN operand wins, as in PyTorch.
LWCC_HD float max(float x, float y) { return x > y || x != x ? x : y; }
LWCC_HD float min(float x, float y) { return x < y || x != x ? x : y; }
LWCC_HD float sigmoid(float x) { return 1.0f / (1.0f + ::expf(-x)); }

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_MATH_H
