//===- Windows.h - Ops with windows over images -----------------*- C++ -*-===//
//
// Shared by convolution and pooling, private to this folder: checks of kernel,
// stride, dilation and padding, the number of positions of a window, and the
// input region that the windows of a tile read (the halo included).
//
// Does not decide how images are cut, and has no index arithmetic of single
// windows (`Window` in ir/place/Box.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_OPS_WINDOWS_H
#define LWCC_IR_TRAIN_OPS_WINDOWS_H

#include "ir/place/Box.h"
#include "ir/train/ops/Family.h"

#include <array>

namespace lwcc::train::family {

using tiling::Box;
using tiling::Cuts;
using tiling::Interval;
using tiling::Window;
using tiling::WindowPart;

/// The attributes of windows over height and width.
struct Windows {
  ArrayRef<int64_t> kernel, dilation, pad, stride;

  LogicalResult check(Operation *op) const {
    return success(
        succeeded(expectSize(op, "kernel", kernel, 2)) &&
        succeeded(expectSize(op, "dilation", dilation, 2)) &&
        succeeded(expectSize(op, "pad", pad, 4)) &&
        succeeded(expectSize(op, "stride", stride, 2)) &&
        succeeded(expectPositive(op, "kernel", kernel)) &&
        succeeded(expectPositive(op, "dilation", dilation)) &&
        succeeded(expectPositive(op, "stride", stride)) &&
        succeeded(expectModest(op, "pad", pad)) &&
        succeeded(checkReach(op, "the taps of the window", kernel, dilation)));
  }

  /// Checks how far the positions of an output reach. For ops whose input is
  /// unknown and only the output is known: gradients.
  LogicalResult checkPositions(Operation *op, Value y) const {
    return success(succeeded(expectRank(op, "output", y, 4)) &&
                   succeeded(checkReach(op, "the positions of the window",
                                        shapeOf(y).drop_front(2), stride)));
  }

  /// Checks that `counts` steps along each dimension stay below the largest
  /// tensor.
  static LogicalResult checkReach(Operation *op, StringRef what,
                                  ArrayRef<int64_t> counts,
                                  ArrayRef<int64_t> steps) {
    for (auto [count, step] : llvm::zip_equal(counts, steps)) {
      int64_t reach = 0;
      if (count > 0 &&
          (llvm::MulOverflow(count - 1, step, reach) || reach > maxBytes))
        return op->emitOpError() << what << ", " << count << " by steps of "
                                 << step << ", reach beyond any tensor";
    }
    return success();
  }

  /// The number of positions of the window along a dimension, rounded down or
  /// up. If the window is larger than the input, rounding up gives one position
  /// that overhangs: some tiles have no other.
  int64_t positions(int dim, int64_t extent, bool ceil) const {
    int64_t room = extent + pad[dim] + pad[dim + 2] -
                   (dilation[dim] * (kernel[dim] - 1) + 1);
    if (room < 0)
      return ceil ? 1 : 0;
    return (room + (ceil ? stride[dim] - 1 : 0)) / stride[dim] + 1;
  }
};

/// Checks the attributes of an op that reads the gradient of a windowed op's
/// output, and not its input.
template <typename Gradient>
LogicalResult verifyGradient(Gradient op, ArrayRef<int64_t> kernel) {
  Windows windows{kernel, op.getDilation(), op.getPad(), op.getStride()};
  return success(succeeded(windows.check(op)) &&
                 succeeded(windows.checkPositions(op, op.getDy())));
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The input region of a tile in height and width, and the padding of the tile.
struct Patch {
  std::array<Interval, 2> in;
  std::array<int64_t, 4> pad; ///< top, left, bottom, right
};

/// The window along height (d = 0) or width (d = 1) of an input.
template <typename OpT>
Window windowOf(OpT op, ArrayRef<int64_t> in, std::array<int64_t, 2> kernel,
                int d) {
  return {.extent = in[2 + d],
          .kernel = kernel[d],
          .stride = op.getStride()[d],
          .dilation = op.getDilation()[d],
          .padLow = op.getPad()[d],
          .padHigh = op.getPad()[2 + d]};
}

/// The patch of a tile whose output region is `out`. An axis that is not cut
/// keeps its whole input, even elements that no window reads.
template <typename OpT>
Patch patchOf(OpT op, ArrayRef<int64_t> in, std::array<int64_t, 2> kernel,
              const Box &out, const Cuts &cuts) {
  Patch patch;
  for (int d = 0; d < 2; ++d) {
    patch.in[d] = {0, in[2 + d]};
    patch.pad[d] = op.getPad()[d];
    patch.pad[2 + d] = op.getPad()[2 + d];
    if (cuts.degrees[tiling::h + d] == 1)
      continue;
    WindowPart part = inputOf(windowOf(op, in, kernel, d), out[2 + d]);
    patch.in[d] = part.in;
    patch.pad[d] = part.padLow;
    patch.pad[2 + d] = part.padHigh;
  }
  return patch;
}

template <typename OpT>
void setPad(Tile &tile, OpT op, const Patch &patch) {
  if (!llvm::equal(op.getPad(), patch.pad))
    tile.attributes.set(op.getPadAttrName(),
                        DenseI64ArrayAttr::get(op.getContext(), patch.pad));
}

} // namespace lwcc::train::family

#endif // LWCC_IR_TRAIN_OPS_WINDOWS_H
