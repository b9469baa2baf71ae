//===- Rewrites.h - Operators composed of others ----------------*- C++ -*-===//
//
// What importers of composed operators share: each function makes one or a few
// train ops for a node. Shapes have been checked by the importer; a function
// returns null only where an operand is null or the node was reported.
//
// Decides how elements are taken by indices that are known at compile time: as
// slices where these are few runs, else as a product with a matrix of zeros and
// ones. A product reads all elements, so that NaN spreads along the axis.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_REWRITES_H
#define LWCC_FRONTEND_REWRITES_H

#include "frontend/NodeImporter.h"

namespace lwcc::rewrite {

/// Whether a table of rows * columns entries may be made while compiling;
/// reports and returns false above the limit. A file can ask for any extents.
bool admitTable(NodeImporter &node, int64_t rows, int64_t columns);
/// The sum or mean over ascending axes, which are kept with extent 1.
mlir::Value reduceKept(NodeImporter &node, mlir::Value x,
                       llvm::ArrayRef<int64_t> axes, bool mean);
/// The largest elements over ascending axes, which are kept with extent 1. Ties
/// share the gradient, as of torch.amax.
mlir::Value maximumKept(NodeImporter &node, mlir::Value x,
                        llvm::ArrayRef<int64_t> axes);
mlir::Value transpose(NodeImporter &node, mlir::Value x,
                      llvm::ArrayRef<int64_t> perm);
/// x repeated to a shape that its own broadcasts to.
mlir::Value expand(NodeImporter &node, mlir::Value x,
                   llvm::ArrayRef<int64_t> shape);
/// Each element (or, by `whole`, the whole axis) `count` times along an axis.
mlir::Value repeat(NodeImporter &node, mlir::Value x, int64_t axis,
                   int64_t count, bool whole);
mlir::Value concat(NodeImporter &node, mlir::ValueRange values, int64_t axis);
/// Elements start, start + step, ... (`extent` of them) along an axis.
mlir::Value slice(NodeImporter &node, mlir::Value x, int64_t axis,
                  int64_t start, int64_t extent, int64_t step = 1);
/// Elements indices[0], indices[1], ... along an axis; each is in the extent.
mlir::Value take(NodeImporter &node, mlir::Value x, int64_t axis,
                 llvm::ArrayRef<int64_t> indices);
/// y[.., i, ..] = sum over j of matrix[i, j] * x[.., j, ..] along an axis. The
/// matrix has `rows` rows, row-major.
mlir::Value multiply(NodeImporter &node, mlir::Value x, int64_t axis,
                     int64_t rows, std::vector<float> matrix);

} // namespace lwcc::rewrite

#endif // LWCC_FRONTEND_REWRITES_H
