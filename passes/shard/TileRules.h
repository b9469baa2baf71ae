//===- TileRules.h - How an op is cut into tiles ----------------*- C++ -*-===//
//
// One rule per kind of op: in which of its layer's dimensions it can be cut,
// and for a tile which regions of its operands it reads and of its results it
// makes. A result whose tiles overlap is a sum of contributions. Where a rule
// cannot cut an op along a dimension, the op is whole there: what it reads is
// brought together, which is slower and gives the same values.
//
// Decides nothing about devices (Sharder.h) and degrees (passes/plan).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_TILERULES_H
#define LWCC_PASSES_SHARD_TILERULES_H

#include "ir/train/Train.h"
#include "passes/shard/Box.h"

#include <array>

namespace lwcc::shard {

/// Indices or degrees of n, c, h, w.
using Grid = std::array<int64_t, 4>;

/// A tile of an op.
struct Tile {
  llvm::SmallVector<Box, 4> operands; ///< one per operand
  llvm::SmallVector<Box, 2> results;  ///< one per result
  mlir::NamedAttrList attributes;     ///< those that differ from the whole op's
};

Shape shapeOf(mlir::Value value);

/// The degrees along which the op can be cut, each that of the layer or 1.
Grid degreesOf(mlir::Operation *op, const Grid &layer);

/// Tile `index` of an op that is cut into `degrees` (as degreesOf gave them).
Tile tileOf(mlir::Operation *op, const Grid &degrees, const Grid &index);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TILERULES_H
