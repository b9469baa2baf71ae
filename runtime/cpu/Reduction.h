//===- Reduction.h - Sums under another operator's name ---------*- C++ -*-===//
#ifndef LWCC_RUNTIME_CPU_REDUCTION_H
#define LWCC_RUNTIME_CPU_REDUCTION_H

#include "runtime/core/Ops.h"

namespace lwcc::rt {

/// What reduce() appends, for an operator `op` that is such a sum.
void appendReduce(Lane &lane, const char *op, Tensor y, Tensor x,
                  const ReduceParams &params);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_REDUCTION_H
