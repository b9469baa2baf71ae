//===- Names.h - Names of buffers and kernels -------------------*- C++ -*-===//
//
// Every symbol of an exec program has a name that tells a reader of the emitted
// program what it is: tensors by their ONNX names, generated kernels by what
// they compute.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_NAMES_H
#define LWCC_PASSES_SCHEDULE_NAMES_H

#include "ir/train/Expression.h"
#include "ir/train/Train.h"

#include "llvm/ADT/StringSet.h"

namespace lwcc {

/// Hands out unique names, the same for the same requests.
class Namer {
public:
  /// `name`, or `name_2`, `name_3`, ... if it is taken.
  std::string unique(llvm::StringRef name);

private:
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> next;
};

/// What a tensor is called: its ONNX name, else after its layer.
std::string tensorName(mlir::Value value);

/// Evaluation's tensors have the names of training's, and this.
inline constexpr llvm::StringLiteral evaluateSuffix = ".eval";

/// What an expression computes, in the names of the elementwise table:
/// "relu", "add_relu", "relu_grad", "batch_norm_apply_dropout". "map" if the
/// table has no words for it.
std::string kernelName(const Expression &expression);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_NAMES_H
