//===- Views.cpp - When a tensor is bytes of another ----------------------===//

#include "passes/schedule/Views.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using exec::stridesOf;

/// The map from row-major index to memory, as the shortest list of (extent,
/// stride): extents of 1 dropped, dimensions that count through merged.
static SmallVector<std::pair<int64_t, int64_t>>
memoryMap(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  SmallVector<std::pair<int64_t, int64_t>> map;
  for (auto [extent, stride] : llvm::zip_equal(shape, strides)) {
    if (extent == 1)
      continue;
    if (!map.empty() && map.back().second == extent * stride)
      map.back() = {map.back().first * extent, stride};
    else
      map.push_back({extent, stride});
  }
  return map;
}

bool lwcc::isReshapeView(RankedTensorType from, RankedTensorType to) {
  return from.getElementType() == to.getElementType() &&
         from.getNumElements() == to.getNumElements() &&
         memoryMap(from.getShape(), stridesOf(from)) ==
             memoryMap(to.getShape(), stridesOf(to));
}

bool lwcc::isTransposeView(RankedTensorType from, RankedTensorType to,
                           ArrayRef<int64_t> perm) {
  SmallVector<int64_t> source = stridesOf(from), permuted;
  for (int64_t dim : perm)
    permuted.push_back(source[dim]);
  return from.getElementType() == to.getElementType() &&
         memoryMap(to.getShape(), permuted) ==
             memoryMap(to.getShape(), stridesOf(to));
}

int64_t lwcc::windowOffset(train::SliceOp slice) {
  return exec::byteOf(cast<RankedTensorType>(slice.getX().getType()),
                      slice.getStart());
}

/// Whether an op can read parts where they are stored: a concat element by
/// element, a sum if all its terms are parts of tensors that lie alike.
static bool readsWindows(Operation *op) {
  auto sum = dyn_cast<train::SumOp>(op);
  if (!sum)
    return isa<train::ConcatOp>(op);
  ArrayRef<int64_t> whole;
  return llvm::all_of(sum.getXs(), [&](Value term) {
    if (auto transfer = term.getDefiningOp<train::TransferOp>())
      term = transfer.getX();
    auto slice = term.getDefiningOp<train::SliceOp>();
    if (!slice)
      return false;
    auto shape = cast<RankedTensorType>(slice.getX().getType()).getShape();
    if (whole.empty())
      whole = shape;
    return whole == shape;
  });
}

bool lwcc::isWindow(train::SliceOp slice) {
  auto whole = cast<RankedTensorType>(slice.getX().getType());
  auto part = cast<RankedTensorType>(slice.getY().getType());
  return !slice->use_empty() &&
         llvm::all_of(slice.getStep(),
                      [](int64_t step) { return step == 1; }) &&
         !partOffset(whole, part, slice.getStart()) &&
         llvm::all_of(slice->getUsers(), [](Operation *user) {
           // Here, or on the device that it goes to.
           if (auto transfer = dyn_cast<train::TransferOp>(user))
             return !transfer->use_empty() &&
                    llvm::all_of(transfer->getUsers(), readsWindows);
           return readsWindows(user);
         });
}

std::optional<SmallVector<int64_t>> lwcc::partsOf(train::ConcatOp concat) {
  auto whole = cast<RankedTensorType>(concat.getY().getType());
  SmallVector<int64_t> begin(whole.getRank(), 0), offsets;
  for (Value operand : concat.getXs()) {
    auto part = cast<RankedTensorType>(operand.getType());
    std::optional<int64_t> offset = partOffset(whole, part, begin);
    if (!offset)
      return std::nullopt;
    offsets.push_back(*offset);
    begin[concat.getAxis()] += part.getDimSize(concat.getAxis());
  }
  return offsets;
}

std::optional<int64_t> lwcc::partOffset(RankedTensorType whole,
                                        RankedTensorType part,
                                        ArrayRef<int64_t> begin) {
  SmallVector<int64_t> strides = stridesOf(whole);
  int64_t offset = exec::byteOf(whole, begin);
  if (offset % exec::arenaAlignment || part.getRank() != whole.getRank() ||
      memoryMap(part.getShape(), strides) !=
          memoryMap(part.getShape(), stridesOf(part)))
    return std::nullopt;
  return offset;
}
