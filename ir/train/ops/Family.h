//===- Family.h - What the files of operators share -------------*- C++ -*-===//
//
// Helpers that the files of this folder share, private to it: checks of shapes
// and attributes with their messages (verifiers), types and common ops
// (gradients), axes and regions (tiles), extents (arithmetic).
//
// Each operator family has one file here: verifier, folder, gradient, cut rule
// and arithmetic of its ops (ir/train/README.md, "What an operator is"). Does
// not decide how a layer is cut (passes/plan).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_OPS_FAMILY_H
#define LWCC_IR_TRAIN_OPS_FAMILY_H

#include "ir/Size.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"

namespace lwcc::train::family {

using namespace mlir;
using Dims = SmallVector<int64_t>;

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

inline std::string text(ArrayRef<int64_t> shape) {
  std::string result = "[";
  llvm::raw_string_ostream os(result);
  llvm::interleaveComma(shape, os);
  return result + "]";
}

/// A list among the fields of a call, empty if there is none.
inline Dims listOf(const CallTypes &call, StringRef name) {
  auto list = dyn_cast_or_null<DenseI64ArrayAttr>(call.field(name));
  return list ? Dims(list.asArrayRef()) : Dims();
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

inline LogicalResult expectShape(Operation *op, StringRef what, Value value,
                                 ArrayRef<int64_t> expected) {
  if (shapeOf(value) == expected)
    return success();
  return op->emitOpError() << what << " has shape " << text(shapeOf(value))
                           << "; expected " << text(expected);
}

inline LogicalResult expectRank(Operation *op, StringRef what, Value value,
                                int64_t expected) {
  int64_t rank = shapeOf(value).size();
  if (rank == expected)
    return success();
  return op->emitOpError() << what << " has rank " << rank << "; expected "
                           << expected;
}

inline LogicalResult expectSize(Operation *op, StringRef what,
                                ArrayRef<int64_t> list, size_t expected) {
  if (list.size() == expected)
    return success();
  return op->emitOpError() << what << " has " << list.size()
                           << " entries; expected " << expected;
}

inline LogicalResult expectPositive(Operation *op, StringRef what,
                                    ArrayRef<int64_t> list) {
  for (int64_t entry : list)
    if (entry <= 0)
      return op->emitOpError()
             << what << " is " << text(list) << "; expected positive numbers";
  return success();
}

/// Checks that numbers are no farther from 0 than an extent can be (ir/Size.h),
/// so that adding them to extents cannot overflow.
inline LogicalResult expectModest(Operation *op, StringRef what,
                                  ArrayRef<int64_t> list) {
  for (int64_t entry : list)
    if (entry < -maxElements || entry > maxElements)
      return op->emitOpError()
             << what << " is " << text(list) << "; no tensor has such extents";
  return success();
}

inline LogicalResult expectAxis(Operation *op, int64_t axis, Value x) {
  int64_t rank = shapeOf(x).size();
  if (axis >= 0 && axis < rank)
    return success();
  return op->emitOpError() << "axis is " << axis << "; expected 0 to "
                           << rank - 1;
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

/// The gradient in front of a fused ReLU: 0 where y <= 0, else dy. The
/// op's own result y is the ReLU's result.
Value throughRelu(OpBuilder &builder, Location loc, bool relu, Value dy,
                  Value y);

/// The sum over all dimensions but `channel`.
Value sumToChannel(OpBuilder &builder, Location loc, Value value,
                   int64_t channel);

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

inline tiling::Grid extentsAlong(const tiling::Axes &axes, Value value) {
  return tiling::extentsAlong(axes, shapeOf(value));
}
inline tiling::Axes usualAxes(Value value) {
  return tiling::usualAxes(shapeOf(value));
}
inline tiling::Box cut(const tiling::Axes &axes, Value value,
                       const tiling::Cuts &cuts, const tiling::Grid &index) {
  return tiling::cut(axes, shapeOf(value), cuts, index);
}
inline tiling::Box wholeOf(Value value) {
  return tiling::wholeOf(shapeOf(value));
}

/// The dimensions of a tensor's axes as far as they are samples, channels and,
/// of images, height and width; the others are never cut.
tiling::Axes channelAxes(size_t rank);

/// The region of an operand that is added once (a bias): the first of several
/// tiles that make partial sums has it, the others do not.
inline std::optional<tiling::Box> onFirst(tiling::Box region, int64_t index) {
  return index == 0 ? std::optional<tiling::Box>(std::move(region))
                    : std::nullopt;
}

/// The tile of an op whose operands and results all have one shape and are cut
/// alike.
Tile alikeTile(Operation *op, const tiling::Cuts &cuts,
               const tiling::Grid &index);

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

inline double extent(const std::optional<tiling::Box> &box, size_t d) {
  return box ? static_cast<double>((*box)[d].size()) : 0;
}
inline double volume(const std::optional<tiling::Box> &box) {
  return box ? tiling::volume(*box) : 0;
}

} // namespace lwcc::train::family

#endif // LWCC_IR_TRAIN_OPS_FAMILY_H
