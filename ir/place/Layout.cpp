//===- Layout.cpp - How tensors lie in memory -----------------------------===//

#include "ir/place/Layout.h"

using namespace lwcc;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The dimensions of a stored tensor, neighbours in memory first.
static SmallVector<size_t, 6> storedOrder(size_t rank) {
  if (rank == 4)
    return {1, 3, 2, 0};
  SmallVector<size_t, 6> order;
  for (size_t dim = rank; dim-- > 0;)
    order.push_back(dim);
  return order;
}

SmallVector<int64_t> tiling::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t next = 1;
  for (size_t dim : storedOrder(shape.size())) {
    strides[dim] = next;
    next *= shape[dim];
  }
  return strides;
}

std::optional<int64_t> tiling::partOffset(ArrayRef<int64_t> whole,
                                          ArrayRef<int64_t> part,
                                          ArrayRef<int64_t> begin,
                                          int64_t elementBytes) {
  if (part.size() != whole.size())
    return std::nullopt;
  int64_t offset = 0, stride = elementBytes;
  bool isCut = false; // along a dimension before
  for (size_t dim : storedOrder(whole.size())) {
    if (isCut && part[dim] > 1)
      return std::nullopt;
    isCut |= part[dim] != whole[dim];
    offset += begin[dim] * stride;
    stride *= whole[dim];
  }
  if (offset % arenaAlignment)
    return std::nullopt;
  return offset;
}

std::optional<int64_t> tiling::partOffset(const Box &whole, const Box &part,
                                          int64_t elementBytes) {
  SmallVector<int64_t, 5> begin, outer, inner;
  for (size_t d = 0; d < whole.size(); ++d) {
    begin.push_back(part[d].begin - whole[d].begin);
    outer.push_back(whole[d].size());
    inner.push_back(part[d].size());
  }
  return partOffset(outer, inner, begin, elementBytes);
}
