//===- Window.h - Windows of convolutions and pools -------------*- C++ -*-===//
//
// The attributes that Conv, ConvTranspose and the pools share, in any number of
// spatial dimensions. ONNX may state padding indirectly (auto_pad, ceil_mode);
// here it becomes numbers, which the train ops carry.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_WINDOW_H
#define LWCC_FRONTEND_WINDOW_H

#include "frontend/NodeImporter.h"

namespace lwcc {

/// A window over spatial dimensions, one entry each; `pad` has those before all
/// dimensions, then those behind. `output` has the extents of the result.
struct Window {
  Shape kernel, stride, dilation, pad, output;

  size_t rank() const { return kernel.size(); }
  /// Elements that the window spans along a dimension.
  int64_t span(size_t d) const { return dilation[d] * (kernel[d] - 1) + 1; }
  /// The window over dimensions from, ..., from + count - 1 alone.
  Window part(size_t from, size_t count) const;
  /// The window with a dimension of extent 1 in front: in one dimension it
  /// becomes one over images of height 1.
  Window withHeight() const;
};

/// Reads the attributes for an input of these spatial extents. Fails, reported,
/// if they make no sense for it.
mlir::FailureOr<Window> readWindow(NodeImporter &node,
                                   llvm::ArrayRef<int64_t> input, Shape kernel);

/// Those of a transposed convolution, whose `output` is larger than its input:
/// by output_padding, or as output_shape says.
mlir::FailureOr<Window> readTransposedWindow(NodeImporter &node,
                                             llvm::ArrayRef<int64_t> input,
                                             Shape kernel);

} // namespace lwcc

#endif // LWCC_FRONTEND_WINDOW_H
