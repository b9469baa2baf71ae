//===- Combine.cpp - Results of tiles that do not just add up -------------===//
//
// Combines results of an op's tiles that are not contributions to a sum: maxima
// along a cut axis, and batch statistics (mean, variance, inverse deviation) of
// a cut batch. The devices of the tiles take turns in combining (`combined`,
// Sharder.h). Sums need nothing here: tiles that overlap are added by Pieces.h.
//
// Does not decide what is cut.
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

void FunctionSharder::combineMaxima(ReduceMaxOp op, Tiles &tiles) {
  std::map<Box, SmallVector<Value>> regions;
  for (auto &[made, tile] : tiles)
    regions[*tile.results[0]].push_back(made->getResult(0));
  for (auto &[region, parts] : regions) {
    if (parts.size() > 1) {
      PlaceAttr place = placeOf(parts[combined++ % parts.size()]);
      std::string text = "x0";
      for (auto [i, part] : llvm::enumerate(parts)) {
        part = pieces.bring(part, place, purposeOf(op));
        if (i > 0)
          text = "max(" + text + ", x" + std::to_string(i) + ")";
      }
      MapOp made = buildMap(builder, op.getLoc(),
                            typeAt(op.getY().getType(), region, place),
                            llvm::cantFail(Expression::parse(text)), parts);
      describe(made, place, purposeOf(op), nameOf(op.getY()));
      parts[0] = made.getY();
    }
    pieces.add(op.getY(), region, parts[0]);
  }
}

/// Batch statistics of all samples and pixels from those of the tiles, weighted
/// by their numbers of elements. The variance is the mean of each tile's
/// variance plus the squared distance of its mean from the common mean (Chan,
/// Golub, LeVeque, "Updating formulae and a pairwise algorithm for computing
/// sample variances", 1979).
void FunctionSharder::combineStatistics(BatchNormStatsOp op, Tiles &tiles) {
  std::map<Interval, SmallVector<BatchNormStatsOp>> channels;
  for (auto &[made, tile] : tiles)
    channels[(*tile.results[0])[0]].push_back(cast<BatchNormStatsOp>(made));
  for (auto &[range, parts] : channels) {
    // Round-robin over the devices of the tiles.
    PlaceAttr place = placeOf(parts[combined++ % parts.size()].getMean());
    Value mean = parts.front().getMean(),
          variance = parts.front().getVariance(),
          invstd = parts.front().getInvstd();
    if (parts.size() > 1) {
      auto elements = [](Value x) {
        return static_cast<double>(
            cast<RankedTensorType>(x.getType()).getNumElements());
      };
      double all = 0;
      for (BatchNormStatsOp part : parts)
        all += elements(part.getX());
      // The maps' inputs: all means, then all variances, then the common mean.
      SmallVector<Value> inputs;
      for (BatchNormStatsOp part : parts)
        inputs.push_back(pieces.bring(part.getMean(), place, purposeOf(op)));
      std::string meanText, varianceText;
      for (auto [i, part] : llvm::enumerate(parts)) {
        std::string share =
            floatLiteral(static_cast<float>(elements(part.getX()) / all));
        std::string m = "x" + std::to_string(i),
                    v = "x" + std::to_string(parts.size() + i),
                    d = "(" + m + " - x" + std::to_string(2 * parts.size()) +
                        ")";
        StringRef plus = i ? " + " : "";
        meanText += (plus + share + " * " + m).str();
        varianceText +=
            (plus + share + " * (" + v + " + " + d + " * " + d + ")").str();
      }
      auto map = [&](const std::string &text, ArrayRef<Value> of,
                     unsigned result) {
        Value whole = op->getResult(result);
        MapOp made = buildMap(builder, op.getLoc(),
                              typeAt(whole.getType(), {range}, place),
                              llvm::cantFail(Expression::parse(text)), of);
        describe(made, place, purposeOf(op), nameOf(whole));
        return made.getY();
      };
      mean = map(meanText, inputs, 0);
      for (BatchNormStatsOp part : parts)
        inputs.push_back(
            pieces.bring(part.getVariance(), place, purposeOf(op)));
      inputs.push_back(mean);
      variance = map(varianceText, inputs, 1);
      invstd = map("1.0f / sqrt(x0 + " +
                       floatLiteral(op.getEpsilon().convertToFloat()) + ")",
                   {variance}, 2);
    }
    addPiece(cast<OpResult>(op.getMean()), {range}, mean);
    addPiece(cast<OpResult>(op.getVariance()), {range}, variance);
    addPiece(cast<OpResult>(op.getInvstd()), {range}, invstd);
  }
}
