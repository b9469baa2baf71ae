//===- Copy.h - Copies and fills of strided tensors -------------*- C++ -*-===//
//
// Runs the copies and fills of core/StridedCopy.h on the CPU, at once, in the
// calling thread and `threads - 1` others. Elements of any type move as bytes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_COPY_H
#define LWCC_RUNTIME_CPU_COPY_H

#include "runtime/core/StridedCopy.h"

namespace lwcc::rt {

/// Copies along a nest of loops; operand 0 is `to`.
void runCopy(int threads, const LoopNest<2> &nest, int64_t elementSize,
             void *to, const void *from);

/// Copies between tensors of the same shape.
void copyTensor(int threads, const Tensor &to, const Tensor &from);

/// Sets every element, converted to the tensor's type.
void fillTensor(int threads, const Tensor &to, float value);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_COPY_H
