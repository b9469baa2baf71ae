//===- AddLoss.cpp - Give @model a loss and the accuracy counts -----------===//
//
// Takes `imported`. If the file holds no loss, adds cross entropy on the
// logits. A softmax or log-softmax at the end of the model is removed then, as
// cross entropy contains it. Afterwards @model returns the loss and the counts
// of right answers. Refuses a model that is plainly no classifier, or warns of
// it: its loss would fall without meaning anything. Does not decide how the
// loss is differentiated or reported.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/differentiate/Nodes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"

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

/// Checks that cross entropy makes sense for these scores. Refuses what is
/// plainly no classifier, unless --loss=cross-entropy asks for it.
LogicalResult checkScores(func::FuncOp func, Value scores) {
  auto type = cast<RankedTensorType>(scores.getType());
  Location loc = scores.getLoc();
  Operation *module = func->getParentOp();
  auto chosen = module->getAttrOfType<StringAttr>("train.loss_chosen");
  if (chosen && chosen.getValue() == "file")
    return success();
  bool asked = chosen != nullptr;
  // `asked` makes a mistake of it, or no more than a remark.
  auto complain = [&](const Twine &what) -> LogicalResult {
    if (asked)
      mlir::emitWarning(loc) << what << "; trained for cross entropy as asked";
    else
      mlir::emitError(loc) << what
                           << ". Put the loss into the model's forward(), or "
                              "say --loss=cross-entropy if that is meant";
    return success(asked);
  };
  if (func.getNumArguments() > 0 && !module->hasAttr(tokensAttr)) {
    auto input = dyn_cast<RankedTensorType>(func.getArgument(0).getType());
    if (input && input.getRank() > 0 && perSample(input) == perSample(type) &&
        input.getElementType().isF32())
      return complain("gives as many numbers for a sample as its input has (" +
                      Twine(perSample(type)) +
                      "), as an autoencoder does: no class scores. Mean "
                      "squared error is not there yet");
  }
  auto map = dyn_cast_or_null<MapOp>(makerOf(scores));
  StringRef fn = map && map.getFn() ? *map.getFn() : StringRef();
  if (fn == "sigmoid" || fn == "hard_sigmoid")
    return complain("ends in a sigmoid, which makes probabilities for binary "
                    "cross entropy; that is not there yet, and cross entropy "
                    "would take them for unbounded class scores");
  if (fn == "tanh" || fn == "relu" || fn == "clip" || fn == "softplus" ||
      fn == "exp")
    mlir::emitWarning(loc)
        << "ends in '" << fn
        << "', which bounds the class scores; cross entropy wants them "
           "unbounded, and such a model may not learn";
  return success();
}

struct AddLoss : lwcc::impl::AddLossBase<AddLoss> {
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
    Value logits = ret.getOperand(hasLoss ? 1 : 0);
    Location loc = logits.getLoc();
    // Also where the file has the loss: scores are what a softmax is taken of.
    logits = withoutSoftmax(logits);
    logits = classesSecond(builder, loc, logits);
    auto type = cast<RankedTensorType>(logits.getType());
    if (type.getRank() < 2)
      return mlir::emitError(loc) << "logits have rank " << type.getRank()
                                  << "; expected scores of samples and classes";

    if (type.getDimSize(1) == 1)
      return mlir::emitError(loc)
             << "gives one score for a sample; cross entropy over one class is "
                "always 0, so that nothing is learned. For two classes give "
                "the model two outputs; other losses are not there yet";
    if (!hasLoss && makerOf(logits) && failed(checkScores(func, logits)))
      return failure();

    FailureOr<Value> labels =
        hasLoss ? existingLabels(func) : addLabels(func, type.getShape());
    if (failed(labels))
      return failure();
    Value loss = ret.getOperand(0);
    if (!hasLoss) {
      auto entropy =
          CrossEntropyOp::create(builder, loc, tensorOf(&getContext(), {}),
                                 type, logits, *labels, Value());
      setWork(entropy, lossLayer, Phase::forward);
      setNames(entropy, {lossName, "probs"});
      loss = entropy.getLoss();
    }
    auto accuracy = AccuracyOp::create(
        builder, loc, tensorOf(&getContext(), {2}), logits, *labels);
    setWork(accuracy, lossLayer, Phase::forward);
    setNames(accuracy, {"counts"});

    func->getParentOp()->setAttr(classesAttr,
                                 builder.getI64IntegerAttr(type.getDimSize(1)));
    ret->setOperands({loss, accuracy.getCounts()});
    func.setType(builder.getFunctionType(func.getArgumentTypes(),
                                         ret.getOperandTypes()));
    return success();
  }

  /// Writes down the names of all layers (Nodes.h). A plan file may name one
  /// that is fused into another by the time that it is planned.
  void noteNodes(func::FuncOp func) {
    llvm::SetVector<Attribute> nodes;
    for (Operation &op : func.getBody().front())
      if (StringRef layer = layerOf(&op); !layer.empty())
        nodes.insert(StringAttr::get(&getContext(), layer));
    func->getParentOp()->setAttr(
        nodesAttr, ArrayAttr::get(&getContext(), nodes.getArrayRef()));
  }

  FailureOr<Value> existingLabels(func::FuncOp func) {
    if (std::optional<unsigned> labels = findArgument(func, Role::labels))
      return Value(func.getArgument(*labels));
    return func.emitError(
        "@model has a loss but no argument that is #train.role<labels>");
  }

  /// Adds the argument `labels` before `scalars`: one for each vector of
  /// scores.
  FailureOr<Value> addLabels(func::FuncOp func, ArrayRef<int64_t> scores) {
    std::optional<unsigned> scalars = findArgument(func, Role::scalars);
    if (!scalars)
      return func.emitError(
          "@model has no argument that is #train.role<scalars>");
    Builder builder(&getContext());
    DictionaryAttr attrs = builder.getDictionaryAttr(
        {builder.getNamedAttr(argNameAttr, builder.getStringAttr(labelsName)),
         builder.getNamedAttr(roleAttr,
                              RoleAttr::get(&getContext(), Role::labels))});
    SmallVector<int64_t> shape(scores);
    shape.erase(shape.begin() + 1);
    if (failed(func.insertArgument(
            *scalars, RankedTensorType::get(shape, builder.getI32Type()), attrs,
            func.getLoc())))
      return failure();
    return Value(func.getArgument(*scalars));
  }
};

} // namespace
