//===- VerifyWindows.cpp - Ops with windows over images -------------------===//
//
// Convolutions and poolings, forward and backward: that windows and images fit,
// and that positions and taps of a window can be multiplied by its steps.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Expect.h"

using namespace lwcc;
using namespace lwcc::train;
using namespace lwcc::train::expect;

namespace {

/// Windows over two spatial dimensions.
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

  /// How far the positions of a result reach; for ops that the result alone is
  /// known of.
  LogicalResult checkPositions(Operation *op, Value y) const {
    return success(succeeded(expectRank(op, "output", y, 4)) &&
                   succeeded(checkReach(op, "the positions of the window",
                                        shapeOf(y).drop_front(2), stride)));
  }

  /// Of `counts` steps along each dimension.
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

  /// Positions of the window along a dimension, counted with floor or ceil. A
  /// window that is larger than the input overhangs as the last one may: that
  /// is all that some tiles have.
  int64_t positions(int dim, int64_t extent, bool ceil) const {
    int64_t room = extent + pad[dim] + pad[dim + 2] -
                   (dilation[dim] * (kernel[dim] - 1) + 1);
    if (room < 0)
      return ceil ? 1 : 0;
    return (room + (ceil ? stride[dim] - 1 : 0)) / stride[dim] + 1;
  }
};

/// Result of a pooling: with ceil_mode the last window may overhang.
template <typename Pool>
LogicalResult verifyPool(Pool op) {
  Windows windows{op.getKernel(), op.getDilation(), op.getPad(),
                  op.getStride()};
  if (failed(expectRank(op, "input", op.getX(), 4)) ||
      failed(windows.check(op)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(op.getX()), y = shapeOf(op.getY());
  Shape floor{x[0], x[1]}, ceil{x[0], x[1]};
  for (int dim : {0, 1}) {
    floor.push_back(windows.positions(dim, x[2 + dim], false));
    ceil.push_back(windows.positions(dim, x[2 + dim], true));
  }
  bool fits = y.size() == 4 && y[0] == x[0] && y[1] == x[1];
  for (int dim : {2, 3})
    fits = fits && y[dim] >= 1 && y[dim] >= floor[dim] && y[dim] <= ceil[dim];
  if (fits)
    return success();
  InFlightDiagnostic diag = op.emitOpError() << "result has shape " << text(y)
                                             << "; expected " << text(floor);
  if (ceil != floor)
    diag << " or, with ceil_mode, " << text(ceil);
  return diag;
}

/// Of the op that has them as its result, only the gradient is known.
template <typename Gradient>
LogicalResult verifyGradient(Gradient op, ArrayRef<int64_t> kernel) {
  Windows windows{kernel, op.getDilation(), op.getPad(), op.getStride()};
  return success(succeeded(windows.check(op)) &&
                 succeeded(windows.checkPositions(op, op.getDy())));
}

} // namespace

LogicalResult ConvOp::verify() {
  if (failed(expectRank(*this, "input", getX(), 4)) ||
      failed(expectRank(*this, "weights", getW(), 4)))
    return failure();
  ArrayRef<int64_t> x = shapeOf(getX()), w = shapeOf(getW());
  Windows windows{w.drop_front(2), getDilation(), getPad(), getStride()};
  if (failed(windows.check(*this)))
    return failure();
  int64_t group = getGroup();
  if (group <= 0 || x[1] % group || w[0] % group || w[1] != x[1] / group)
    return emitOpError() << "weights " << text(w) << " in " << group
                         << " groups do not fit an input of " << x[1]
                         << " channels";
  if (getBias() && failed(expectShape(*this, "bias", getBias(), {w[0]})))
    return failure();
  return expectShape(*this, "result", getY(),
                     {x[0], w[0], windows.positions(0, x[2], false),
                      windows.positions(1, x[3], false)});
}

LogicalResult MaxPoolOp::verify() {
  if (failed(verifyPool(*this)))
    return failure();
  std::optional<int64_t> taps = elementCount(getKernel());
  if (!taps)
    return emitOpError() << "kernel is " << text(getKernel())
                         << "; its taps cannot be counted";
  bool bytes = *taps <= 256;
  auto index = cast<RankedTensorType>(getIndex().getType());
  if (index.getElementType().isInteger(8) != bytes)
    return emitOpError() << "index has elements of type "
                         << index.getElementType() << "; expected "
                         << (bytes ? "ui8" : "i32") << " for windows of "
                         << *taps << " taps";
  return expectShape(*this, "index", getIndex(), shapeOf(getY()));
}

LogicalResult AvgPoolOp::verify() { return verifyPool(*this); }

LogicalResult BatchNormOp::verify() {
  ArrayRef<int64_t> x = shapeOf(getX());
  if (x.size() < 2)
    return emitOpError() << "input has rank " << x.size()
                         << "; expected at least 2";
  const std::pair<StringRef, Value> perChannel[] = {
      {"scale", getScale()},
      {"bias", getBias()},
      {"running_mean", getRunningMean()},
      {"running_variance", getRunningVariance()},
      {"mean", getMean()},
      {"invstd", getInvstd()},
      {"new_mean", getNewMean()},
      {"new_variance", getNewVariance()}};
  for (auto [what, value] : perChannel)
    if (failed(expectShape(*this, what, value, {x[1]})))
      return failure();
  return expectShape(*this, "result", getY(), x);
}

LogicalResult ConvGradInputOp::verify() {
  if (failed(expectRank(*this, "weights", getW(), 4)) ||
      failed(expectRank(*this, "result", getDx(), 4)))
    return failure();
  return verifyGradient(*this, shapeOf(getW()).drop_front(2));
}

LogicalResult ConvGradWeightOp::verify() {
  if (failed(expectRank(*this, "input", getX(), 4)) ||
      failed(expectRank(*this, "result", getDw(), 4)))
    return failure();
  return verifyGradient(*this, shapeOf(getDw()).drop_front(2));
}

LogicalResult MaxPoolGradOp::verify() {
  if (failed(expectRank(*this, "result", getDx(), 4)) ||
      failed(expectShape(*this, "index", getIndex(), shapeOf(getDy()))))
    return failure();
  return verifyGradient(*this, getKernel());
}

LogicalResult AvgPoolGradOp::verify() {
  if (failed(expectRank(*this, "result", getDx(), 4)))
    return failure();
  return verifyGradient(*this, getKernel());
}
