//===- ShapeRules.h - Shapes of ONNX's data movement ------------*- C++ -*-===//
//
// The result shapes of Reshape, Squeeze, Slice and their like. FoldMovement.cpp
// uses them for nodes that are evaluated at compile time, ImportShape.cpp for
// nodes that become ops. A function that returns none has written the reason to
// `error`.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_SHAPERULES_H
#define LWCC_FRONTEND_SHAPERULES_H

#include "frontend/HostTensor.h"

namespace lwcc {

/// An axis in [-rank, rank) as one in [0, rank).
std::optional<int64_t> normalizeAxis(int64_t axis, int64_t rank,
                                     std::string &error);
std::optional<Shape> normalizeAxes(llvm::ArrayRef<int64_t> axes, int64_t rank,
                                   std::string &error);
/// ONNX's Reshape: 0 copies, -1 is what remains.
std::optional<Shape> reshapedShape(llvm::ArrayRef<int64_t> from,
                                   llvm::ArrayRef<int64_t> target,
                                   bool allowZero, std::string &error);
std::optional<Shape> flattenedShape(llvm::ArrayRef<int64_t> from, int64_t axis,
                                    std::string &error);
/// Without `axes`, all dimensions of extent 1 are removed.
std::optional<Shape> squeezedShape(llvm::ArrayRef<int64_t> from,
                                   std::optional<Shape> axes,
                                   std::string &error);
std::optional<Shape> unsqueezedShape(llvm::ArrayRef<int64_t> from,
                                     llvm::ArrayRef<int64_t> axes,
                                     std::string &error);

/// An index in [-extent, extent) as one in [0, extent).
std::optional<int64_t> placeOf(int64_t index, int64_t extent,
                               std::string &error);
/// Of GatherND and ScatterND: the places that tuples of `indices` name, in the
/// row-major order of the dimensions of `shape` that they count.
std::optional<Shape> placesOf(llvm::ArrayRef<int64_t> shape,
                              const HostTensor &indices, std::string &error);
/// GatherND's indices that are given for each element of the first dimensions
/// of `shape`, with these in front of each tuple.
std::optional<HostTensor> withBatchDims(llvm::ArrayRef<int64_t> shape,
                                        const HostTensor &indices,
                                        int64_t batchDims, std::string &error);

/// start, step and extent of a slice, per dimension.
struct SliceBounds {
  Shape start, step, extent;
};
std::optional<SliceBounds>
sliceBounds(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> starts,
            llvm::ArrayRef<int64_t> ends, std::optional<Shape> axes,
            std::optional<Shape> steps, std::string &error);

/// Walks a result row-major and yields the element of an operand that numpy's
/// broadcasting rule reads.
class BroadcastReader {
public:
  BroadcastReader(llvm::ArrayRef<int64_t> operand,
                  llvm::ArrayRef<int64_t> result)
      : result(result), strides(result.size(), 0) {
    Shape own = stridesOf(operand);
    size_t extra = result.size() - operand.size();
    for (size_t d = 0; d < operand.size(); ++d)
      strides[extra + d] = operand[d] == 1 ? 0 : own[d];
  }
  int64_t operator()(int64_t linear) const {
    int64_t at = 0;
    for (int64_t d = int64_t(result.size()) - 1; d >= 0; --d) {
      at += linear % result[d] * strides[d];
      linear /= result[d];
    }
    return at;
  }

private:
  llvm::ArrayRef<int64_t> result;
  Shape strides;
};

} // namespace lwcc

#endif // LWCC_FRONTEND_SHAPERULES_H
