//===- TrainInterfaces.td - What passes ask of a train op --*- tablegen -*-===//
//
// Two questions: what is your gradient, and which result lies in the memory of
// which operand. Everything else about an operator is generic.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_INTERFACES
#define LWCC_IR_TRAIN_INTERFACES

include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An op with a gradient. Forward ops that lack it (integer plumbing, metrics)
    end the search for parameters.
  }];
  let methods = [
    InterfaceMethod<[{
      Builds the gradients of the operands after everything that exists so far.
      `resultGrads` has one value per result, null where no gradient flows;
      at least one is not null. `needed` has one entry per operand. Returns one
      value per operand, null where not needed or zero; each has its operand's
      type. Data gradient and weight gradient are separate ops, in this order.
    }],
    "::llvm::SmallVector<::mlir::Value>", "buildGradients",
    (ins "::mlir::OpBuilder &":$builder,
         "::llvm::ArrayRef<::mlir::Value>":$resultGrads,
         "::llvm::ArrayRef<bool>":$needed)>
  ];
}

def TiedOpInterface : OpInterface<"TiedOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An op some of whose results may or must lie in an operand's memory.
  }];
  let methods = [
    InterfaceMethod<[{
      The operand in whose memory the result must lie (an update in place).
    }],
    "::std::optional<unsigned>", "tiedOperand", (ins "unsigned":$result),
    "", [{ return std::nullopt; }]>,
    InterfaceMethod<[{
      Whether the result may overwrite the operand if nobody reads it later and
      both have the same type.
    }],
    "bool", "mayOverwrite", (ins "unsigned":$result, "unsigned":$operand),
    "", [{ return false; }]>
  ];
}

def UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An optimizer's step of one parameter. Its first operands are the parameter
    and the states that the optimizer keeps for it, of one shape; its results are
    the new values of these, in the same order and in their memory. It is
    elementwise in them, so that any part may be updated by itself. Sharding,
    prices and checkpoints know optimizers by this alone.
  }];
  let methods = [
    InterfaceMethod<"How many tensors of state it keeps.", "unsigned", "getNumStates">,
    InterfaceMethod<[{
      The terms of the gradient, which are summed in their order; they may lie
      on other devices.
    }],
    "::mlir::MutableOperandRange", "getGradientTerms">,
    InterfaceMethod<"The parameter.", "::mlir::Value", "getWeight", (ins), "",
      [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<"The parameter, then the states.", "::mlir::OperandRange", "getUpdated", (ins), "",
      [{ return $_op->getOperands().take_front(1 + $_op.getNumStates()); }]>
  ];
}

#endif // LWCC_IR_TRAIN_INTERFACES
