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

/// Indices or degrees of n, c, h, w, k.
using Grid = std::array<int64_t, 5>;

/// How a layer or an op is cut along each of n, c, h, w, k.
struct Cuts {
  Grid degrees = {1, 1, 1, 1, 1};
  /// Proportions of the parts, where they are not equal.
  std::array<std::vector<int64_t>, 5> sizes;

  Interval part(int dim, int64_t extent, int64_t index) const;
  /// Whether no part of such an extent is empty.
  bool fit(int dim, int64_t extent) const;
  bool none() const { return degrees == Grid{1, 1, 1, 1, 1}; }
};

Cuts cutsOf(train::TilingAttr tiling);

/// A tile of an op. What has no region the tile goes without: of an optional
/// operand or result, one tile of several has it.
struct Tile {
  llvm::SmallVector<std::optional<Box>, 4> operands; ///< one per operand
  llvm::SmallVector<std::optional<Box>, 2> results;  ///< one per result
  /// Of a tile that computes more than its part: the part of its only result
  /// that is right.
  std::optional<Box> kept;
  mlir::NamedAttrList attributes; ///< those that differ from the whole op's
};

Shape shapeOf(mlir::Value value);

/// How an op of a layer can be cut: along each dimension as the layer or not at
/// all.
Cuts cutsOf(mlir::Operation *op, const Cuts &layer);

/// Tile `index` of an op that is cut like this (as cutsOf said).
Tile tileOf(mlir::Operation *op, const Cuts &cuts, const Grid &index);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TILERULES_H
