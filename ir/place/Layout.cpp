//===- Layout.cpp - How tensors lie in memory -----------------------------===//

#include "ir/place/Layout.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using llvm::ArrayRef;
using llvm::SmallVector;

SmallVector<int64_t> tiling::stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size());
  int64_t next = 1;
  auto place = [&](size_t dim) {
    strides[dim] = next;
    next *= shape[dim];
  };
  if (shape.size() == 4)
    llvm::for_each(ArrayRef<size_t>{1, 3, 2, 0}, place);
  else
    for (size_t dim = shape.size(); dim-- > 0;)
      place(dim);
  return strides;
}

SmallVector<std::pair<int64_t, int64_t>>
tiling::memoryMap(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
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

std::optional<int64_t> tiling::partOffset(ArrayRef<int64_t> whole,
                                          ArrayRef<int64_t> part,
                                          ArrayRef<int64_t> begin,
                                          int64_t elementBytes) {
  if (part.size() != whole.size())
    return std::nullopt;
  SmallVector<int64_t> strides = stridesOf(whole);
  int64_t offset = 0;
  for (auto [index, stride] : llvm::zip_equal(begin, strides))
    offset += index * stride * elementBytes;
  if (offset % arenaAlignment ||
      memoryMap(part, strides) != memoryMap(part, stridesOf(part)))
    return std::nullopt;
  return offset;
}
