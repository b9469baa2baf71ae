//===- Layout.h - How tensors lie in memory ---------------------*- C++ -*-===//
//
// How a tensor is stored, as arithmetic on shapes: of rank 4, an image, it is
// channels-last, else row-major. And which of its parts are dense there, so
// that they need no copy. For types, ir/exec asks the same.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PLACE_LAYOUT_H
#define LWCC_IR_PLACE_LAYOUT_H

#include "ir/place/Box.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace lwcc::tiling {

/// The alignment in bytes of offsets in an arena: what every kernel accepts.
inline constexpr int64_t arenaAlignment = 256;

/// The distance in elements between neighbours along each dimension.
llvm::SmallVector<int64_t> stridesOf(llvm::ArrayRef<int64_t> shape);

/// The offset in bytes of the part of a tensor that begins at `begin`. Nothing
/// unless the part is stored there as a dense tensor, at a multiple of
/// arenaAlignment.
std::optional<int64_t> partOffset(llvm::ArrayRef<int64_t> whole,
                                  llvm::ArrayRef<int64_t> part,
                                  llvm::ArrayRef<int64_t> begin,
                                  int64_t elementBytes);

/// The same of a part's box within that of the tensor.
std::optional<int64_t> partOffset(const Box &whole, const Box &part,
                                  int64_t elementBytes);

} // namespace lwcc::tiling

#endif // LWCC_IR_PLACE_LAYOUT_H
