//===- TrainInterfaces.td - What is asked of a train op ----*- tablegen -*-===//
//
// What an operator is, as the rest of lwcc sees it. No pass, no verifier and no
// tool has a list of operators: they ask these interfaces, whose answers stand
// in the op's record (TrainOps.td) and in its family's file (ops/).
//
//   KernelOpInterface          what is known of the runtime function by its name
//                              alone: asked for ops of train and for exec.call
//   TileableOpInterface        how an op is cut into tiles
//   DifferentiableOpInterface  the gradient
//   UpdateOpInterface          an optimizer's step of one parameter
//   FusedReluOpInterface, LabelLossOpInterface, ClassesOpInterface
//                              what tiles of an op cannot do alone
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_INTERFACES
#define LWCC_IR_TRAIN_INTERFACES

include "mlir/IR/OpBase.td"

def KernelOpInterface : OpInterface<"KernelOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An op that is one call of the runtime function of its name. All methods are
    static: `findKernel` (Interfaces.h) asks them of a name, without an op.
  }];
  let methods = [
    StaticInterfaceMethod<"How many tensors the call makes.",
      "::lwcc::train::Arity", "resultArity">,
    StaticInterfaceMethod<"How many tensors the call reads.",
      "::lwcc::train::Arity", "operandArity">,
    StaticInterfaceMethod<[{
      The fields of the function's parameter struct: the op's own attributes.
    }],
      "::llvm::ArrayRef<::llvm::StringRef>", "fields", (ins),
      "", [{ return ConcreteOp::getAttributeNames(); }]>,
    StaticInterfaceMethod<[{
      The value that a field has in the struct if a call does not say it; null
      for a field that is always said.
    }],
      "::mlir::Attribute", "defaultOf",
      (ins "::mlir::MLIRContext *":$context, "::llvm::StringRef":$field),
      "", [{ return defaultFieldOf<ConcreteOp>(context, field); }]>,
    StaticInterfaceMethod<[{
      The fields on which the time of a call depends, beside the sizes of its
      tensors: part of a profile's key (passes/plan).
    }],
      "::llvm::ArrayRef<::llvm::StringRef>", "pricedFields", (ins),
      "", [{ return {}; }]>,
    StaticInterfaceMethod<[{
      The arithmetic of a call. None, unless it is a product of matrices in some
      form: the time of all else is that of the bytes which it reads and writes.
    }],
      "::lwcc::train::Arithmetic", "arithmetic",
      (ins "const ::lwcc::train::CallShape &":$call), "", [{ return {}; }]>,
    StaticInterfaceMethod<[{
      How a call moves elements, if it does nothing else. Of a call whose types
      and fields do not fit each other: none.
    }],
      "::lwcc::train::Movement", "movement",
      (ins "const ::lwcc::train::CallTypes &":$call), "", [{ return {}; }]>,
    StaticInterfaceMethod<[{
      Whether a call reads no more elements of an operand than it makes, of which
      the operand may have many more: its time is that of these.
    }],
      "bool", "selects", (ins), "", [{ return false; }]>,
    StaticInterfaceMethod<[{
      Whether an operand may lie on another device than the one that the call
      runs on: the kernel reads each of its elements once.
    }],
      "bool", "mayLieElsewhere", (ins "unsigned":$operand),
      "", [{ return false; }]>,
    StaticInterfaceMethod<[{
      Whether operands may be parts of tensors, read where they lie. Results are
      always dense.
    }],
      "::lwcc::train::Parts", "parts", (ins), "", [{ return Parts::never; }]>,
    StaticInterfaceMethod<[{
      Whether a result may lie in the memory of an operand (the same bytes, the
      same type). Otherwise they must not overlap.
    }],
      "::lwcc::train::Sharing", "sharing",
      (ins "unsigned":$result, "unsigned":$operand),
      "", [{ return Sharing::forbidden; }]>
  ];
}

def TileableOpInterface : OpInterface<"TileableOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An op that can be cut into tiles along dimensions of its layer. One that
    cannot has the layer's operands brought together on one device.
  }];
  let methods = [
    InterfaceMethod<"The extents along which it can be cut, 1 where it cannot.",
      "::lwcc::tiling::Grid", "extents">,
    InterfaceMethod<[{
      Whether it can be cut along `dim` as `cuts` say, the extents aside.
    }],
      "bool", "allows",
      (ins "const ::lwcc::tiling::Cuts &":$cuts, "int":$dim),
      "", [{ return true; }]>,
    InterfaceMethod<[{
      A tile of the op, cut along at least one dimension.
    }],
      "::lwcc::train::Tile", "tile",
      (ins "const ::lwcc::tiling::Cuts &":$cuts,
           "const ::lwcc::tiling::Grid &":$index)>
  ];
}

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

