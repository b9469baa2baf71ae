//===- Family.h - What the files of operators share -------------*- C++ -*-===//
//
// Private to this folder. Shapes and lists of numbers that an op needs, each
// with its message, for the verifiers; types and transposes for the gradients;
// which dimension each axis of a tensor is, for the tiles.
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

/// No farther from 0 than the extents of a tensor may be (ir/Size.h), so that
/// they can be added to those.
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

inline RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The gradient before a fused ReLU, which is differentiated from the op's own
/// result y.
Value throughRelu(OpBuilder &builder, Location loc, bool relu, Value dy,
                  Value y);

/// The sum over all dimensions but one.
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

/// Axes of what is known per sample and channel, at the least.
tiling::Axes channelAxes(size_t rank);

/// Of tiles that compute parts of one sum, the first has what is added once.
inline std::optional<tiling::Box> onFirst(tiling::Box region, int64_t index) {
  return index == 0 ? std::optional<tiling::Box>(std::move(region))
                    : std::nullopt;
}

/// A tile of an op all of whose tensors have one shape and are cut like it.
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
