//===- SamplePlaces.cpp - In which dimension the samples are --------------===//

#include "passes/differentiate/SamplePlaces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

static ArrayRef<int64_t> lengthsOf(Value value) {
  return typeOf(value).getShape();
}

static MaybeSamples inferReshape(const Samples &from, ArrayRef<int64_t> x,
                                 ArrayRef<int64_t> y, int64_t batch) {
  // In row-major order `ahead` elements' worth of indices come before those of
  // the samples, in both shapes.
  const int64_t ahead = llvm::product_of(x.take_front(from.dim)) * from.outer;
  int64_t before = 1;
  for (int64_t d = 0, rank = y.size(); d < rank; before *= y[d++]) {
    if (ahead % before)
      return std::nullopt;
    const int64_t outer = ahead / before;
    if (y[d] % (outer * batch) == 0)
      return Samples{d, outer, y[d] / (outer * batch)};
  }
  return std::nullopt;
}

MaybeSamples SamplePlaces::inferMap(MapOp map) const {
  const int64_t rank = typeOf(map.getY()).getRank();
  MaybeSamples place;
  for (Value input : map.getInputs()) {
    MaybeSamples own = of(input);
    if (!own)
      continue;
    own->dim += rank - typeOf(input).getRank();
    if (place && *place != *own)
      return std::nullopt;
    place = own;
  }
  return place;
}

MaybeSamples SamplePlaces::infer(Operation *op, int64_t batch) const {
  if (auto map = dyn_cast<MapOp>(op))
    return inferMap(map);
  MaybeSamples from;
  for (Value operand : op->getOperands())
    if (MaybeSamples own = of(operand)) {
      if (from && *from != *own)
        return std::nullopt;
      from = own;
    }
  if (!from || op->getNumResults() == 0)
    return std::nullopt;
  Samples to = *from;
  const int64_t dim = from->dim;
  auto keepsUnless = [&](bool touched) {
    return touched ? std::nullopt : MaybeSamples(to);
  };
  return llvm::TypeSwitch<Operation *, MaybeSamples>(op)
      .Case([&](TransposeOp transpose) {
        to.dim =
            llvm::find(transpose.getPerm(), dim) - transpose.getPerm().begin();
        return MaybeSamples(to);
      })
      .Case([&](ReshapeOp reshape) {
        return inferReshape(*from, lengthsOf(reshape.getX()),
                            lengthsOf(reshape.getY()), batch);
      })
      .Case([&](MatMulOp product) {
        const int64_t rank = typeOf(product.getA()).getRank();
        const bool ofRows =
            dim == rank - 2 && !of(product.getB()) && !product.getTransposeA();
        return keepsUnless(!of(product.getA()) ||
                           (dim >= rank - 2 && !ofRows) ||
                           (product.getBias() && of(product.getBias())));
      })
      .Case([&](ReduceOp reduce) {
        if (typeOf(reduce.getY()).getRank() != typeOf(reduce.getX()).getRank())
          to.dim -= llvm::count_if(reduce.getAxes(),
                                   [&](int64_t axis) { return axis < dim; });
        return keepsUnless(llvm::is_contained(reduce.getAxes(), dim));
      })
      .Case<ReduceMaxOp, SoftmaxOp, ConcatOp, SplitOp>([&](auto along) {
        return keepsUnless(int64_t(along.getAxis()) == dim);
      })
      .Case([&](LayerNormOp norm) {
        return keepsUnless(dim == typeOf(norm.getX()).getRank() - 1);
      })
      .Case([&](SliceOp slice) {
        return keepsUnless(slice.getStep()[dim] != 1 ||
                           lengthsOf(slice.getX())[dim] !=
                               lengthsOf(slice.getY())[dim]);
      })
      .Case([&](PadOp pad) {
        return keepsUnless(pad.getLow()[dim] != 0 ||
                           lengthsOf(pad.getX())[dim] !=
                               lengthsOf(pad.getY())[dim]);
      })
      .Case([&](EmbeddingOp embedding) {
        const MaybeSamples table = of(embedding.getTable());
        return keepsUnless(hasTables(embedding)
                               ? !table || !of(embedding.getAt()) ||
                                     !from->isFirst()
                               : table.has_value());
      })
      .Case([&](DropoutOp) { return MaybeSamples(to); })
      .Case<ConvOp, MaxPoolOp, AvgPoolOp, BatchNormOp, LrnOp>(
          [&](auto) { return keepsUnless(!from->isFirst()); })
      .Default([](Operation *) { return std::nullopt; });
}

MaybeSamples SamplePlaces::follow(Operation *op, int64_t batch) {
  const MaybeSamples samples = infer(op, batch);
  if (samples)
    for (Value result : op->getResults())
      set(result, *samples);
  return samples;
}
