//===- ClipGradients.cpp - Gradients that are clipped, in parts -----------===//
//
// Makes clip_gradients of what updates it: each part of a gradient is summed on
// the device that updates the part, and clipped there. The norm of all of them
// is a sum over the parts, of which one device makes the factor for all.
//
// Does not decide which parts there are (Updates.cpp).
//
//===----------------------------------------------------------------------===//

#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

void FunctionSharder::clipGradients(ClipGradientsOp clip,
                                    const PartsOfUpdates &updates) {
  const Purpose purpose = purposeOf(clip);
  auto map = [&](const std::string &text, Value whole, const Box &region,
                 PlaceAttr place, ValueRange inputs, Purpose wanted,
                 StringRef suffix = "") {
    MapOp made =
        buildMap(builder, clip.getLoc(), typeAt(whole.getType(), region, place),
                 llvm::cantFail(Expression::parse(text)), inputs);
    describe(made, place, wanted, (nameOf(whole) + suffix).str());
    return made.getY();
  };

  struct Sum {
    Purpose purpose; ///< the update's
    Value clipped;   ///< what the update reads, in the unsharded function
    Box region;
    Value sum;
  };
  std::vector<Sum> sums;
  for (const auto &[update, parts] : updates) {
    const Purpose own = purposeOf(update);
    Value clipped = cast<UpdateOpInterface>(update).getGradientTerms()[0].get();
    const unsigned number = cast<OpResult>(clipped).getResultNumber();
    Value gradient = clip.getGs()[number - 2];
    pieces.setCopies(clipped);
    for (const UpdatedPart &part : parts) {
      SmallVector<Value> terms = gradientTerms(gradient, part, own);
      PlaceAttr place = placeForTerms(terms, part.place);
      Value sum = terms.front();
      if (terms.size() > 1) {
        auto made = SumOp::create(
            builder, clip.getLoc(),
            typeAt(gradient.getType(), part.region, place), terms);
        describe(made, place, own, nameOf(gradient));
        sum = made.getY();
      }
      sums.push_back({own, clipped, part.region, sum});
      if (!part.isFirst)
        continue;
      Value squares = map("x0 * x0", gradient, part.region, place, {sum},
                          purpose, ".squares");
      SmallVector<int64_t> axes(part.region.size());
      std::iota(axes.begin(), axes.end(), 0);
      auto total = ReduceOp::create(
          builder, clip.getLoc(),
          typeAt(clip.getSquares().getType(), Box(), place), squares, axes,
          /*mean=*/false);
      describe(total, place, purpose, nameOf(clip.getSquares()));
      pieces.add(clip.getSquares(), {}, total);
    }
  }
  PlaceAttr first = updates.front().second.front().place;
  Value squares = pieces.get(clip.getSquares(), {}, first, purpose);
  pieces.setCopies(clip.getFactor());
  pieces.add(clip.getFactor(), {},
             map("min(1.0f, " +
                     floatLiteral(clip.getMaxNorm().convertToFloat()) +
                     " / (sqrt(x0) + 1e-6f))",
                 clip.getFactor(), {}, first, {squares}, purpose));
  for (const auto &[own, clipped, region, sum] : sums) {
    PlaceAttr place = shard::placeOf(sum);
    Value factor = pieces.get(clip.getFactor(), {}, place, purpose);
    pieces.add(clipped, region,
               map("x0 * x1", clipped, region, place, {sum, factor}, own));
  }
}
