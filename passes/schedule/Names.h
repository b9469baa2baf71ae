//===- Names.h - Names of buffers and kernels -------------------*- C++ -*-===//
//
// Decides the symbols of an exec program: a buffer is called after the ONNX
// name of its tensor, a generated kernel after what its expression computes.
//
// The names that the emitted text has for these symbols are codegen/Names.h. No
// pass reads a name.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_NAMES_H
#define LWCC_PASSES_SCHEDULE_NAMES_H

#include "ir/train/Expression.h"
#include "ir/train/Train.h"

#include "llvm/ADT/StringSet.h"

namespace lwcc {

/// Makes names unique. Equal requests in equal order give equal names.
class Namer {
public:
  /// `name`, or `name_2`, `name_3`, ... if it is taken.
  std::string unique(llvm::StringRef name);

private:
  llvm::StringSet<> taken;
  llvm::StringMap<unsigned> next;
};

/// The name of a tensor: its ONNX name, or a name made of its layer and phase.
std::string tensorName(mlir::Value value);

/// The suffix that distinguishes the tensors of @evaluate from those of
/// @train_step.
inline constexpr llvm::StringLiteral evaluateSuffix = ".eval";

/// The name of a generated kernel: the names of the rows of the elementwise
/// table (ir/train/Elementwise.h) that its expression consists of, as in
/// "relu", "add_relu", "relu_grad", "batch_norm_apply_dropout". "map" if no row
/// matches.
std::string kernelName(const Expression &expression);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_NAMES_H
