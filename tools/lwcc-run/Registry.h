//===- Registry.h - Runtime functions by name -------------------*- C++ -*-===//
//
// Calls a function of runtime/core/Ops.h from the attributes of an exec.call.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_RUN_REGISTRY_H
#define LWCC_TOOLS_RUN_REGISTRY_H

#include "runtime/core/Machine.h"
#include "runtime/core/Ops.h"

#include "mlir/IR/BuiltinAttributes.h"

namespace lwcc {

using Invoke = void (*)(rt::Lane &lane, llvm::ArrayRef<rt::Tensor> outs,
                        llvm::ArrayRef<rt::Tensor> ins,
                        mlir::DictionaryAttr params);

/// Null for `map` and unknown names. A parameter that the function does not
/// have is a bug of the lowering: asserted.
Invoke findInvoke(llvm::StringRef name);

} // namespace lwcc

#endif // LWCC_TOOLS_RUN_REGISTRY_H
