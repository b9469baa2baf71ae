//===- Elementwise.h - The table of elementwise functions -------*- C++ -*-===//
//
// The table of elementwise functions. A row has a function's value and its
// derivatives as expressions (Expression.h). A new elementwise operator is a
// row here and one in the importer's table (frontend/OnnxOpTable.cpp); its
// kernel is generated into the program, so that the runtime needs no code.
//
// Does not decide which functions become one kernel (passes/differentiate).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_ELEMENTWISE_H
#define LWCC_IR_TRAIN_ELEMENTWISE_H

#include "ir/train/Expression.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"

namespace lwcc {

/// A row of the table. `value` and `gradients` are over x0, x1, ... (the
/// inputs) and the names in `params`, for which literals are substituted. A
/// gradient may also use dy, the gradient of the result, and y, the result,
/// where keeping y costs less than keeping an input; "-" is a gradient that is
/// zero everywhere. A row without gradients is not differentiable.
struct ElementwiseFunction {
  llvm::StringRef name;
  unsigned inputs;
  llvm::ArrayRef<llvm::StringRef> params;
  llvm::StringRef value;
  llvm::ArrayRef<llvm::StringRef> gradients;
};

/// All rows, and the row with this name (null if there is none).
llvm::ArrayRef<ElementwiseFunction> elementwiseFunctions();
const ElementwiseFunction *findElementwise(llvm::StringRef name);

/// The row's value or one of its gradients, as an expression. The words in
/// `params` become literals, dy becomes input number row.inputs, and y the one
/// behind it.
Expression instantiate(const ElementwiseFunction &row, llvm::StringRef text,
                       llvm::function_ref<double(llvm::StringRef)> param);

} // namespace lwcc

#endif // LWCC_IR_TRAIN_ELEMENTWISE_H
