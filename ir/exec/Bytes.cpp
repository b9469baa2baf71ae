//===- Bytes.cpp - Bytes of tensors and buffers ---------------------------===//
//
// Sizes, strides and distances of stored tensors (Exec.h). Rank-4 tensors lie
// channels-last, all others row-major; a window has its parent's strides.
//
// Does not decide where a buffer lies (passes/memory), nor check that it fits
// (passes/verify/Layout.h).
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "ir/train/Train.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

int64_t lwcc::exec::bytesOf(RankedTensorType type) {
  return type.getNumElements() * train::elementBytes(type);
}

std::pair<BufferOp, int64_t> lwcc::exec::rootOf(BufferOp buffer,
                                                SymbolTable &symbols) {
  int64_t distance = 0;
  while (auto parent = buffer.getViewOf()) {
    distance += buffer.getOffset();
    buffer = symbols.lookup<BufferOp>(*parent);
  }
  return {buffer, distance};
}

llvm::SmallVector<int64_t> lwcc::exec::stridesOf(RankedTensorType type) {
  llvm::SmallVector<int64_t> strides(type.getRank());
  int64_t next = 1;
  auto place = [&](int64_t dim) {
    strides[dim] = next;
    next *= type.getDimSize(dim);
  };
  if (isChannelsLast(type))
    llvm::for_each(ArrayRef<int64_t>{1, 3, 2, 0}, place);
  else
    for (int64_t dim = type.getRank() - 1; dim >= 0; --dim)
      place(dim);
  return strides;
}

int64_t lwcc::exec::byteOf(RankedTensorType type, ArrayRef<int64_t> element) {
  int64_t offset = 0;
  for (auto [index, stride] : llvm::zip_equal(element, stridesOf(type)))
    offset += index * stride;
  return offset * train::elementBytes(type);
}

int64_t lwcc::exec::spanOf(BufferOp buffer, SymbolTable &symbols) {
  if (!buffer.getWindow() || buffer.getBytes() == 0)
    return buffer.getBytes();
  auto whole = symbols.lookup<BufferOp>(*buffer.getViewOf());
  RankedTensorType type = whole.getTensorType();
  auto last = llvm::map_to_vector(buffer.getTensorType().getShape(),
                                  [](int64_t extent) { return extent - 1; });
  return byteOf(type, last) + train::elementBytes(type);
}
