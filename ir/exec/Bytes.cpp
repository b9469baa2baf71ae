//===- Bytes.cpp - Bytes of tensors and buffers ---------------------------===//
//
// Sizes, strides and distances of stored tensors (Exec.h, ir/place/Layout.h). A
// window has its parent's strides.
//
// Does not decide where a buffer lies (passes/memory), nor check that it fits
// (passes/verify/Layout.h).
//
//===----------------------------------------------------------------------===//

#include "ir/exec/Exec.h"
#include "ir/place/Layout.h"
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
  while (FlatSymbolRefAttr parent = buffer.getViewOfAttr()) {
    distance += buffer.getOffset();
    buffer = symbols.lookup<BufferOp>(parent.getAttr());
  }
  return {buffer, distance};
}

llvm::SmallVector<int64_t> lwcc::exec::stridesOf(RankedTensorType type) {
  return tiling::stridesOf(type.getShape());
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
  auto whole = symbols.lookup<BufferOp>(buffer.getViewOfAttr().getAttr());
  RankedTensorType type = whole.getTensorType();
  auto last = llvm::map_to_vector(buffer.getTensorType().getShape(),
                                  [](int64_t extent) { return extent - 1; });
  return byteOf(type, last) + train::elementBytes(type);
}
