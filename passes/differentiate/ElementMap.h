//===- ElementMap.h - Where the elements of a value come from ---*- C++ -*-===//
//
// Follows a value back over reshapes, transposes, splits and slices to the
// value that these rearrange, and says at which of its elements, counted
// row-major, each element of the first lies: at an offset, with a stride for
// each dimension. Says nothing of layouts in memory.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_ELEMENTMAP_H
#define LWCC_PASSES_DIFFERENTIATE_ELEMENTMAP_H

#include "ir/train/Train.h"

#include <optional>

namespace lwcc {

struct ElementMap {
  mlir::Value root;
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; ///< one for each dimension of the value
  /// The op that reads the root; null if the value is the root.
  mlir::Operation *reader = nullptr;
};

/// As far back as elements along each dimension are at equal distances; of a
/// dimension of extent 1 the stride is 0.
ElementMap elementsOf(mlir::Value value);

} // namespace lwcc

#endif // LWCC_PASSES_DIFFERENTIATE_ELEMENTMAP_H
