//===- TileRules.h - How an op of a layer is cut ----------------*- C++ -*-===//
//
// A layer is cut along its dimensions as the plan says; each of its ops is cut
// like it where it can be. What an op can do is said by the op itself
// (TileableOpInterface, ir/train/ops): in which dimensions it can be cut, and
// for a tile which regions of its operands it reads and of its results it
// makes. A result whose tiles overlap is a sum of contributions. Where an op
// cannot be cut along a dimension it is whole there: what it reads is brought
// together, which is slower and gives the same values.
//
// Decides nothing about devices (Sharder.h) and degrees (passes/plan).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_TILERULES_H
#define LWCC_PASSES_SHARD_TILERULES_H

#include "ir/train/Train.h"

namespace lwcc::shard {

using namespace lwcc::tiling;
using train::Tile;

Cuts cutsOf(train::TilingAttr tiling);

Shape shapeOf(mlir::Value value);

/// The extents along which an op can be cut, 1 where it cannot.
Grid extentsOf(mlir::Operation *op);

/// How an op of a layer is cut: along each dimension as the layer or, where it
/// cannot be or is too short, not at all.
Cuts cutsOf(mlir::Operation *op, const Cuts &layer);

/// Tile `index` of an op that is cut like this (as cutsOf said).
Tile tileOf(mlir::Operation *op, const Cuts &cuts, const Grid &index);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TILERULES_H
