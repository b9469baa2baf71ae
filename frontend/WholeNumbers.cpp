//===- WholeNumbers.cpp - Integers and booleans that data makes -----------===//

#include "frontend/WholeNumbers.h"

#include "llvm/ADT/StringSet.h"

using namespace lwcc;

bool lwcc::isSameOfIntegers(llvm::StringRef op) {
  static const llvm::StringSet<> others = {
      "Pow",          "ReduceMean",      "Mean",   "ReduceL2",
      "ReduceLogSum", "ReduceLogSumExp", "Resize", "Upsample"};
  return !others.contains(op);
}

bool lwcc::makesWhole(const NodeView &node, unsigned output,
                      llvm::function_ref<bool(int)> isWhole) {
  static const llvm::StringSet<> conditions = {
      "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And",
      "Or",    "Xor",  "Not",         "IsNaN",   "IsInf"};
  llvm::StringRef op = node.op();
  if (conditions.contains(op) || op == "ArgMax" || op == "ArgMin" ||
      (op == "TopK" && output == 1))
    return true;
  if (op == "Cast")
    return elementKind(int32_t(node.integer("to", 0))) !=
           HostTensor::Kind::real;
  if (op == "CastLike")
    return isWhole(1);
  if (op == "OneHot")
    return isWhole(2);
  if (op == "Where")
    return isWhole(1) && isWhole(2);
  return isWhole(0);
}
