//===- TileRules.h - How an op of a layer is cut ----------------*- C++ -*-===//
//
// Answers, for one op and the tiling of its layer: into how many tiles the op
// is cut along each dimension, and which region of each operand and result a
// tile reads and makes. train-shard makes ops of the answers
// (FunctionSharder.cpp); the planner prices them (passes/plan/model).
//
// The nouns of this room:
//   region    a box of a tensor: an interval [begin, end) per dimension (Box)
//   layer     forward op, backward ops and update that share one tiling
//   tiling    degrees of a layer along n, c, h, w and k, and a place per tile
//   cuts      the degrees that one op of the layer takes over from the tiling
//   tile      one element of the grid of an op's cuts: the op on regions
//   place     node, device and lane where a tile runs and its results lie
//
// An op takes over the layer's degree along each dimension in which it can be
// cut (`extents` and `allows` of TileableOpInterface, ir/train/ops). Along any
// other dimension the op stays whole: its operands are gathered there, which is
// slower and gives the same values. The exception is in cutsOf. Tiles whose
// results overlap make contributions to a sum (Pieces.h).
//
// Does not decide the degrees or the places of tiles (passes/plan), nor how an
// operand's region gets to a tile's device (Pieces.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_TILERULES_H
#define LWCC_PASSES_SHARD_TILERULES_H

#include "ir/train/Train.h"

namespace lwcc::shard {

using namespace lwcc::tiling;
using train::Tile;

/// The degrees of a layer's tiling, with the sizes of unequal parts.
Cuts cutsOf(train::TilingAttr tiling);

Shape shapeOf(mlir::Value value);

/// The extents along which an op can be cut; 1 along a dimension where it
/// cannot be cut.
Grid extentsOf(mlir::Operation *op);

/// The cuts of an op whose layer is cut as `layer` says. The op takes over the
/// layer's degree along each dimension in which it can be cut without an empty
/// part; its degree is 1 along any other. But an op that goes over results
/// (FollowingOp) divides channels, or samples, where its layer divides a
/// reduction: so each device sums a part of them and goes over that.
Cuts cutsOf(mlir::Operation *op, const Cuts &layer);
/// What cutsOf says of an op that goes over a result of these extents.
Cuts cutsOfFollowing(const Grid &extents, const Cuts &layer);

/// The `map` that a ReLU becomes where it is no part of the op whose result it
/// goes over (TakeApart.cpp).
inline constexpr llvm::StringLiteral reluExpression = "max(x0, 0.0f)";

/// Tile `index` of an op; `cuts` is what cutsOf returned for the op.
Tile tileOf(mlir::Operation *op, const Cuts &cuts, const Grid &index);

/// Calls `visit` with the index of each tile of an op, in order (row-major, n
/// outermost), and the number of its layer's tile on whose place it runs.
void forEachTile(
    const Cuts &cuts, const Cuts &layer,
    llvm::function_ref<void(const Grid &index, int64_t number)> visit);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_TILERULES_H
