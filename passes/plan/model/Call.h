//===- Call.h - Runtime calls as costs look at them -------------*- C++ -*-===//
//
// How much work a runtime call is on tensors of known shapes, and the key that
// tells calls apart whose times may differ.
//
// Two callers ask for that: BuildGraph.cpp for tiles of ops before there is a
// program, ReadProgram.cpp for the calls of a program. Both get the same
// answers. So what was measured in one program prices plans that were never
// run.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_CALL_H
#define LWCC_PASSES_PLAN_MODEL_CALL_H

#include "ir/exec/Exec.h"
#include "passes/plan/model/Program.h"
#include "passes/shard/TileRules.h"

namespace lwcc::plan {

struct Call {
  llvm::StringRef name; ///< of the runtime function
  /// What it is; null for an op that is no call of its own.
  const train::Kernel *kernel;
  llvm::StringRef expression; ///< of a map
  llvm::function_ref<mlir::Attribute(llvm::StringRef name)> parameter;
  /// The regions that it reads and makes; absent tensors are left out.
  const train::Tile &tile;
  /// Whether each operand lies on another device. Empty: none does.
  llvm::ArrayRef<bool> elsewhere = {};
};

/// Given the bytes of the call's operands and of its results.
Work workOf(const Call &call, double bytesRead, double bytesMade);

/// The key of a call, by which a profile knows it, such as "conv stride=4x4
/// 64x64x55x55 < 64x3x224x224 64x3x11x11": the function, the fields on
/// which its time depends (Kernel::pricedFields; padding is not one), the
/// shapes of results and operands. An operand on another device has an @.
std::string keyOf(const Call &call);

/// The work and the key of a tile of an op.
Work workOf(mlir::Operation *op, const train::Tile &tile);
std::string keyOf(mlir::Operation *op, const train::Tile &tile);

/// The work of a tile of the ReLU that stands behind partial sums
/// (../../shard/TakeApart.cpp); `withKey`: with its key.
Work workOfRelu(mlir::Value result, const tiling::Box &box, bool withKey);

/// A call of a program.
PricedCall describe(exec::CallOp call, mlir::SymbolTable &symbols);

/// The call that an op of the form `sharded` is going to be; `withKey`: with
/// the key of its work. Nothing if it will be no call: it reads or writes a
/// parameter, or its result may be a view of its operand.
std::optional<PricedCall> describe(mlir::Operation *op, bool withKey);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_CALL_H
