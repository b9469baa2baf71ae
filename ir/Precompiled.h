//===- Precompiled.h - What nearly every file of the compiler includes ----===//
//
// MLIR's and LLVM's headers take three quarters of the time in which one of our
// files compiles, so they are parsed once (lwcc_precompile in CMakeLists.txt).
// No source names this file, and none may count on it: each includes what it
// uses, which clang-tidy sees, because it runs without it (tools/style.py). Of
// our own headers only that of the operators is here, which nearly all include:
// a change of any compiles everything anew.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PRECOMPILED_H
#define LWCC_IR_PRECOMPILED_H

#include "ir/train/Train.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#endif // LWCC_IR_PRECOMPILED_H
