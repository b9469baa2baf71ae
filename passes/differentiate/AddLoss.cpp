//===- AddLoss.cpp - Give @model a loss and the accuracy counts -----------===//
//
// Takes `imported`. If the file holds no loss, adds the one that was asked for,
// or that the model's output is made for: cross entropy on the logits, without
// a softmax at the end, which it contains; or one of numbers (NumberLoss.h).
// Afterwards @model returns the loss and two counts. Refuses an output that
// could be meant for several losses: one would fall without meaning anything.
// Does not decide how the loss is differentiated or reported.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/differentiate/LabelSmoothing.h"
#include "passes/differentiate/Nodes.h"
#include "passes/differentiate/NumberLoss.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

namespace lwcc {
#define GEN_PASS_DEF_ADDLOSS
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

constexpr StringLiteral lossLayer = "loss";
constexpr StringLiteral lossName = "loss";
constexpr StringLiteral labelsName = "labels";
constexpr StringLiteral noClassesToSmooth =
    "--label-smoothing is of labels of classes, for cross entropy";

/// The number of the first argument with this role.
std::optional<unsigned> findArgument(func::FuncOp func, Role role) {
  for (BlockArgument argument : func.getArguments())
    if (roleOf(argument) == role)
      return argument.getArgNumber();
  return std::nullopt;
}

/// The operand of the softmax over the classes that computes `scores`; `scores`
/// itself if none does.
Value withoutSoftmax(Value scores) {
  auto softmax = scores.getDefiningOp<SoftmaxOp>();
  return softmax && static_cast<int64_t>(softmax.getAxis()) ==
                        classAxis(typeOf(scores).getShape())
             ? softmax.getX()
             : scores;
}

/// Scores as the losses take them: [n, c] or [n, c, ...], with the classes
/// second. Those of shape [n, c, 1, 1] are [n, c].
Value classesSecond(OpBuilder &builder, Location loc, Value scores) {
  ArrayRef<int64_t> shape = typeOf(scores).getShape();
  if (shape.size() < 3)
    return scores;
  Operation *op = nullptr;
  if (llvm::all_of(shape.drop_front(2), [](int64_t d) { return d == 1; })) {
    auto matrix = tensorOf(builder.getContext(), shape.take_front(2));
    op = ReshapeOp::create(builder, loc, matrix, scores);
  } else if (classAxis(shape) == 2) {
    auto moved = tensorOf(builder.getContext(), {shape[0], shape[2], shape[1]});
    op = TransposeOp::create(builder, loc, moved, scores,
                             ArrayRef<int64_t>{0, 2, 1});
  } else {
    return scores;
  }
  setWork(op, lossLayer, Phase::forward);
  return op->getResult(0);
}

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

/// "0.1"
std::string textOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
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

/// The loss of a file that has none: what was asked for, or what its output is
/// made for, which is said. Null after refusing an output that could be meant
/// for several.
const Loss *chooseLoss(func::FuncOp func, Value output) {
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
           "classes, or --loss=mse (l1, huber) of a quantity";
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

struct AddLoss : lwcc::impl::AddLossBase<AddLoss> {
  using AddLossBase::AddLossBase;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>(modelFunc);
    if (!func) {
      getOperation().emitError("expected a function @") << modelFunc;
      return signalPassFailure();
    }
    if (failed(addLoss(func)))
      signalPassFailure();
  }

  LogicalResult addLoss(func::FuncOp func) {
    auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
    bool hasLoss = ret.getNumOperands() == 2;
    if (ret.getNumOperands() == 0 || ret.getNumOperands() > 2)
      return func.emitError() << "@model has " << ret.getNumOperands()
                              << " results; expected logits, or loss and "
                                 "logits";
    OpBuilder builder(ret);
    noteNodes(func);
    if (!hasLoss) {
      const Loss *loss = chooseLoss(func, ret.getOperand(0));
      if (!loss)
        return failure();
      auto title = builder.getStringAttr(loss->title + " (added)");
      getOperation()->setAttr("train.loss", title);
      if (!loss->row.empty())
        return addNumberLoss(func, *loss);
    }
    getOperation()->removeAttr(lossNameAttr);
    getOperation()->removeAttr(softmaxAttr);
    return addClassLoss(func, hasLoss);
  }

  /// Class labels: cross entropy, unless the file has a loss of them.
  LogicalResult addClassLoss(func::FuncOp func, bool hasLoss) {
    auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
    OpBuilder builder(ret);
    Value logits = ret.getOperand(hasLoss ? 1 : 0);
    Location loc = logits.getLoc();
    // Also where the file has the loss: scores are what a softmax is taken of.
    logits = withoutSoftmax(logits);
    if (!hasLoss) // ONNX's losses have the classes second
      logits = classesSecond(builder, loc, logits);
    auto type = cast<RankedTensorType>(logits.getType());
    if (type.getRank() < 2)
      return mlir::emitError(loc) << "logits have rank " << type.getRank()
                                  << "; expected scores of samples and classes";
    if (type.getDimSize(1) == 1)
      return mlir::emitError(loc)
             << "gives one score for a sample; cross entropy over one class is "
                "always 0, so that nothing is learned. For two classes give "
                "the model two outputs, or say --loss=bce";

    FailureOr<Value> labels =
        hasLoss ? existingLabels(func)
                : addLabels(func, labelShape(type), builder.getI32Type());
    if (failed(labels))
      return failure();
    Value loss = ret.getOperand(0);
    FailureOr<Value> weights = classWeights(builder, loc, type, hasLoss);
    if (failed(weights))
      return failure();
    if (!hasLoss) {
      auto entropy =
          CrossEntropyOp::create(builder, loc, tensorOf(&getContext(), {}),
                                 type, logits, *labels, *weights);
      setWork(entropy, lossLayer, Phase::forward);
      setNames(entropy, {lossName, "probs"});
      loss = entropy.getLoss();
    }
    noticeSmoothing(loss.getDefiningOp());
    if (labelSmoothing != 0) {
      if (!isOfClasses(loss))
        return mlir::emitError(loc) << noClassesToSmooth;
      loss = smoothLabels(builder, loss, labelSmoothing);
      auto title = getOperation()->getAttrOfType<StringAttr>("train.loss");
      getOperation()->setAttr(
          "train.loss", builder.getStringAttr(
                            (title ? title.getValue() : "loss") +
                            ", labels smoothed by " + textOf(labelSmoothing)));
    }
    auto accuracy = AccuracyOp::create(
        builder, loc, tensorOf(&getContext(), {2}), logits, *labels);
    setWork(accuracy, lossLayer, Phase::forward);
    setNames(accuracy, {"counts"});
    func->getParentOp()->setAttr(classesAttr,
                                 builder.getI64IntegerAttr(type.getDimSize(1)));
    finish(func, {loss, accuracy.getCounts()});
    return success();
  }

  /// What --class-weights says of each class; null if nothing.
  FailureOr<Value> classWeights(OpBuilder &builder, Location loc,
                                RankedTensorType scores, bool hasLoss) {
    auto name = dyn_cast_or_null<FlatSymbolRefAttr>(
        getOperation()->removeAttr(classWeightsAttr));
    if (!name)
      return Value();
    if (hasLoss)
      return mlir::emitError(loc)
             << "--class-weights is of a loss that is added, and the file has "
                "one of its own: give that the weights, or export the model "
                "without it";
    auto parameter = getOperation().lookupSymbol<ParameterOp>(name);
    const int64_t given =
        cast<RankedTensorType>(parameter.getType()).getDimSize(0);
    if (given != scores.getDimSize(1))
      return mlir::emitError(loc)
             << "--class-weights gives " << given << " of them; the model has "
             << scores.getDimSize(1) << " classes";
    auto read = ReadOp::create(builder, loc, parameter.getType(), name);
    setWork(read, lossLayer, Phase::forward);
    setNames(read, {name.getValue()});
    return read.getValue();
  }

  /// Says what the export took from the loss, unless a flag gives it back.
  void noticeSmoothing(Operation *loss) {
    auto lost = loss ? dyn_cast_or_null<FloatAttr>(
                           loss->removeAttr(exportedSmoothingAttr))
                     : nullptr;
    if (lost && labelSmoothing == 0)
      mlir::emitWarning(loss->getLoc())
          << "was exported from a loss with label_smoothing="
          << textOf(lost.getValueAsDouble())
          << ", which ONNX cannot hold; trained without, unless "
             "--label-smoothing gives it back";
  }

  /// Targets of the output's shape.
  LogicalResult addNumberLoss(func::FuncOp func, const Loss &loss) {
    auto ret = cast<func::ReturnOp>(func.getBody().front().getTerminator());
    OpBuilder builder(ret);
    Value output = ret.getOperand(0);
    Location loc = output.getLoc();
    if (getOperation()->hasAttr(classWeightsAttr))
      return mlir::emitError(loc)
             << "--class-weights is of labels of classes, for cross entropy; "
                "this one is the "
             << loss.title;
    if (labelSmoothing != 0)
      return mlir::emitError(loc)
             << noClassesToSmooth << "; this one is the " << loss.title;
    if (loss.name == "bce")
      output = withoutSigmoid(builder, output);
    FailureOr<Value> targets =
        addLabels(func, typeOf(output).getShape(), builder.getF32Type());
    if (failed(targets))
      return failure();
    NumberLoss made = buildNumberLoss(builder, loc, loss, output, *targets);
    getOperation()->setAttr(lossNameAttr, builder.getStringAttr(loss.name));
    getOperation()->removeAttr(softmaxAttr);
    finish(func, {made.loss, made.counts});
    return success();
  }

  static void finish(func::FuncOp func, ValueRange results) {
    Operation *ret = func.getBody().front().getTerminator();
    ret->setOperands(results);
    func.setType(FunctionType::get(func.getContext(), func.getArgumentTypes(),
                                   ret->getOperandTypes()));
  }

  /// One label for each vector of scores.
  static SmallVector<int64_t> labelShape(RankedTensorType scores) {
    SmallVector<int64_t> shape(scores.getShape());
    shape.erase(shape.begin() + 1);
    return shape;
  }

  FailureOr<Value> existingLabels(func::FuncOp func) {
    if (std::optional<unsigned> labels = findArgument(func, Role::labels))
      return Value(func.getArgument(*labels));
    return func.emitError(
        "@model has a loss but no argument that is #train.role<labels>");
  }

  /// Adds the argument `labels` before `scalars`.
  FailureOr<Value> addLabels(func::FuncOp func, ArrayRef<int64_t> shape,
                             Type element) {
    std::optional<unsigned> scalars = findArgument(func, Role::scalars);
    if (!scalars)
      return func.emitError(
          "@model has no argument that is #train.role<scalars>");
    Builder builder(&getContext());
    DictionaryAttr attrs = builder.getDictionaryAttr(
        {builder.getNamedAttr(argNameAttr, builder.getStringAttr(labelsName)),
         builder.getNamedAttr(roleAttr,
                              RoleAttr::get(&getContext(), Role::labels))});
    if (failed(func.insertArgument(*scalars,
                                   RankedTensorType::get(shape, element), attrs,
                                   func.getLoc())))
      return failure();
    return Value(func.getArgument(*scalars));
  }
};

} // namespace
