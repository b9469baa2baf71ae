//===- Kernels.h - The runtime calls that exec may make ---------*- C++ -*-===//
//
// Kernels.def as a table: how many tensors each runtime function takes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_KERNELS_H
#define LWCC_IR_EXEC_KERNELS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc::exec {

struct KernelSignature {
  llvm::StringRef name;
  int results;  ///< -1: any number, passed as a list
  int operands; ///< -1: any number, passed as a list
};

llvm::ArrayRef<KernelSignature> kernelSignatures();
const KernelSignature *findKernel(llvm::StringRef name);

} // namespace lwcc::exec

#endif // LWCC_IR_EXEC_KERNELS_H