def UpdateOpInterface : OpInterface<"UpdateOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An optimizer's step of one parameter. Its first operands are the parameter
    and the states that the optimizer keeps for it, of one shape; its results are
    the new values of these, in the same order and in their memory. It is
    elementwise in them, so that any part may be updated by itself, unless it
    says that it needs the whole. Sharding, fusion, prices and checkpoints know optimizers by this alone.
  }];
  let methods = [
    InterfaceMethod<"How many tensors of state it keeps.", "unsigned", "getNumStates">,
    InterfaceMethod<[{
      The terms of the gradient, which are summed in their order; they may lie
      on other devices. None if the op makes the gradient itself.
    }],
    "::mlir::MutableOperandRange", "getGradientTerms">,
    InterfaceMethod<"The parameter.", "::mlir::Value", "getWeight", (ins), "",
      [{ return $_op->getOperand(0); }]>,
    InterfaceMethod<"The parameter, then the states.", "::mlir::OperandRange", "getUpdated", (ins), "",
      [{ return $_op->getOperands().take_front(1 + $_op.getNumStates()); }]>,
    InterfaceMethod<[{
      Whether it needs the whole parameter and gradient, for their norms.
    }],
    "bool", "needsWhole", (ins), "", [{ return false; }]>,
    InterfaceMethod<[{
      Builds the op that is this update and both products of the backward pass
      of y = x * transposed w: the gradient of w, transposed dy * x, and
      dx = dy * w. Its results are those of the update, then dx. Null if there
      is no such kernel.
    }],
    "::mlir::Operation *", "buildWithProducts",
    (ins "::mlir::OpBuilder &":$builder, "::mlir::Value":$dy,
         "::mlir::Value":$x, "::mlir::Type":$dx), "", [{ return nullptr; }]>
  ];
}

def FusedReluOpInterface : OpInterface<"FusedReluOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An op that ends in the ReLU of its only result if its attribute says so. Of
    partial sums no ReLU can be taken.
  }];
  let methods = [
    InterfaceMethod<"", "bool", "getRelu", (ins), [{ return $_op.getRelu(); }]>,
    InterfaceMethod<"", "void", "setRelu", (ins "bool":$relu),
      [{ $_op.setRelu(relu); }]>
  ];
}

def LabelLossOpInterface : OpInterface<"LabelLossOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    A loss of class labels, its first result, or the gradient of one. It is the
    mean over the labels, whose number no tile knows, unless `sum` says that it
    is their sum.
  }];
  let methods = [
    InterfaceMethod<"", "bool", "getSum", (ins), [{ return $_op.getSum(); }]>,
    InterfaceMethod<"", "void", "setSum", (ins "bool":$sum), [{ $_op.setSum(sum); }]>,
    InterfaceMethod<"", "::mlir::Value", "getLabels", (ins),
      [{ return $_op.getLabels(); }]>,
    InterfaceMethod<"The weight of each class; null if all are 1.", "::mlir::Value",
      "getWeight", (ins), [{ return $_op.getWeight(); }]>,
    InterfaceMethod<"The label that does not count.", "int64_t", "getIgnoreIndex", (ins),
      [{ return $_op.getIgnoreIndex(); }]>,
    InterfaceMethod<"The operand or result with a number per class.", "::mlir::Value",
      "getScores">,
    InterfaceMethod<"The operand that is the gradient of the loss; null of a loss.",
      "::mlir::OpOperand *", "getLossGradient", (ins), "", [{ return nullptr; }]>
  ];
}

def ClassesOpInterface : OpInterface<"ClassesOpInterface"> {
  let cppNamespace = "::lwcc::train";
  let description = [{
    An op that looks at all classes of a sample: it normalizes over them, or
    looks for the label's. Where they are cut it is taken apart
    (passes/shard/TakeClassesApart.cpp).
  }];
  let methods = [
    InterfaceMethod<"Along which dimension of its layer they are, or none.", "int",
      "getClassDimension", (ins), "", [{ return ::lwcc::tiling::c; }]>
  ];
}

#endif // LWCC_IR_TRAIN_INTERFACES
