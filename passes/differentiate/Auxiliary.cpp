//===- Auxiliary.cpp - Outputs trained beside the main one ----------------===//

#include "passes/differentiate/Auxiliary.h"
#include "passes/differentiate/ChooseLoss.h"
#include "passes/differentiate/LossArguments.h"
#include "passes/differentiate/NumberLoss.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

/// "8x10"
static std::string shapeText(Value value) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  llvm::interleave(typeOf(value).getShape(), stream, "x");
  return text;
}

SmallVector<Auxiliary> train::readAuxiliary(ArrayAttr list,
                                            ValueRange outputs) {
  SmallVector<Auxiliary> auxiliary;
  for (auto [each, output] : llvm::zip_equal(list.getAsRange<DictionaryAttr>(),
                                             outputs.drop_front())) {
    auto own = each.getAs<StringAttr>("loss");
    auxiliary.push_back({each.getAs<StringAttr>("name").getValue(),
                         each.getAs<FloatAttr>("weight").getValueAsDouble(),
                         output, own ? findLoss(own.getValue()) : nullptr,
                         shapeText(output), shapeText(outputs.front())});
  }
  return auxiliary;
}

FailureOr<SmallVector<Value>> train::lossesOf(
    ArrayRef<Auxiliary> auxiliary, RankedTensorType type,
    llvm::function_ref<FailureOr<Value>(const Auxiliary &)> lossOf) {
  LogicalResult result = success();
  for (const Auxiliary &each : auxiliary)
    if (!each.own && typeOf(each.output) != type)
      result =
          mlir::emitError(each.output.getLoc())
          << "gives " << each.shape << " as output '" << each.name
          << "' (--aux), where the main one gives " << each.mainShape
          << "; both are trained against the same labels. --aux=" << each.name
          << "=WEIGHT:LOSS gives it a loss and labels of its own";
  if (failed(result))
    return failure();
  SmallVector<Value> losses;
  for (const Auxiliary &each : auxiliary) {
    FailureOr<Value> loss = lossOf(each);
    if (failed(loss))
      result = failure();
    else
      losses.push_back(*loss);
  }
  if (failed(result))
    return failure();
  return losses;
}

FailureOr<Value> train::buildOwnLoss(func::FuncOp func, OpBuilder &builder,
                                     const Auxiliary &each) {
  Location loc = each.output.getLoc();
  const bool ofNumbers = !each.own->row.empty();
  Value output =
      ofNumbers ? each.own->name == "bce" ? withoutSigmoid(builder, each.output)
                                          : each.output
                : classesSecond(builder, loc, withoutSoftmax(each.output),
                                each.layer());
  RankedTensorType type = typeOf(output);
  if (!ofNumbers && (type.getRank() < 2 || type.getDimSize(1) == 1))
    return mlir::emitError(loc)
           << "gives " << each.shape << " as output '" << each.name
           << "' (--aux); cross entropy needs scores of several classes";
  const std::string name = std::string(auxiliaryPrefix) + each.name.str();
  FailureOr<Value> labels =
      ofNumbers ? addArgument(func, Role::auxiliary, name, type.getShape(),
                              builder.getF32Type())
                : addArgument(func, Role::auxiliary, name, labelShape(type),
                              builder.getI32Type());
  if (failed(labels))
    return failure();
  if (ofNumbers)
    return buildNumberLoss(builder, loc, *each.own, output, *labels,
                           each.layer())
        .mean;
  Operation *module = func->getParentOp();
  NamedAttrList counts(module->getAttrOfType<DictionaryAttr>(tokensAttr));
  counts.set(name, builder.getI64IntegerAttr(type.getDimSize(1)));
  module->setAttr(tokensAttr, counts.getDictionary(func.getContext()));
  auto entropy =
      CrossEntropyOp::create(builder, loc, tensorOf(func.getContext(), {}),
                             type, output, *labels, Value());
  setWork(entropy, each.layer(), Phase::forward);
  setNames(entropy, {"loss", "probs"});
  return entropy.getLoss();
}

Value train::addLosses(OpBuilder &builder, Value loss,
                       ArrayRef<Auxiliary> auxiliary, ValueRange losses) {
  auto map = [&](StringRef row, ValueRange inputs, StringRef name,
                 DictionaryAttr params = {}) {
    Value made = buildMap(builder, loss.getLoc(), row, inputs, params);
    setWork(made.getDefiningOp(), layerOf(loss.getDefiningOp()),
            Phase::forward);
    setNames(made.getDefiningOp(), {name});
    return made;
  };
  Value sum = loss;
  for (auto [each, own] : llvm::zip_equal(auxiliary, losses)) {
    auto weight = builder.getNamedAttr(
        "alpha", builder.getF32FloatAttr(static_cast<float>(each.weight)));
    Value share = map("scale", {own}, "auxiliary_loss",
                      builder.getDictionaryAttr(weight));
    sum = map("add", {sum, share}, "total_loss");
  }
  return sum;
}
