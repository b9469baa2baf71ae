//===- Interfaces.h - What is asked of a train op ---------------*- C++ -*-===//
//
// The interfaces of TrainInterfaces.td, the plain types in which they answer,
// and how to ask what the name of a runtime function stands for. The dialect
// exec, plans, the printer and lwcc-run know operators by this header alone.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_INTERFACES_H
#define LWCC_IR_TRAIN_INTERFACES_H

#include "ir/place/Cuts.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace lwcc::train {

/// How many tensors a call makes or reads: so many, then perhaps a list of any
/// length.
struct Arity {
  unsigned single = 0;
  bool list = false;

  bool takes(size_t count) const {
    return list ? count >= single : count == single;
  }
};

/// How a result and an operand of a call may lie in one memory.
enum class Sharing {
  forbidden, ///< they do not overlap
  allowed,   ///< they may be the same bytes
  required   ///< they are: an update in place
};

/// Whether a call reads operands that are parts of tensors where they lie, with
/// the strides of the whole.
enum class Parts {
  never, ///< all operands are dense
  each,  ///< each with its own strides
  alike  ///< all with the same strides
};

/// The sizes of a call's tensors, or of a tile's parts of them, and the fields
/// that it says. What is absent has no box.
struct CallShape {
  llvm::ArrayRef<std::optional<tiling::Box>> results, operands;
  llvm::function_ref<mlir::Attribute(llvm::StringRef name)> field;
};

/// A product of m rows, n columns and k terms; `flops` may differ from 2mnk.
struct Arithmetic {
  double flops = 0;
  double m = 0, n = 0, k = 0;

  static Arithmetic product(double m, double n, double k) {
    return {2 * m * n * k, m, n, k};
  }
};

/// The types of a call's tensors, and the fields that it says. What is absent
/// has no type.
struct CallTypes {
  llvm::ArrayRef<mlir::RankedTensorType> results, operands;
  llvm::function_ref<mlir::Attribute(llvm::StringRef name)> field;
};

/// What becomes of the elements of a call that moves them and changes none.
struct Movement {
  enum Kind {
    none,    ///< it computes
    copy,    ///< each result is the operand of its number
    reshape, ///< the result is the operand in row-major order
    permute, ///< dimension d of the result is dimension perm[d] of the operand
    parts,   ///< result i is the part of the operand from begins[i], by `step`
    join     ///< operand i is the part of the result from begins[i]
  };
  Kind kind = none;
  llvm::SmallVector<int64_t> perm, step;
  llvm::SmallVector<llvm::SmallVector<int64_t>> begins;
};

/// A tile of an op. What has no region the tile goes without: of an optional
/// operand or result, one tile of several has it.
struct Tile {
  llvm::SmallVector<std::optional<tiling::Box>, 4> operands; ///< one each
  llvm::SmallVector<std::optional<tiling::Box>, 2> results;  ///< one each
  /// Of a tile that computes more than its part: the part of its only result
  /// that is right.
  std::optional<tiling::Box> kept;
  mlir::NamedAttrList attributes; ///< those that differ from the whole op's
};

/// Marks ops of the backward pass.
template <typename ConcreteOp>
class GradientOp : public mlir::OpTrait::TraitBase<ConcreteOp, GradientOp> {};
/// Marks ops that go once over their operands, with no weights that would be
/// worth a tiling of their own: a layer of such ops is cut like the layer that
/// it reads.
template <typename ConcreteOp>
class FollowingOp : public mlir::OpTrait::TraitBase<ConcreteOp, FollowingOp> {};

/// The default that the record of an op gives to one of its attributes.
template <typename ConcreteOp>
mlir::Attribute defaultFieldOf(mlir::MLIRContext *context,
                               llvm::StringRef field) {
  using Properties = typename mlir::PropertiesSelector<ConcreteOp>::type;
  if constexpr (std::is_same_v<Properties, mlir::EmptyProperties>) {
    return {};
  } else {
    Properties values{};
    ConcreteOp::populateDefaultProperties(
        mlir::OperationName(ConcreteOp::getOperationName(), context), values);
    return ConcreteOp::getInherentAttr(context, values, field)
        .value_or(mlir::Attribute());
  }
}

} // namespace lwcc::train

#include "ir/train/TrainInterfaces.h.inc"

namespace lwcc::train {

/// A runtime function, by what the op of its name says of it. Its members are
/// the methods of KernelOpInterface.
using Kernel = KernelOpInterface::Concept;

/// Null for a name that is no runtime function.
const Kernel *findKernel(mlir::MLIRContext *context, llvm::StringRef name);

/// The names of all runtime functions.
llvm::SmallVector<llvm::StringRef> kernelNames(mlir::MLIRContext *context);

/// How an op moves elements; `none` for one that is no call.
Movement movementOf(mlir::Operation *op);

/// The operand in whose memory a result of an op must lie (an update in place).
std::optional<unsigned> tiedOperand(mlir::Operation *op, unsigned result);

/// Whether a result of an op may overwrite an operand if nobody reads that
/// later. Both have the same type.
bool mayOverwrite(mlir::Operation *op, unsigned result, unsigned operand);

} // namespace lwcc::train

#endif // LWCC_IR_TRAIN_INTERFACES_H
