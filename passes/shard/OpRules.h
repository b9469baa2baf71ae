//===- OpRules.h - The rules of single ops ----------------------*- C++ -*-===//
//
// Along which extents an op can be cut, and its tiles: the overloads behind the
// table of TileRules.cpp. Each knows the dimension, if any, of every axis of
// every tensor of its op. A reduced dimension of a gradient (the samples, in a
// weight's) is cut like any other: its tiles make the same region, so a sum.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_OPRULES_H
#define LWCC_PASSES_SHARD_OPRULES_H

#include "passes/shard/TileRules.h"

namespace lwcc::shard {

// ConvRules.cpp: convolution, pooling.
Grid extentsOfConv(mlir::Operation *convolution);
/// Whether parts of the output channels are whole groups or lie in one each.
bool groupsAllow(mlir::Operation *convolution, const Cuts &cuts);
/// Whether each part of height or width looks at some of the input.
bool windowsAllow(mlir::Operation *convolution, const Cuts &cuts, int dim);
Tile tileOfWindowed(mlir::Operation *op, const Cuts &cuts, const Grid &index);

// MoveRules.cpp: what moves data.
Grid extentsOf(train::ReshapeOp op);
Tile tileOf(train::ReshapeOp op, const Cuts &cuts, const Grid &index);
Tile tileOf(train::TransposeOp op, const Cuts &cuts, const Grid &index);
Tile tileOf(train::ConcatOp op, const Cuts &cuts, const Grid &index);
Tile tileOf(train::SplitOp op, const Cuts &cuts, const Grid &index);
Tile tileOf(train::PadOp op, const Cuts &cuts, const Grid &index);
Tile tileOf(train::SliceOp op, const Cuts &cuts, const Grid &index);
Tile tileOf(train::SliceGradOp op, const Cuts &cuts, const Grid &index);

// TileRules.cpp: the operand or result of a loss op with the shape of the
// logits.
mlir::Value logitsOf(mlir::Operation *op);

/// Of tiles that compute parts of one sum, the first has what is added once.
inline std::optional<Box> onFirst(Box region, int64_t index) {
  return index == 0 ? std::optional<Box>(std::move(region)) : std::nullopt;
}

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_OPRULES_H
