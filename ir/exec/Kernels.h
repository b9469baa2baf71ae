//===- Kernels.h - The runtime calls that exec may make ---------*- C++ -*-===//
//
// Kernels.def as a table: how many tensors each runtime function takes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_KERNELS_H
#define LWCC_IR_EXEC_KERNELS_H

#include "mlir/IR/Attributes.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc::exec {

struct KernelSignature {
  llvm::StringRef name;
  int results;  ///< -k: k - 1 of them, then a list of any length
  int operands; ///< -k: k - 1 of them, then a list of any length
};

/// Whether a parameter has the value that the fields of this name have by
/// default in runtime/core/Ops.h, so that printing it would say nothing.
bool isDefaultParameter(llvm::StringRef name, mlir::Attribute value);

llvm::ArrayRef<KernelSignature> kernelSignatures();
const KernelSignature *findKernel(llvm::StringRef name);

/// Whether an operand may lie on another device than the one that the kernel
/// runs on: the kernel reads each of its elements once.
bool mayLieElsewhere(llvm::StringRef kernel, unsigned operand);

/// Whether a result may lie in the memory of an operand (the same bytes, the
/// same type). Otherwise they must not overlap.
enum class Sharing { forbidden, allowed, required };
Sharing sharing(llvm::StringRef kernel, unsigned result, unsigned operand);

} // namespace lwcc::exec

#endif // LWCC_IR_EXEC_KERNELS_H
