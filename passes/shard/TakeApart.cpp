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

Value shard::divisorOf(Substitute &make, LabelLossOpInterface op) {
  return make
      .create<LossWeightOp>("loss_weight", tensorOf(op->getContext(), {}),
                            op.getLabels(), op.getWeight(),
                            shapeOf(op.getScores())[1], op.getIgnoreIndex())
      .getSum();
}

static void splitOffRelu(FusedReluOpInterface op) {
  op.setRelu(false);
  Value result = op->getResult(0);
  Substitute make(op);
  make.builder.setInsertionPointAfter(op);
  Value relu = make.map(nameOf(result), reluExpression, {result});
  result.replaceAllUsesExcept(relu, relu.getDefiningOp());
}

static void splitOffMean(LabelLossOpInterface op) {
  op.setSum(true);
  Substitute make(op);
  Value divisor = divisorOf(make, op);
  if (OpOperand *gradient = op.getLossGradient()) {
    // Without a name: as it is called after its layer
    // (passes/schedule/Names.h).
    StringRef name = nameOf(gradient->get());
    gradient->set(overDivisor(
        make, name.empty() ? ("d_" + layerOf(op) + ".sum").str() : sumOf(name),
        gradient->get(), divisor));
    return;
  }
  Value sum = op->getResult(0);
  make.builder.setInsertionPointAfter(op);
  std::string name = nameOf(sum).str();
  Value mean = overDivisor(make, name, sum, divisor);
  sum.replaceAllUsesExcept(mean, mean.getDefiningOp());
  if (auto names = op->getAttrOfType<ArrayAttr>(namesAttr)) {
    auto renamed = llvm::to_vector(names.getAsValueRange<StringAttr>());
    std::string ofSum = sumOf(name);
    renamed[0] = ofSum;
    setNames(op, renamed);
  }
}

void shard::takeApart(Block &body) {
  for (Operation &op : llvm::make_early_inc_range(body)) {
    auto tiling = op.getAttrOfType<TilingAttr>(tilingAttr);
    if (!tiling)
      continue;
    Cuts cuts = cutsOf(&op, cutsOf(tiling));
    if (cuts.none())
      continue;
    if (auto classes = dyn_cast<ClassesOpInterface>(op)) {
      int dim = classes.getClassDimension();
      if (dim != none && cuts.degrees[dim] > 1) {
        takeClassesApart(classes);
        continue;
      }
    }
    if (auto product = dyn_cast<FusedReluOpInterface>(op);
        product && product.getRelu() && cuts.degrees[k] > 1)
      splitOffRelu(product);
    if (auto loss = dyn_cast<LabelLossOpInterface>(op); loss && !loss.getSum())
      splitOffMean(loss);
  }
}
