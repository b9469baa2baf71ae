//===- FormRules.h - The rules of each form ---------------------*- C++ -*-===//
//
// The rules of ir/train/README.md, by their numbers. A form keeps the rules of
// the forms before it, so the checks add up (VerifyForm.cpp). The op verifiers
// have run already; what they check (shapes, attributes) is not checked again.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_FORMRULES_H
#define LWCC_PASSES_VERIFY_FORMRULES_H

#include "ir/train/Train.h"

namespace lwcc::forms {

using namespace mlir;
using namespace lwcc::train;

/// Reports violations; knows whether there were any.
class FormRules {
public:
  explicit FormRules(ModuleOp module) : module(module), symbols(module) {}

  void sizes();
  void imported();
  void differentiated();
  void planned();
  void sharded();
  void scheduled();
  void exec();

  bool ok = true;

private:
  InFlightDiagnostic broken(Operation *op, StringRef rule) {
    ok = false;
    return op->emitError() << "breaks rule (" << rule << "): ";
  }
  func::FuncOp only(StringRef name, StringRef rule) {
    auto func = symbols.lookup<func::FuncOp>(name);
    if (!func)
      broken(module, rule) << "there is no function @" << name;
    return func;
  }
  void noOtherFunctions(ArrayRef<StringRef> names, StringRef rule) {
    for (auto func : module.getOps<func::FuncOp>())
      if (!llvm::is_contained(names, func.getSymName()))
        broken(func, rule) << "function @" << func.getSymName()
                           << " does not belong here";
  }
  void checkSignature(func::FuncOp func, StringRef rule);
  void checkParameters(func::FuncOp func);
  void checkPartOf(Operation *op, Type type, DictionaryAttr attributes,
                   const Twine &what);
  void checkPart(WriteOp write, SmallVectorImpl<WriteOp> &others);
  void checkUpdates(func::FuncOp func);
  void checkPhases(func::FuncOp func);

  /// The ops of a function, its terminator left out.
  static auto opsOf(func::FuncOp func) {
    return func.getBody().front().without_terminator();
  }
  static Operation *terminatorOf(func::FuncOp func) {
    return func.getBody().front().getTerminator();
  }
  /// The two functions of every form from `differentiated` on.
  SmallVector<func::FuncOp> both() {
    SmallVector<func::FuncOp> funcs;
    for (StringRef name : {trainStepFunc, evaluateFunc})
      if (auto func = symbols.lookup<func::FuncOp>(name))
        funcs.push_back(func);
    return funcs;
  }

  ModuleOp module;
  SymbolTable symbols;
};

/// A type without its place.
inline RankedTensorType plainType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor
             ? RankedTensorType::get(tensor.getShape(), tensor.getElementType())
             : RankedTensorType();
}

inline bool isScalar(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() == 0 && tensor.getElementType().isF32();
}

inline bool isGradientOrUpdate(Operation *op) {
  return op->hasTrait<GradientOp>() || isa<UpdateOpInterface, WriteOp>(op);
}

} // namespace lwcc::forms

#endif // LWCC_PASSES_VERIFY_FORMRULES_H
