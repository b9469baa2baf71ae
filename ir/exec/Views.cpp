//===- Views.cpp - When a tensor is bytes of another ----------------------===//

#include "ir/exec/Readers.h"
#include "ir/place/Layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace mlir;
using namespace lwcc;
using exec::stridesOf;

/// The function from row-major index to address, as the shortest list of
/// (extent, stride): extents of 1 are dropped, contiguous dimensions merged.
/// Equal lists are equal functions.
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

bool lwcc::isRearrangedView(const train::Movement &movement,
                            RankedTensorType from, RankedTensorType to) {
  return movement.kind == train::Movement::reshape ? isReshapeView(from, to)
         : movement.kind == train::Movement::permute
             ? isTransposeView(from, to, movement.perm)
             : false;
}

int64_t lwcc::windowOffset(train::SliceOp slice) {
  return exec::byteOf(cast<RankedTensorType>(slice.getX().getType()),
                      slice.getStart());
}

/// The slice that makes a term of a sum, on this device or the one from which
/// the term is transferred.
static train::SliceOp sliceOf(Value term) {
  if (auto transfer = term.getDefiningOp<train::TransferOp>())
    term = transfer.getX();
  return term.getDefiningOp<train::SliceOp>();
}

/// Whether a slice is a candidate for a window, whatever its readers are.
static bool mayBeWindow(train::SliceOp slice) {
  auto whole = cast<RankedTensorType>(slice.getX().getType());
  auto part = cast<RankedTensorType>(slice.getY().getType());
  return !slice->use_empty() && llvm::all_of(slice.getStep(), [](int64_t step) {
    return step == 1;
  }) && !partOffset(whole, part, slice.getStart());
}

bool lwcc::isWindow(train::SliceOp slice) {
  // A concat reads its operands one by one. A sum reads all its terms with the
  // same strides. So either all terms of a sum are windows of tensors of one
  // shape or none is, and this spreads over sums that share terms: the loop
  // visits all slices connected in this way.
  llvm::SetVector<Operation *> slices;
  slices.insert(slice);
  auto shapeOf = [](Operation *op) {
    return cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  };
  llvm::SmallPtrSet<Operation *, 4> sums; // a sum has the same answer for all
  auto reads = [&](Operation *user) {
    auto kernel = dyn_cast<train::KernelOpInterface>(user);
    train::Parts parts = kernel ? kernel.parts() : train::Parts::never;
    if (parts != train::Parts::alike)
      return parts == train::Parts::each;
    if (!sums.insert(user).second)
      return true; // so far: it has put its terms into the list
    return llvm::all_of(user->getOperands(), [&](Value term) {
      train::SliceOp other = sliceOf(term);
      if (!other || shapeOf(other) != shapeOf(slice))
        return false;
      slices.insert(other);
      return true;
    });
  };
  // NOLINTNEXTLINE(modernize-loop-convert): the list grows meanwhile.
  for (size_t i = 0; i < slices.size(); ++i)
    if (!mayBeWindow(cast<train::SliceOp>(slices[i])) ||
        !llvm::all_of(slices[i]->getUsers(), [&](Operation *user) {
          auto transfer = dyn_cast<train::TransferOp>(user);
          return transfer ? !transfer->use_empty() &&
                                llvm::all_of(transfer->getUsers(), reads)
                          : reads(user);
        }))
      return false;
  return true;
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
  return tiling::partOffset(whole.getShape(), part.getShape(), begin,
                            train::elementBytes(whole));
}

bool lwcc::takesCall(Operation *op) {
  if (auto transfer = dyn_cast<train::TransferOp>(op))
    return !isReadElsewhere(transfer);
  if (auto concat = dyn_cast<train::ConcatOp>(op))
    return !partsOf(concat);
  auto typeOf = [](Value value) {
    return cast<RankedTensorType>(value.getType());
  };
  train::Movement movement = train::movementOf(op);
  switch (movement.kind) {
  case train::Movement::reshape:
  case train::Movement::permute:
    return !isRearrangedView(movement, typeOf(op->getOperand(0)),
                             typeOf(op->getResult(0)));
  case train::Movement::parts: {
    auto slice = dyn_cast<train::SliceOp>(op);
    bool isDense =
        llvm::all_of(movement.step, [](int64_t step) { return step == 1; });
    return !(slice && isWindow(slice)) &&
           !(isDense &&
             llvm::all_of(llvm::zip_equal(op->getResults(), movement.begins),
                          [&](auto part) {
                            return partOffset(typeOf(op->getOperand(0)),
                                              typeOf(std::get<0>(part)),
                                              std::get<1>(part))
                                .has_value();
                          }));
  }
  default:
    return op->getNumResults() > 0;
  }
}
