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

def ParameterGroups : LwccPass<"train-parameter-groups"> {
  let summary = "freezes parameters, and scales others' learning rate and weight decay";
  let description = [{
    A parameter belongs to the first group whose regular expression is found in
    its name. `train.lr_scale` and `train.decay_scale` are the factors, until
    train-autodiff hands them to the update.
  }];
  let options = [
    ListOption<"freeze", "freeze", "std::string",
               "regular expressions of parameters that are not trained">,
    ListOption<"groups", "groups", "std::string",
               "REGEX:lr-scale=X,weight-decay-scale=Y">,
    ListOption<"noDecay", "no-decay", "std::string",
               "kinds of parameters without weight decay: bias, norm">
  ];
}

def SplitSlices : LwccPass<"train-split-slices"> {
  let summary = "makes one split of slices that take a tensor apart";
  let description = [{
    Takes and gives `imported`. The gradient of a split is a concat; those of the
    slices would be tensors of zeros but for a part, and their sum.
  }];
}

def ChannelsSecond : LwccPass<"train-channels-second"> {
  let summary = "keeps the channels of images second between convolutions";
  let description = [{
    Takes and gives `imported`. Transposes of images with channels last go behind
    maps, reductions and concats, until they meet those ahead of convolutions.
  }];
}

def SamplesFirst : LwccPass<"train-samples-first"> {
  let summary = "keeps the samples in the first dimension, where plans cut them";
  let description = [{
    Takes and gives `imported`. Where attention or a recurrent layer has them in
    another dimension, or merged with one ahead of them, the same is computed in
    another order.
  }];
}

def FuseAttention : LwccPass<"train-fuse-attention"> {
  let summary = "makes one op of attention";
  let description = [{
    Takes and gives `imported`. Two products with softmax between them, and what
    brings heads ahead of tokens and back, become `attention`: no scores are
    stored, and nothing is moved.
  }];
}

def MatrixRows : LwccPass<"train-matrix-rows"> {
  let summary = "keeps the rows of batched matrices dense";
  let description = [{
    Takes and gives `imported`. Tensors of rank 4 that attention multiplies get
    a dimension of extent 1, so that they lie row-major and not channels-last.
  }];
}

def AddLoss : LwccPass<"train-add-loss"> {
  let summary = "gives @model a loss and the accuracy counts";
  let description = [{
    Takes `imported`. Where the file holds no loss, the function gets an argument
    `labels` (before `scalars`) and cross entropy on its logits. Afterwards its
    results are the loss and the counts (tensor<2xi32>: top 1 and top 5). Where
    other outputs are trained, too (`train.auxiliary`), the loss is a sum, and
    that of the logits alone comes behind the counts.
  }];
  let options = [
    Option<"labelSmoothing", "label-smoothing", "double", "0",
           "how much of each label is any class">,
    Option<"softLabels", "soft-labels", "bool", "false",
           "@train_step gets the shares of each sample's classes">];
}

def SplitModes : LwccPass<"train-split-modes"> {
  let summary = "makes @train_step and @evaluate from @model";
  let description = [{
    In @train_step batch normalization uses the batch's statistics and writes
    the running ones; in @evaluate it uses the running ones, and dropout is gone.
    Where @model returns a loss behind the counts, that is @evaluate's.
  }];
  let options = [
    Option<"group", "group", "int64_t", "0",
           "samples that have batch statistics of their own, 0: all together">,
    Option<"frozen", "frozen", "bool", "false",
           "training, too, uses the running statistics, and keeps them">];
}

