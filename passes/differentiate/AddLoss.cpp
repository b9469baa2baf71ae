//===- AddLoss.cpp - Give @model a loss and the accuracy counts -----------===//
//
// Takes `imported`. If the file holds no loss, adds one (ChooseLoss.h says
// which): cross entropy on the logits, without a softmax at the end, which it
// contains; or one of numbers (NumberLoss.h). Afterwards @model returns the
// loss and two counts.
//
// Auxiliary outputs get the same loss, or one of their own with labels of their
// own, which are further arguments. The loss is the weighted sum then, and
// the main output's alone is returned behind the counts: it is what
// evaluation shows, as in PyTorch, where eval() leaves auxiliary outputs out.
//
// Soft labels are another argument, the shares of the classes in each sample,
// of which the loss is taken that is trained. Evaluation knows one class for
// each sample: its loss is that of the labels, with which answers are counted.
//
// Does not decide how the loss is differentiated or reported.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/differentiate/Auxiliary.h"
#include "passes/differentiate/ChooseLoss.h"
#include "passes/differentiate/LabelSmoothing.h"
#include "passes/differentiate/LossArguments.h"
#include "passes/differentiate/Nodes.h"
#include "passes/differentiate/NumberLoss.h"
#include "passes/differentiate/SoftLabels.h"

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

constexpr StringLiteral labelsName = "labels";
constexpr StringLiteral noClassesToSmooth =
    "--label-smoothing is of labels of classes, for cross entropy";

