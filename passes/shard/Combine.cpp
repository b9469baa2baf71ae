//===- Combine.cpp - Results of tiles that do not just add up -------------===//
//
// Combines results of an op's tiles that are not contributions to a sum: maxima
// along a cut axis, and batch statistics (mean, variance, inverse deviation) of
// a cut batch or a group of samples that is cut. The devices of the tiles take
// turns in combining (`combined`, Sharder.h).
//
// Sums mostly need nothing here: tiles that overlap are added by Pieces.h, by
// each reader for itself. Those that every tile of a layer reads whole are
// added here, once.
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

/// The sums that the gradient of each tile reads. Groups of samples have their
/// own, of few tiles.
void FunctionSharder::combineSums(BatchNormGradStatsOp op, Tiles &tiles) {
  std::map<Box, SmallVector<PlaceAttr>> regions;
  for (auto &[made, tile] : tiles) {
    addPieces(op, made, tile);
    regions[*tile.results[0]].push_back(placeOf(made->getResult(0)));
  }
  if (op.getGroup())
    return;
  for (auto &[region, places] : regions)
    if (PlaceAttr place = places[combined++ % places.size()]; places.size() > 1)
      for (Value sum : op->getResults())
        pieces.replace(sum, region,
                       pieces.get(sum, region, place, purposeOf(op)));
}

/// The statistics of all samples, or of each group. Where several tiles hold a
/// part of them, these are combined.
void FunctionSharder::combineStatistics(BatchNormStatsOp op, Tiles &tiles) {
  const size_t channelAxis = op.getGroup() == 0 ? 0 : 1;
  std::map<Interval, std::vector<StatisticsPart>> channels;
  for (auto &[made, tile] : tiles) {
    const Box &region = *tile.results[0];
    channels[region[channelAxis]].push_back(
        {cast<BatchNormStatsOp>(made), region, (*tile.operands[0])[0]});
  }
  for (auto &[range, parts] : channels) {
    Box region = parts.front().region;
    if (op.getGroup() == 0) {
      combineStatistics(op, region, parts);
      continue;
    }
    // Between these rows, all groups have the same tiles.
    std::vector<int64_t> rows;
    for (const StatisticsPart &part : parts)
      rows.insert(rows.end(), {part.region[0].begin, part.region[0].end});
    llvm::sort(rows);
    rows.erase(llvm::unique(rows), rows.end());
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      Interval run = {rows[i], rows[i + 1]};
      std::vector<StatisticsPart> meeting;
      llvm::copy_if(parts, std::back_inserter(meeting),
                    [&](const StatisticsPart &part) {
                      return part.region[0].contains(run);
                    });
      region[0] = run;
      combineStatistics(op, region, meeting);
    }
  }
}

/// A region of the statistics from those of tiles, weighted by the numbers of
/// elements. The variance is the mean of each tile's variance plus the squared
/// distance of its mean from the common mean (Chan, Golub, LeVeque, "Updating
/// formulae and a pairwise algorithm for computing sample variances", 1979).
void FunctionSharder::combineStatistics(BatchNormStatsOp op, const Box &region,
                                        ArrayRef<StatisticsPart> parts) {
  // Round-robin over the devices of the tiles.
  PlaceAttr place = placeOf(parts[combined++ % parts.size()].op->getResult(0));
  if (parts.size() == 1) {
    const StatisticsPart &only = parts.front();
    for (auto [whole, own] :
         llvm::zip_equal(op->getResults(), only.op->getResults()))
      pieces.add(whole, only.region, own, region);
    return;
  }
  // Of a group, a tile has the samples that lie in it.
  auto elements = [&](const StatisticsPart &part) {
    Shape x = shapeOf(part.op->getOperand(0));
    int64_t count = part.samples.size();
    if (int64_t group = op.getGroup())
      count = intersect(part.samples, {region[0].begin * group,
                                       (region[0].begin + 1) * group})
                  .size();
    for (int64_t extent : ArrayRef(x).drop_front(2))
      count *= extent;
    return static_cast<double>(count);
  };
  auto partOf = [&](const StatisticsPart &part, unsigned result) {
    return pieces.bring(pieces.cut(part.op->getResult(result), part.region,
                                   region, purposeOf(op)),
                        place, purposeOf(op));
  };
  double all = 0;
  for (const StatisticsPart &part : parts)
    all += elements(part);
  // The maps' inputs: all means, then all variances, then the common mean.
  SmallVector<Value> inputs;
  for (const StatisticsPart &part : parts)
    inputs.push_back(partOf(part, 0));
  std::string meanText, varianceText;
  for (auto [i, part] : llvm::enumerate(parts)) {
    std::string share = floatLiteral(static_cast<float>(elements(part) / all));
    std::string m = "x" + std::to_string(i),
                v = "x" + std::to_string(parts.size() + i),
                d = "(" + m + " - x" + std::to_string(2 * parts.size()) + ")";
    StringRef plus = i ? " + " : "";
    meanText += (plus + share + " * " + m).str();
    varianceText +=
        (plus + share + " * (" + v + " + " + d + " * " + d + ")").str();
  }
  auto map = [&](const std::string &text, ArrayRef<Value> of, unsigned result) {
    Value whole = op->getResult(result);
    MapOp made =
        buildMap(builder, op.getLoc(), typeAt(whole.getType(), region, place),
                 llvm::cantFail(Expression::parse(text)), of);
    describe(made, place, purposeOf(op), nameOf(whole));
    pieces.add(whole, region, made.getY());
    return made.getY();
  };
  Value mean = map(meanText, inputs, 0);
  for (const StatisticsPart &part : parts)
    inputs.push_back(partOf(part, 1));
  inputs.push_back(mean);
  Value variance = map(varianceText, inputs, 1);
  map("1.0f / sqrt(x0 + " + floatLiteral(op.getEpsilon().convertToFloat()) +
          ")",
      {variance}, 2);
}
