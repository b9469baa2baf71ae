//===- ChooseLoss.cpp - Which loss a model's output is made for -----------===//

#include "passes/differentiate/ChooseLoss.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

/// The op that computes the scores; ops that only move elements are skipped.
Operation *makerOf(Value scores) {
  Operation *op = scores.getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, TransposeOp>(op))
    op = op->getOperand(0).getDefiningOp();
  return op;
}

int64_t perSample(RankedTensorType type) {
  return llvm::product_of(type.getShape().drop_front());
}

/// What the end of a model says about its loss.
struct Ending {
  StringRef fn;          ///< of the elementwise function there, if any
  bool isProbability;    ///< a sigmoid
  bool isReconstruction; ///< as many numbers as the input has
};

Ending endingOf(func::FuncOp func, Value output) {
  Ending ending = {};
  Operation *maker = makerOf(output);
  if (!maker) // it gives what it gets, in a test perhaps
    return ending;
  if (auto map = dyn_cast<MapOp>(maker); map && map.getFn())
    ending.fn = *map.getFn();
  ending.isProbability = ending.fn == "sigmoid";
  const bool hasOneInput =
      llvm::count_if(func.getArguments(), [](BlockArgument argument) {
        return roleOf(argument) == Role::input;
      }) == 1;
  if (hasOneInput && !func->getParentOp()->hasAttr(tokensAttr)) {
    auto input = dyn_cast<RankedTensorType>(func.getArgument(0).getType());
    ending.isReconstruction = input && input.getRank() > 0 &&
                              perSample(input) == perSample(typeOf(output)) &&
                              input.getElementType().isF32();
  }
  return ending;
}

} // namespace

Value train::withoutSoftmax(Value scores) {
  auto softmax = scores.getDefiningOp<SoftmaxOp>();
  return softmax && static_cast<int64_t>(softmax.getAxis()) ==
                        classAxis(typeOf(scores).getShape())
             ? softmax.getX()
             : scores;
}

const Loss *train::chooseLoss(func::FuncOp func, Value output) {
  Operation *module = func->getParentOp();
  Location loc = output.getLoc();
  const Loss *entropy = findLoss("cross-entropy");
  Ending ending = endingOf(func, output);
  ArrayRef<int64_t> shape = typeOf(output).getShape();
  if (auto asked = module->getAttrOfType<StringAttr>(lossNameAttr)) {
    const Loss *loss = findLoss(asked.getValue());
    if (loss == entropy && ending.isReconstruction)
      mlir::emitWarning(loc)
          << "gives as many numbers for a sample as its input has ("
          << perSample(typeOf(output))
          << "), as an autoencoder does; trained for cross entropy as asked";
    if (loss == entropy &&
        (ending.isProbability || ending.fn == "hard_sigmoid"))
      mlir::emitWarning(loc)
          << "ends in a sigmoid, which makes probabilities for binary cross "
             "entropy; trained for cross entropy as asked";
    return loss;
  }
  if (module->hasAttr(softmaxAttr) || withoutSoftmax(output) != output)
    return entropy;
  auto chosen = [&](StringRef name, StringRef why) {
    const Loss *loss = findLoss(name);
    mlir::emitRemark(loc) << why << ": trained for " << loss->title
                          << "; --loss=NAME chooses another loss";
    return loss;
  };
  if (ending.isProbability)
    return chosen("bce", "ends in a sigmoid");
  if (ending.isReconstruction)
    return chosen("mse", "gives as many numbers for a sample as its input has");
  if (ending.fn == "hard_sigmoid") {
    mlir::emitError(loc)
        << "ends in a hard sigmoid, whose probabilities no loss takes as they "
           "are; say --loss=mse if that is meant, or end in a Sigmoid";
    return nullptr;
  }
  if (shape.size() == 1 || (shape.size() == 2 && shape[1] == 1)) {
    mlir::emitError(loc)
        << "gives one number for a sample; say what it is: --loss=bce of two "
           "classes, --loss=mse (l1, huber) of a quantity, or --loss=output "
           "if the model computes its loss itself";
    return nullptr;
  }
  if (ending.fn == "tanh" || ending.fn == "relu" || ending.fn == "clip" ||
      ending.fn == "softplus" || ending.fn == "exp")
    mlir::emitWarning(loc)
        << "ends in '" << ending.fn
        << "', which bounds the class scores; cross entropy wants them "
           "unbounded, and such a model may not learn";
  return entropy;
}
