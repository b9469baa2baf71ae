//===- Expect.h - What the verifiers of train ops ask -----------*- C++ -*-===//
//
// Shapes and lists of numbers that an op needs, each with its message. Private
// to the verifiers.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_EXPECT_H
#define LWCC_IR_TRAIN_EXPECT_H

#include "ir/Size.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"

namespace lwcc::train::expect {

using namespace mlir;
using Shape = SmallVector<int64_t>;

inline ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

inline std::string text(ArrayRef<int64_t> shape) {
  std::string result = "[";
  llvm::raw_string_ostream os(result);
  llvm::interleaveComma(shape, os);
  return result + "]";
}

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

} // namespace lwcc::train::expect

#endif // LWCC_IR_TRAIN_EXPECT_H
