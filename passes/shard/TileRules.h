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

#include "passes/shard/Cuts.h"

namespace lwcc::shard {

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

/// The extents along which an op can be cut, 1 where it cannot.
Grid extentsOf(mlir::Operation *op);

/// How an op of a layer is cut: along each dimension as the layer or, where it
/// cannot be or is too short, not at all.
Cuts cutsOf(mlir::Operation *op, const Cuts &layer);

/// Tile `index` of an op that is cut like this (as cutsOf said).
Tile tileOf(mlir::Operation *op, const Cuts &cuts, const Grid &index);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TILERULES_H
