//===- FormRules.h - The rules of each form ---------------------*- C++ -*-===//
//
// The rules of ir/train/README.md, by their numbers (I1, D2, ...). A form keeps
// the rules of the forms before it; VerifyForm.cpp says which rules are checked
// of which form. Sources: DataFlowRules.cpp (A, I, D) and PlacementRules.cpp
// (P, S, C1) and OrderRules.cpp (C2).
//
// Does not check what the verifiers of single ops have checked before (shapes,
// attributes), nor the form `exec` beyond its outline (ScheduleVerifier.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_FORMRULES_H
#define LWCC_PASSES_VERIFY_FORMRULES_H

#include "ir/train/Train.h"

namespace lwcc {

/// Checks the rules of a form; reports every violation. Reads only.
mlir::LogicalResult verifyForm(mlir::ModuleOp module, llvm::StringRef form);

} // namespace lwcc

namespace lwcc::forms {

using namespace mlir;
using namespace lwcc::train;

/// Checks the rules of a module; reports every violation with the rule's
/// number.
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
  bool checkPartOf(Operation *op, Type type, DictionaryAttr attributes,
                   const Twine &what);
  void checkParts();
  void checkPart(WriteOp write, SmallVectorImpl<WriteOp> &others);
  void checkUpdates(func::FuncOp func);
  void checkPhases(func::FuncOp func);
  void checkOrder(func::FuncOp func, ArrayAttr lanes);

  /// The ops of a function, its terminator left out.
  static auto opsOf(func::FuncOp func) {
    return func.getBody().front().without_terminator();
  }
  static Operation *terminatorOf(func::FuncOp func) {
    return func.getBody().front().getTerminator();
  }
  /// @train_step and @evaluate, as far as they exist.
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

/// A tensor type without its place; null for any other type.
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

/// Whether an op belongs to the backward pass or the update alone. A gradient
/// that has one itself is a model's op, too: a transposed convolution.
inline bool isGradientOrUpdate(Operation *op) {
  return (op->hasTrait<GradientOp>() && !isa<DifferentiableOpInterface>(op)) ||
         isa<UpdateOpInterface, WriteOp>(op);
}

} // namespace lwcc::forms

#endif // LWCC_PASSES_VERIFY_FORMRULES_H
