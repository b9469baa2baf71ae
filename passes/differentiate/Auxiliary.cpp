//===- Auxiliary.cpp - Outputs trained beside the main one ----------------===//

#include "passes/differentiate/Auxiliary.h"

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
  for (auto [each, output] :
       llvm::zip_equal(list.getAsRange<DictionaryAttr>(), outputs.drop_front()))
    auxiliary.push_back({each.getAs<StringAttr>("name").getValue(),
                         each.getAs<FloatAttr>("weight").getValueAsDouble(),
                         output,
                         findLoss(each.getAs<StringAttr>("loss").getValue()),
                         shapeText(output), shapeText(outputs.front())});
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