/// "0.1"
std::string textOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
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
    auxiliary.clear();
    auto more =
        dyn_cast_or_null<ArrayAttr>(getOperation()->removeAttr(auxiliaryAttr));
    const size_t results = ret.getNumOperands();
    const bool hasLoss = !more && results == 2;
    if (more ? results != 1 + more.size() : results == 0 || results > 2)
      return func.emitError() << "@model has " << results
                              << " results; expected logits, or loss and "
                                 "logits, or logits and the "
                              << auxiliaryAttr << " outputs";
    if (more)
      auxiliary = readAuxiliary(more, ret.getOperands());
    OpBuilder builder(ret);
    noteNodes(func);
    if (!hasLoss) {
      const Loss *loss = chooseLoss(func, ret.getOperand(0));
      if (!loss)
        return failure();
      setTitle(loss->title + " (added)");
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
    FailureOr<Value> weights = classWeights(builder, loc, type, hasLoss);
    FailureOr<Value> shares = addShares(func, type, hasLoss);
    if (failed(weights) || failed(shares))
      return failure();
    auto plain = [&](Value scores, StringRef layer) {
      auto entropy = CrossEntropyOp::create(
          builder, scores.getLoc(), tensorOf(&getContext(), {}),
          scores.getType(), scores, *labels, *weights);
      setWork(entropy, layer, Phase::forward);
      setNames(entropy, {"loss", "probs"});
      return labelSmoothing == 0
                 ? entropy.getLoss()
                 : smoothLabels(builder, entropy.getLoss(), labelSmoothing);
    };
    auto trained = [&](Value scores, StringRef layer) {
      return *shares
                 ? buildSoftLoss(builder, scores,
                                 {*shares, *labels, *weights, labelSmoothing},
                                 layer)
                 : plain(scores, layer);
    };
    for (Auxiliary &each : auxiliary)
      if (!each.own)
        each.output = classesSecond(builder, each.output.getLoc(),
                                    withoutSoftmax(each.output), each.layer());
    FailureOr<SmallVector<Value>> others = lossesOf(
        auxiliary, type, [&](const Auxiliary &each) -> FailureOr<Value> {
          return each.own ? buildOwnLoss(func, builder, each)
                          : trained(each.output, each.layer());
        });
    if (failed(others))
      return failure();
    Value loss;
    if (hasLoss) {
      loss = ret.getOperand(0);
      noticeSmoothing(loss.getDefiningOp());
      if (labelSmoothing != 0 && !isOfClasses(loss))
        return mlir::emitError(loc) << noClassesToSmooth;
      if (labelSmoothing != 0)
        loss = smoothLabels(builder, loss, labelSmoothing);
    } else {
      loss = plain(logits, lossLayer);
    }
    if (*shares)
      addToTitle(", of soft labels");
    if (labelSmoothing != 0)
      addToTitle(", labels smoothed by " + textOf(labelSmoothing));
    Value sum = addLosses(builder, *shares ? trained(logits, lossLayer) : loss,
                          auxiliary, *others);
    auto accuracy = AccuracyOp::create(
        builder, loc, tensorOf(&getContext(), {2}), logits, *labels);
    setWork(accuracy, lossLayer, Phase::forward);
    setNames(accuracy, {"counts"});
    func->getParentOp()->setAttr(classesAttr,
                                 builder.getI64IntegerAttr(type.getDimSize(1)));
    nameAuxiliary();
    finish(func, sum, accuracy.getCounts(), loss);
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
    if (softLabels)
      return mlir::emitError(loc)
             << "--soft-labels is of labels of classes, for "
                "cross entropy; this one is the "
             << loss.title;
    if (loss.name == "bce")
      output = withoutSigmoid(builder, output);
    FailureOr<Value> targets =
        addLabels(func, typeOf(output).getShape(), builder.getF32Type());
    if (failed(targets))
      return failure();
    for (Auxiliary &each : auxiliary)
      if (loss.name == "bce" && !each.own)
        each.output = withoutSigmoid(builder, each.output);
    FailureOr<SmallVector<Value>> others = lossesOf(
        auxiliary, typeOf(output),
        [&](const Auxiliary &each) -> FailureOr<Value> {
          return each.own ? buildOwnLoss(func, builder, each)
                          : buildNumberLoss(builder, each.output.getLoc(), loss,
                                            each.output, *targets, each.layer())
                                .mean;
        });
    if (failed(others))
      return failure();
    NumberLoss made =
        buildNumberLoss(builder, loc, loss, output, *targets, lossLayer);
    Value sum = addLosses(builder, made.mean, auxiliary, *others);
    Value counts =
        buildCounts(builder, loc, loss, made.sum, output, *targets, lossLayer);
    getOperation()->setAttr(lossNameAttr, builder.getStringAttr(loss.name));
    getOperation()->removeAttr(softmaxAttr);
    nameAuxiliary();
    finish(func, sum, counts, made.mean);
    return success();
  }

  /// What is shown of the loss, and in front of everything else of it.
  void setTitle(const Twine &title) {
    getOperation()->setAttr("train.loss",
                            StringAttr::get(&getContext(), title));
  }
  void addToTitle(const std::string &more) {
    auto title = getOperation()->getAttrOfType<StringAttr>("train.loss");
    setTitle((title ? title.getValue() : "loss") + more);
  }

  void nameAuxiliary() {
    for (const Auxiliary &each : auxiliary)
      addToTitle((" + " + textOf(each.weight) + " of '" + each.name + "'" +
                  (each.own ? " (" + each.own->title + ")" : Twine()))
                     .str());
  }

  /// Returns what is trained and the counts, and if evaluation shows another
  /// loss, that.
  static void finish(func::FuncOp func, Value trained, Value counts,
                     Value evaluated) {
    SmallVector<Value> results = {trained, counts};
    if (evaluated != trained)
      results.push_back(evaluated);
    setResults(func, results);
  }

  FailureOr<Value> existingLabels(func::FuncOp func) {
    if (std::optional<unsigned> labels = findArgument(func, Role::labels))
      return Value(func.getArgument(*labels));
    return func.emitError(
        "@model has a loss but no argument that is #train.role<labels>");
  }

  FailureOr<Value> addLabels(func::FuncOp func, ArrayRef<int64_t> shape,
                             Type element) {
    return addArgument(func, Role::labels, labelsName, shape, element);
  }

  /// The shares of the classes, where labels are soft; else null.
  FailureOr<Value> addShares(func::FuncOp func, RankedTensorType scores,
                             bool hasLoss) {
    if (!softLabels)
      return Value();
    if (hasLoss)
      return func.emitError("--soft-labels is of a loss that is added, and the "
                            "file has one of its own; --loss=cross-entropy "
                            "replaces it");
    if (scores.getRank() != 2)
      return func.emitError("--soft-labels: a sample has one list of scores "
                            "then, but the model gives a label for each "
                            "position; leave it out");
    return addArgument(func, Role::shares, "labels.shares", scores.getShape(),
                       Builder(&getContext()).getF32Type());
  }

  SmallVector<Auxiliary> auxiliary;
};

} // namespace
