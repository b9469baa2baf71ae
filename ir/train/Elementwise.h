//===- Elementwise.h - The table of elementwise functions -------*- C++ -*-===//
//
// One row per function: value and derivatives as expressions (Expression.h). A
// new elementwise operator is one row here and one in the importer's table; it
// needs no runtime code, since its kernel is generated into the program.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_ELEMENTWISE_H
#define LWCC_IR_TRAIN_ELEMENTWISE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc {

/// `value` and `gradients` are written over x0, x1, ... (the inputs) and the
/// names of `params`, which are replaced by literals. A gradient may also use
/// dy (the result's gradient) and y (the result, where that is cheaper to keep
/// than an input). An empty gradient means zero.
struct ElementwiseFunction {
  llvm::StringRef name;
  unsigned inputs;
  llvm::ArrayRef<llvm::StringRef> params;
  llvm::StringRef value;
  llvm::ArrayRef<llvm::StringRef> gradients;
};

llvm::ArrayRef<ElementwiseFunction> elementwiseFunctions();
const ElementwiseFunction *findElementwise(llvm::StringRef name);

} // namespace lwcc

#endif // LWCC_IR_TRAIN_ELEMENTWISE_H