def Autodiff : LwccPass<"train-autodiff"> {
  let summary = "adds the backward pass and the parameter updates to @train_step";
  let description = [{
    Only gradients that lead to a trainable parameter are made. Gradients of
    several uses are summed by explicit maps as they come. A parameter is
    updated as soon as its gradient is complete, or, where gradients are clipped,
    when all are. Gives `differentiated` but for
    the ops that train-decompose replaces (D4).
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", /*default=*/"\"sgd\"",
           "a row of the table of optimizers">,
    Option<"clipNorm", "clip-norm", "double", "0",
           "the largest norm of all gradients together, 0: any">,
    Option<"averageDecay", "average-decay", "double", "0",
           "evaluation uses moving averages of the parameters; 0: it does not">
  ];
}

def Decompose : LwccPass<"train-decompose"> {
  let summary = "turns batch_norm and dropout into kernels and maps";
}

def Fuse : LwccPass<"train-fuse"> {
  let summary = "fuses bias and ReLU into products, and chains of maps into one";
  let description = [{
    Decides what is one kernel: bias and ReLU go to the library call, splat
    constants become literals, a map goes into its consumers where that saves
    memory traffic and keeps nothing alive for longer. Never across phases,
    except to recompute a cheap map from values that are kept anyway.
  }];
}

def Phases : LwccPass<"train-phases"> {
  let summary = "tells gradients of parameters from the rest of the backward pass";
  let description = [{
    An op of the phase `backward` for which no other layer waits becomes one of
    the phase `weight` (D2).
  }];
}

//===----------------------------------------------------------------------===//
// plan/: differentiated -> planned
//===----------------------------------------------------------------------===//

def TrainPlan : LwccPass<"train-plan"> {
  let summary = "gives every layer a tiling and a place";
  let description = [{
    By a strategy of passes/plan/solve/Solvers.h, or from a file (passes/plan/model/Plan.h),
    which is checked against the model. Every op gets `train.tiling`. What the
    pipeline needs of planning besides that is in passes/plan/TrainPlan.h.
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"single\"", "who makes the plan">,
    Option<"gpus", "gpus", "int64_t", "1", "how many GPUs it may use">,
    Option<"nodes", "nodes", "int64_t", "0", "on which these are, 0: as many as it takes">,
    Option<"machineName", "machine", "std::string", "\"\"", "a built-in machine or a file">,
    Option<"precision", "precision", "std::string", "\"fp32\"", "of products: fp32 or tf32">,
    Option<"file", "plan", "std::string", "\"\"", "a plan to read instead">,
    Option<"costsFile", "costs", "std::string", "\"\"", "measured times (a profile) to price plans by">,
    Option<"target", "target", "std::string", "\"\"", "that these must be of">,
    Option<"memory", "memory", "int64_t", "0", "bytes of a device, 0: the machine's">,
    Option<"searchSeconds", "search-seconds", "double", "10", "how long a search by chance may take">,
    Option<"searchSeed", "search-seed", "int64_t", "0", "of its random numbers">,
    Option<"searchDimensions", "search-dimensions", "std::string", "\"nchwk\"",
           "along which searches may cut">,
    ListOption<"keep", "keep", "std::string", "layers and how they are cut whatever is found">,
    Option<"microBatches", "micro-batches", "int64_t", "0", "of a pipeline, 0: by search">,
    Option<"stages", "stages", "int64_t", "0", "of a pipeline, 0: by search">,
    Option<"lanes", "lanes", "int64_t", "-1",
           "compute lanes of each device, 0: by search, -1: by search where they were measured and the strategy is auto">,
    Option<"schedule", "schedule", "std::string", "\"\"", "of a pipeline, empty: by search">];
}

//===----------------------------------------------------------------------===//
// shard/: planned -> sharded
//===----------------------------------------------------------------------===//

def Shard : LwccPass<"train-shard"> {
  let summary = "makes one op per tile and writes every value's place on its type";
}

//===----------------------------------------------------------------------===//
// schedule/: sharded -> scheduled -> exec
//===----------------------------------------------------------------------===//

def FuseUpdates : LwccPass<"train-fuse-updates"> {
  let summary = "makes one op of a fully connected layer's gradients and update";
  let description = [{
    With few rows, and on a CPU, such a layer is bound by the memory of its
    weights; `matmul_sgd` goes over them once instead of four times. Only where
    the weight's gradient is made at one place and is needed for nothing else.
  }];
  let options = [
    Option<"rows", "rows", "int64_t", "16", "how many rows of x there may be">];
}

def TrainSchedule : LwccPass<"train-schedule"> {
  let summary = "orders the ops of each function";
  let description = [{
    Forward as the model has it, backward as autodiff made it, each update as
    soon as its gradient exists and all readers of the old value have run. In a
    pipeline, where the planner tells how long ops take, several lanes run what
    they can begin first, if that makes the step shorter.
  }];
}

def ToExec : LwccPass<"train-to-exec"> {
  let summary = "turns values into buffers and ops into runtime calls";
  let description = [{
    Takes `scheduled`, gives `exec` without offsets. Decides which values share
    memory by construction: updates in place, views, maps that overwrite.
  }];
  let dependentDialects = ["::lwcc::exec::ExecDialect"];
}

//===----------------------------------------------------------------------===//
// memory/: offsets and arenas
//===----------------------------------------------------------------------===//

def PlanMemory : LwccPass<"exec-plan-memory"> {
  let summary = "gives every buffer its offset and every device its arena";
  let description = [{
    Takes `exec` with events. Persistent buffers come first; behind them the
    sequences share one region. Buffers share bytes where lanes and events order
    all their accesses.
  }];
  let dependentDialects = ["::lwcc::exec::ExecDialect"];
}

//===----------------------------------------------------------------------===//
// verify/: proofs, on every compile
//===----------------------------------------------------------------------===//

def VerifyForm : LwccPass<"lwcc-verify-form"> {
  let summary = "checks the rules of a form";
  let description = [{
    The rules of ir/train/README.md and (E1) of ir/exec/README.md, by number.
    Changes nothing.
  }];
  let options = [
    Option<"form", "form", "std::string", "", "imported, differentiated, planned, sharded, scheduled or exec">];
}

def VerifySchedule : LwccPass<"exec-verify-schedule"> {
  let summary = "proves that lanes, events and offsets keep the program's meaning";
  let description = [{
    Takes `exec` and changes nothing. Reports every violation of the rules
    (E3) to (E10) of ir/exec/README.md.
  }];
  let dependentDialects = ["::lwcc::exec::ExecDialect"];
}

#endif // LWCC_PASSES_PASSES
