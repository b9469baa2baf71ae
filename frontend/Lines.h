//===- Lines.h - Tensors as lines along one axis ----------------*- C++ -*-===//
//
// What importers share that compare all elements of an axis with each other or
// with places on it. Decides in which order lines stand: samples first.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_LINES_H
#define LWCC_FRONTEND_LINES_H

#include "frontend/NodeImporter.h"

namespace lwcc {

/// Tensors as lines along one axis: [n, m, extent], where n are the samples if
/// they are in front, so that what is made of them can be cut along these.
class Lines {
public:
  Lines(NodeImporter &node, llvm::ArrayRef<int64_t> shape, int64_t axis);

  int64_t number() const { return count; }
  mlir::Value split(mlir::Value x) const;
  /// Back, with another extent along the axis.
  mlir::Value join(mlir::Value lines) const;
  /// The elements of a row-major list, line by line.
  std::vector<int64_t> split(llvm::ArrayRef<int64_t> elements,
                             llvm::ArrayRef<int64_t> shape) const;

private:
  NodeImporter &node;
  Shape perm, moved;
  int64_t samples, count;
};

/// 0, 1, ... along an axis; null after reporting.
mlir::Value placesAlong(NodeImporter &node, int64_t extent);

} // namespace lwcc

#endif // LWCC_FRONTEND_LINES_H
