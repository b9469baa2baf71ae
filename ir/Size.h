//===- Size.h - How large a tensor may be -----------------------*- C++ -*-===//
//
// The one place that multiplies extents. Everything behind the importer and the
// parser of IR may rely on it: a tensor has at most maxBytes, so that products
// of its extents, byte offsets in it and sums over a program fit into int64_t.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_SIZE_H
#define LWCC_IR_SIZE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace lwcc {

/// Of a tensor, of an arena and of a program: 256 TiB, far above any machine.
inline constexpr int64_t maxBytes = int64_t(1) << 48;
/// Of a tensor, whatever its element type.
inline constexpr int64_t maxElements = maxBytes / 8;
/// Of a tensor: the runtime's limit (runtime/core/Tensor.h).
inline constexpr size_t maxTensorRank = 8;

/// Number of elements; none for a negative extent or more than maxElements. An
/// empty tensor is held to that limit as if its empty dimensions had one
/// element, so that its strides and the products of its other extents fit, too.
inline std::optional<int64_t> elementCount(llvm::ArrayRef<int64_t> extents) {
  int64_t count = 1;
  bool isEmpty = false;
  for (int64_t extent : extents) {
    isEmpty |= extent == 0;
    if (extent < 0 ||
        llvm::MulOverflow(count, std::max<int64_t>(1, extent), count) ||
        count > maxElements)
      return std::nullopt;
  }
  return isEmpty ? 0 : count;
}

/// Adds `more` to `sum` if that stays within maxBytes.
inline bool addBytes(int64_t &sum, int64_t more) {
  int64_t result;
  if (more < 0 || llvm::AddOverflow(sum, more, result) || result > maxBytes)
    return false;
  sum = result;
  return true;
}

} // namespace lwcc

#endif // LWCC_IR_SIZE_H
