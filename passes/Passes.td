//===- Passes.td - All passes, in pipeline order -----------*- tablegen -*-===//
//
// One section per chapter. A pass takes one form of the IR and gives one form
// (ir/train/README.md); its summary says what it decides. No pass has a
// `constructor`: TableGen writes create functions and option structs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PASSES
#define LWCC_PASSES_PASSES

include "mlir/Pass/PassBase.td"

class LwccPass<string arg> : Pass<arg, "::mlir::ModuleOp"> {
  let dependentDialects = ["::lwcc::train::TrainDialect", "::mlir::func::FuncDialect"];
}

//===----------------------------------------------------------------------===//
// differentiate/: imported -> differentiated
//===----------------------------------------------------------------------===//

def AddLoss : LwccPass<"train-add-loss"> {
  let summary = "gives @model a loss and the accuracy counts";
  let description = [{
    Takes `imported`. Where the file holds no loss, the function gets `labels`
    and cross entropy on its logits; afterwards its results are the loss and
    counts (tensor<2xi32>: top 1 and top 5).
  }];
}

#endif // LWCC_PASSES_PASSES
