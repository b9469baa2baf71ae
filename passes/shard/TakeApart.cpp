//===- TakeApart.cpp - What a tile cannot do alone ------------------------===//
//
// Replaces ops whose result on a tile is not a part of their result on the
// whole, in the function that is about to be sharded:
// - a product or convolution with a fused ReLU that is cut along k: ReLU of
//   partial sums is not ReLU of their sum, so the ReLU becomes an op of its own
//   behind the sum;
// - a mean loss that is cut along n: it divides by the weights of all samples,
//   so it becomes a sum of losses and a division;
// - what reads all classes, cut along c: TakeClassesApart.cpp.
//
// Changes no op whose tiles are independent, and decides no cuts.
//===----------------------------------------------------------------------===//

#include "passes/shard/TakeApart.h"
#include "passes/shard/Sharder.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::shard;
using namespace lwcc::train;

void Substitute::describe(Operation *made, StringRef name) {
  setWork(made, layerOf(op), phaseOf(op));
  setNames(made, {name});
  made->setAttr(tilingAttr, op->getAttr(tilingAttr));
}

Value Substitute::map(StringRef name, StringRef text, ValueRange inputs) {
  SmallVector<ArrayRef<int64_t>> shapes;
  for (Value input : inputs)
    shapes.push_back(cast<RankedTensorType>(input.getType()).getShape());
  MapOp map = buildMap(builder, op->getLoc(),
                       tensorOf(op->getContext(), *broadcast(shapes)),
                       llvm::cantFail(Expression::parse(text)), inputs);
  describe(map, name);
  return map.getY();
}

Value Substitute::sum(StringRef name, Value of, ArrayRef<int64_t> axes,
                      bool keep) {
  Shape shape;
  for (auto [d, extent] : llvm::enumerate(shapeOf(of)))
    if (!llvm::is_contained(axes, static_cast<int64_t>(d)))
      shape.push_back(extent);
    else if (keep)
      shape.push_back(1);
  return create<ReduceOp>(name, tensorOf(op->getContext(), shape), of, axes,
                          /*mean=*/false)
      .getY();
}

Value shard::overDivisor(Substitute &make, StringRef name, Value sum,
                         Value divisor) {
  return make.map(name, "x0 / x1", {sum, divisor});
}

/// The name of the sum of losses whose mean is called `mean`.
static std::string sumOf(StringRef mean) {
  return mean.empty() ? "" : (mean + ".sum").str();
}

template <typename OpT>
static void splitOffRelu(OpT op) {
  op.setRelu(false);
  Value result = op->getResult(0);
  Substitute make(op);
  make.builder.setInsertionPointAfter(op);
  Value relu = make.map(nameOf(result), "max(x0, 0.0f)", {result});
  result.replaceAllUsesExcept(relu, relu.getDefiningOp());
}

template <typename OpT>
static void splitOffMean(OpT op) {
  op.setSum(true);
  Substitute make(op);
  Value divisor = divisorOf(make, op), sum = op.getLoss();
  make.builder.setInsertionPointAfter(op);
  std::string name = nameOf(sum).str();
  Value mean = overDivisor(make, name, sum, divisor);
  sum.replaceAllUsesExcept(mean, mean.getDefiningOp());
  if (auto names = op->template getAttrOfType<ArrayAttr>(namesAttr)) {
    auto renamed =
        llvm::to_vector(names.template getAsValueRange<StringAttr>());
    std::string ofSum = sumOf(name);
    renamed[cast<OpResult>(sum).getResultNumber()] = ofSum;
    setNames(op, renamed);
  }
}

template <typename OpT>
static void splitOffMeanGrad(OpT op) {
  op.setSum(true);
  Substitute make(op);
  Value divisor = divisorOf(make, op);
  // Without a name, a value is named after its layer; this is that name
  // (passes/schedule/Names.h).
  StringRef name = nameOf(op.getDloss());
  op.getDlossMutable().assign(overDivisor(
      make, name.empty() ? ("d_" + layerOf(op) + ".sum").str() : sumOf(name),
      op.getDloss(), divisor));
}

/// Whether an op is cut along the dimension that it normalizes over or compares
/// labels with.
static bool isCutAlongClasses(Operation *op, const Cuts &cuts) {
  auto alongAxis = [&](auto softmax) {
    int dim = usualAxes(shapeOf(softmax.getY()))[softmax.getAxis()];
    return dim != none && cuts.degrees[dim] > 1;
  };
  return TypeSwitch<Operation *, bool>(op)
      .Case<SoftmaxOp, SoftmaxGradOp>(alongAxis)
      .Default([&](Operation *) { return cuts.degrees[c] > 1; });
}

void shard::takeApart(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling)
      continue;
    Cuts cuts = cutsOf(&op, cutsOf(tiling));
    if (cuts.none())
      continue;
    if (isCutAlongClasses(&op, cuts) && takeClassesApart(&op))
      continue;
    bool partialSums = cuts.degrees[k] > 1;
    TypeSwitch<Operation *>(&op)
        .Case<ConvOp, MatMulOp>([&](auto op) {
          if (op.getRelu() && partialSums)
            splitOffRelu(op);
        })
        .Case<CrossEntropyOp, NllLossOp>([](auto op) {
          if (!op.getSum())
            splitOffMean(op);
        })
        .Case<CrossEntropyGradOp, NllLossGradOp>([](auto op) {
          if (!op.getSum())
            splitOffMeanGrad(op);
        });
  }
}
