//===- Math.h - Functions of the expression language ------------*- C++ -*-===//
//
// The functions that generated expressions (ir/train/Expression.h) may call.
// The emitted kernels of both targets and lwcc-run's interpreter use them, so
// that all compute the same. Emitted kernels are in namespace
// lwcc::rt::kernels, where these functions hide those of the C library.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_MATH_H
#define LWCC_RUNTIME_CORE_MATH_H

#include "runtime/core/Exponentials.h"
#include "runtime/core/HostDevice.h"

#include <cmath>

namespace lwcc::rt {

// CUDA's functions are as quick as ours.
#ifdef __CUDA_ARCH__
LWCC_HD float exp(float x) { return ::expf(x); }
LWCC_HD float tanh(float x) { return ::tanhf(x); }
LWCC_HD float erf(float x) { return ::erff(x); }
#else
using branchless::erf;
using branchless::exp;
using branchless::tanh;
#endif
LWCC_HD float abs(float x) { return ::fabsf(x); }
LWCC_HD float log(float x) { return ::logf(x); }
LWCC_HD float sqrt(float x) { return ::sqrtf(x); }
LWCC_HD float pow(float x, float y) { return ::powf(x, y); }
LWCC_HD float fmod(float x, float y) { return ::fmodf(x, y); }
LWCC_HD float sin(float x) { return ::sinf(x); }
LWCC_HD float cos(float x) { return ::cosf(x); }
LWCC_HD float tan(float x) { return ::tanf(x); }
LWCC_HD float asin(float x) { return ::asinf(x); }
LWCC_HD float acos(float x) { return ::acosf(x); }
LWCC_HD float atan(float x) { return ::atanf(x); }
LWCC_HD float sinh(float x) { return ::sinhf(x); }
LWCC_HD float cosh(float x) { return ::coshf(x); }
LWCC_HD float asinh(float x) { return ::asinhf(x); }
LWCC_HD float acosh(float x) { return ::acoshf(x); }
LWCC_HD float atanh(float x) { return ::atanhf(x); }
LWCC_HD float floor(float x) { return ::floorf(x); }
/// Of two nearest integers the even one, as in PyTorch.
LWCC_HD float round(float x) { return ::rintf(x); }
/// A NaN operand wins, as in PyTorch.
LWCC_HD float max(float x, float y) { return x > y || x != x ? x : y; }
LWCC_HD float min(float x, float y) { return x < y || x != x ? x : y; }
LWCC_HD float sigmoid(float x) { return 1.0f / (1.0f + exp(-x)); }

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_MATH_H
