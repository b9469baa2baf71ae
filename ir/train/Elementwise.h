//===- Elementwise.h - The table of elementwise functions -------*- C++ -*-===//
//
// One row per function: value and derivatives as expressions (Expression.h). A
// new elementwise operator is one row here and one in the importer's table; it
// needs no runtime code, since its kernel is generated into the program.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_ELEMENTWISE_H
#define LWCC_IR_TRAIN_ELEMENTWISE_H

#include "ir/train/Expression.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc {

/// `value` and `gradients` are written over x0, x1, ... (the inputs) and the
/// names of `params`, which are replaced by literals. A gradient may also use
/// dy (the result's gradient) and y (the result, where that is cheaper to keep
/// than an input). A row without gradients cannot be differentiated.
struct ElementwiseFunction {
  llvm::StringRef name;
  unsigned inputs;
  llvm::ArrayRef<llvm::StringRef> params;
  llvm::StringRef value;
  llvm::ArrayRef<llvm::StringRef> gradients;
};

llvm::ArrayRef<ElementwiseFunction> elementwiseFunctions();
const ElementwiseFunction *findElementwise(llvm::StringRef name);

/// `text` (the row's value or one of its gradients) with the values of params
/// as literals; dy becomes input row.inputs, y input row.inputs + 1.
Expression instantiate(const ElementwiseFunction &row, llvm::StringRef text,
                       llvm::function_ref<double(llvm::StringRef)> param);

} // namespace lwcc

#endif // LWCC_IR_TRAIN_ELEMENTWISE_H
