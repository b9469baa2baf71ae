//===- TrainOps.td - The train dialect ---------------------*- tablegen -*-===//
//
// A training step on values: forward, backward and update. See README.md for
// the forms and their invariants. Long because it is a list: one declaration an
// op and no code, looked up by name.
//
// Conventions that other parts rely on:
//   - An op marked `Kernel` is one call of the runtime function of the same
//     name: its attributes are the fields of that function's parameter struct
//     (runtime/core/Ops.h), its results and operands the function's tensors in
//     order. Optional operands and results stand last. The lowering, the
//     printer and lwcc-run need no code of their own for such an op.
//   - Tensors have static shapes, f32 unless said otherwise; images are
//     [n, c, h, w]. After sharding, a type's encoding is #train.place.
//   - Discardable attributes kept by every pass: train.work (the layer, phase
//     and tile that the op serves) and train.names (the tensor that each result
//     is, or is a tile of, by its ONNX name).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_OPS
#define LWCC_IR_TRAIN_OPS

include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "ir/train/TrainAttrs.td"
include "ir/train/TrainInterfaces.td"

//===----------------------------------------------------------------------===//
// Op classes
//===----------------------------------------------------------------------===//

def FloatTensor : RankedTensorOf<[F32]>;
def LabelTensor : RankedTensorOf<[I32]>;
def TapTensor : RankedTensorOf<[UI8, I32]>;
def ScalarTensor : 0DTensorOf<[F32]>;
def ScalarsTensor : RankedTensorOf<[UI8]>; // tensor<64xui8>: StepScalars

/// One runtime call of the same name.
def KernelTrait : NativeOpTrait<"KernelOp"> {
  let cppNamespace = "::lwcc::train";
}

/// Every value has a size that may be multiplied (ir/Size.h); checked ahead of
/// an op's own verifier.
def SizedTrait : NativeOpTrait<"SizedOp"> {
  let cppNamespace = "::lwcc::train";
}

class TrainOp<string mnemonic, list<Trait> traits = []>
    : Op<TrainDialect, mnemonic, !listconcat([SizedTrait], traits)>;

/// Pure: no memory effects, freely moved by passes.
class PureOp<string mnemonic, list<Trait> traits = []>
    : TrainOp<mnemonic, !listconcat([Pure], traits)> {
  let assemblyFormat = "`(` operands `)` attr-dict `:` functional-type(operands, results)";
}
class Kernel<string mnemonic, list<Trait> traits = []>
    : PureOp<mnemonic, !listconcat([KernelTrait], traits)>;

def Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

def ParameterOp : TrainOp<"parameter", [Symbol]> {
  let summary = "a persistent tensor, by its ONNX name";
  let description = [{
    Weights, biases, running statistics, optimizer state and the model's
    constants. `init` is what the file says, `fresh` PyTorch's default for the
    layer that uses it (for --init=fresh; absent: same as init).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FloatTensor>:$type,
                       ParameterKindAttr:$kind, InitAttr:$init,
                       OptionalAttr<InitAttr>:$fresh);
  let assemblyFormat = [{
    $kind $sym_name `:` $type `init` `` $init (`fresh` `` $fresh^)? attr-dict
  }];
}

def ReadOp : TrainOp<"read", [MemoryEffects<[MemRead]>]> {
  let summary = "the value of a parameter at the start of the step";
  let description = [{
    At most one per parameter and function. The value is that before any
    `write`; a pass may not move a user of it behind the write.
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter);
  let results = (outs FloatTensor:$value);
  let assemblyFormat = "$parameter attr-dict `:` type($value)";
}

def WriteOp : TrainOp<"write", [MemoryEffects<[MemWrite]>]> {
  let summary = "the value of a parameter from the next step on";
  let description = [{
    Of the whole parameter, at most once per function, or of the part that begins
    at `begin`; parts that are written are disjoint.
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, FloatTensor:$value,
                       OptionalAttr<DenseI64ArrayAttr>:$begin);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$parameter, "::mlir::Value":$value), [{
    build($_builder, $_state, parameter, value, ::mlir::DenseI64ArrayAttr());
  }]>];
  let assemblyFormat = "$parameter (`at` $begin^)? `,` $value attr-dict `:` type($value)";
}

def ConstantOp : PureOp<"constant", [ConstantLike, AllTypesMatch<["value", "result"]>]> {
  let summary = "a splat constant";
  let arguments = (ins ElementsAttr:$value);
  let results = (outs FloatTensor:$result);
  let assemblyFormat = "attr-dict $value";
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Elementwise
//===----------------------------------------------------------------------===//

def MapOp : PureOp<"map", [AttrSizedOperandSegments, Differentiable,
                           DeclareOpInterfaceMethods<TiedOpInterface, ["mayOverwrite"]>]> {
  let summary = "an elementwise expression with broadcasting";
  let description = [{
    `expr` is an expression (Expression.h) over x0, x1, ...: the inputs, each
    broadcast numpy-style to the result's shape. `fn` names the row of the
    elementwise table (Elementwise.h) that it comes from, with the row's
    parameters in `params`; only such an op has a gradient, and fusion drops
    both. An expression that calls dropout_mask needs `scalars`.

    Becomes one generated kernel (codegen), one call of the runtime's `map`.
  }];
  let arguments = (ins Variadic<FloatTensor>:$inputs, Optional<ScalarsTensor>:$scalars,
                       StrAttr:$expr, OptionalAttr<StrAttr>:$fn,
                       OptionalAttr<DictionaryAttr>:$params);
  let results = (outs FloatTensor:$y);
  let assemblyFormat = [{
    $expr `(` $inputs `)` (`scalars` `(` $scalars^ `:` type($scalars) `)`)? attr-dict `:`
    functional-type($inputs, $y)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Whether it is a row of the table that has gradients.
    bool hasGradient();
  }];
}

def DropoutOp : PureOp<"dropout", [Differentiable]> {
  let summary = "zeroes elements at random, scales the others by 1/(1-ratio)";
  let description = [{
    `stream` is streamOf(name of the ONNX output): the mask depends on it, the
    seed, the step and the element's global row-major index only. Decomposes
    into a map; the gradient is the same op on the output's gradient.
  }];
  let arguments = (ins FloatTensor:$x, ScalarsTensor:$scalars, F32Attr:$ratio, I64Attr:$stream);
  let results = (outs FloatTensor:$y);
}

//===----------------------------------------------------------------------===//
// Convolution and matrix product
//===----------------------------------------------------------------------===//

class ConvAttrs {
  dag args = (ins DenseI64ArrayAttr:$dilation, I64Attr:$group,
                  DenseI64ArrayAttr:$pad, DenseI64ArrayAttr:$stride);
}

def ConvOp : Kernel<"conv", [Differentiable]> {
  let summary = "ONNX Conv in two dimensions";
  let arguments = !con((ins FloatTensor:$x, FloatTensor:$w, Optional<FloatTensor>:$bias),
                       ConvAttrs<>.args, (ins DefaultValuedAttr<BoolAttr, "false">:$relu));
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def ConvGradInputOp : Kernel<"conv_grad_input"> {
  let summary = "gradient of a convolution's data";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$w), ConvAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}
def ConvGradWeightOp : Kernel<"conv_grad_weight"> {
  let summary = "gradient of a convolution's weights and bias";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$x), ConvAttrs<>.args);
  let results = (outs FloatTensor:$dw, Optional<FloatTensor>:$dbias);
  let hasVerifier = 1;
}

def MatMulOp : Kernel<"matmul", [Differentiable]> {
  let summary = "op(a) * op(b) + bias over the last two dimensions";
  let description = [{
    Leading dimensions of a and b are equal, or b has rank 2 and serves every
    batch. bias is [n]. transpose_a and transpose_b swap the last two.
  }];
  let arguments = (ins FloatTensor:$a, FloatTensor:$b, Optional<FloatTensor>:$bias,
                       DefaultValuedAttr<BoolAttr, "false">:$relu,
                       DefaultValuedAttr<BoolAttr, "false">:$transpose_a,
                       DefaultValuedAttr<BoolAttr, "false">:$transpose_b);
  let results = (outs FloatTensor:$c);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

class PoolAttrs {
  dag args = (ins DenseI64ArrayAttr:$dilation, DenseI64ArrayAttr:$kernel,
                  DenseI64ArrayAttr:$pad, DenseI64ArrayAttr:$stride);
}

def MaxPoolOp : Kernel<"max_pool", [Differentiable]> {
  let summary = "largest element of each window, and which tap it was";
  let arguments = !con((ins FloatTensor:$x), PoolAttrs<>.args);
  let results = (outs FloatTensor:$y, TapTensor:$index);
  let hasVerifier = 1;
}
def MaxPoolGradOp : Kernel<"max_pool_grad"> {
  let summary = "gradient of max_pool";
  let arguments = !con((ins FloatTensor:$dy, TapTensor:$index), PoolAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}
def AvgPoolOp : Kernel<"avg_pool", [Differentiable]> {
  let summary = "mean of each window";
  let arguments = !con((ins FloatTensor:$x, BoolAttr:$count_include_pad), PoolAttrs<>.args);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def AvgPoolGradOp : Kernel<"avg_pool_grad"> {
  let summary = "gradient of avg_pool";
  let arguments = !con((ins FloatTensor:$dy, BoolAttr:$count_include_pad), PoolAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

def BatchNormOp : PureOp<"batch_norm", [Differentiable]> {
  let summary = "batch normalization with the batch's statistics";
  let description = [{
    `momentum` is ONNX's: new = momentum * old + (1 - momentum) * batch; the new
    variance takes PyTorch's unbiased batch variance. In the form `imported`
    only y is used and the op stands for either mode. Decomposes into
    batch_norm_stats and maps after differentiation.
  }];
  let arguments = (ins FloatTensor:$x, FloatTensor:$scale, FloatTensor:$bias,
                       FloatTensor:$running_mean, FloatTensor:$running_variance,
                       F32Attr:$epsilon, F32Attr:$momentum);
  let results = (outs FloatTensor:$y, FloatTensor:$mean, FloatTensor:$invstd,
                      FloatTensor:$new_mean, FloatTensor:$new_variance);
  let hasVerifier = 1;
}
def BatchNormGradOp : PureOp<"batch_norm_grad"> {
  let summary = "gradient of batch_norm";
  let description = "Decomposes into batch_norm_grad_stats and a map.";
  let arguments = (ins FloatTensor:$dy, FloatTensor:$x, FloatTensor:$scale,
                       FloatTensor:$mean, FloatTensor:$invstd);
  let results = (outs FloatTensor:$dx, FloatTensor:$dscale, FloatTensor:$dbias);
}
def BatchNormStatsOp : Kernel<"batch_norm_stats"> {
  let summary = "mean, biased variance and 1/sqrt(variance + epsilon) per channel";
  let arguments = (ins FloatTensor:$x, F32Attr:$epsilon);
  let results = (outs FloatTensor:$mean, FloatTensor:$variance, FloatTensor:$invstd);
}
def BatchNormGradStatsOp : Kernel<"batch_norm_grad_stats"> {
  let summary = "the two sums of the gradient of batch normalization";
  let arguments = (ins FloatTensor:$dy, FloatTensor:$x, FloatTensor:$mean, FloatTensor:$invstd);
  let results = (outs FloatTensor:$dscale, FloatTensor:$dbias);
}

class LrnAttrs {
  dag args = (ins F32Attr:$alpha, F32Attr:$beta, F32Attr:$bias, I64Attr:$size);
}
def LrnOp : Kernel<"lrn", [Differentiable]> {
  let summary = "local response normalization across channels";
  let arguments = !con((ins FloatTensor:$x), LrnAttrs<>.args);
  let results = (outs FloatTensor:$y);
}
def LrnGradOp : Kernel<"lrn_grad"> {
  let summary = "gradient of lrn";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$x), LrnAttrs<>.args);
  let results = (outs FloatTensor:$dx);
}

//===----------------------------------------------------------------------===//
// Softmax and losses
//===----------------------------------------------------------------------===//

class SoftmaxAttrs {
  dag args = (ins I64Attr:$axis, DefaultValuedAttr<BoolAttr, "false">:$log);
}
def SoftmaxOp : Kernel<"softmax", [Differentiable]> {
  let summary = "softmax or log-softmax along an axis";
  let arguments = !con((ins FloatTensor:$x), SoftmaxAttrs<>.args);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SoftmaxGradOp : Kernel<"softmax_grad"> {
  let summary = "gradient of softmax";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$y), SoftmaxAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}

class LossAttrs {
  dag args = (ins DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                  DefaultValuedAttr<BoolAttr, "false">:$sum);
}
def CrossEntropyOp : Kernel<"cross_entropy", [Differentiable]> {
  let summary = "cross entropy of logits against class labels";
  let arguments = !con((ins FloatTensor:$logits, LabelTensor:$labels, Optional<FloatTensor>:$weight),
                       LossAttrs<>.args);
  let results = (outs ScalarTensor:$loss, FloatTensor:$probs);
  let hasVerifier = 1;
}
def CrossEntropyGradOp : Kernel<"cross_entropy_grad"> {
  let summary = "gradient of cross_entropy";
  let arguments = !con((ins ScalarTensor:$dloss, FloatTensor:$probs, LabelTensor:$labels,
                            Optional<FloatTensor>:$weight), LossAttrs<>.args);
  let results = (outs FloatTensor:$dlogits);
}
def NllLossOp : Kernel<"nll_loss", [Differentiable]> {
  let summary = "negative log-likelihood of class labels";
  let arguments = !con((ins FloatTensor:$logprobs, LabelTensor:$labels, Optional<FloatTensor>:$weight),
                       LossAttrs<>.args);
  let results = (outs ScalarTensor:$loss);
  let hasVerifier = 1;
}
def NllLossGradOp : Kernel<"nll_loss_grad"> {
  let summary = "gradient of nll_loss";
  let arguments = !con((ins ScalarTensor:$dloss, LabelTensor:$labels, Optional<FloatTensor>:$weight),
                       LossAttrs<>.args);
  let results = (outs FloatTensor:$dlogprobs);
}
def LossWeightOp : Kernel<"loss_weight"> {
  let summary = "what a mean of losses divides by: the sum of the labels' weights";
  let arguments = (ins LabelTensor:$labels, Optional<FloatTensor>:$weight,
                       I64Attr:$classes, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs ScalarTensor:$sum);
}
def AccuracyOp : Kernel<"accuracy"> {
  let summary = "how many labels are among the one and the five largest logits";
  let arguments = (ins FloatTensor:$logits, LabelTensor:$labels);
  let results = (outs FloatTensor:$counts);
}
def OneHotOp : Kernel<"one_hot"> {
  let summary = "1 where a class is the label, else 0; of classes from first_class on";
  let description = "Labels are [n, ...], y is [n, classes, ...].";
  let arguments = (ins LabelTensor:$labels, DefaultValuedAttr<I64Attr, "0">:$first_class,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def LabelRankOp : Kernel<"label_rank"> {
  let summary = "how many logits rank before the label's own";
  let description = [{
    Logits [n, classes, ...] are those of the classes from first_class on; `own`
    and the rank are [n, 1, ...]. A label below zero has an infinite rank.
  }];
  let arguments = (ins FloatTensor:$logits, FloatTensor:$own, LabelTensor:$labels,
                       DefaultValuedAttr<I64Attr, "0">:$first_class);
  let results = (outs FloatTensor:$rank);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Reductions and data movement
//===----------------------------------------------------------------------===//

def ReduceOp : Kernel<"reduce", [Differentiable]> {
  let summary = "sum or mean over axes (kept with extent 1, or dropped)";
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$axes, BoolAttr:$mean);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def ReduceMaxOp : Kernel<"reduce_max"> {
  let summary = "the largest element along an axis, which is kept with extent 1";
  let arguments = (ins FloatTensor:$x, I64Attr:$axis);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def ReshapeOp : Kernel<"reshape", [Differentiable]> {
  let summary = "the same elements in row-major order, another shape";
  let arguments = (ins FloatTensor:$x);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def TransposeOp : Kernel<"transpose", [Differentiable]> {
  let summary = "permutes dimensions: y's dimension d is x's dimension perm[d]";
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def ConcatOp : Kernel<"concat", [Differentiable]> {
  let summary = "joins tensors along an axis";
  let arguments = (ins Variadic<FloatTensor>:$xs, I64Attr:$axis);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SplitOp : Kernel<"split", [Differentiable]> {
  let summary = "cuts a tensor along an axis";
  let arguments = (ins FloatTensor:$x, I64Attr:$axis, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<FloatTensor>:$ys);
  let hasVerifier = 1;
}
def PadOp : Kernel<"pad", [Differentiable]> {
  let summary = "constant border; negative `low` or a smaller result crops";
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$low, F32Attr:$value);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SliceOp : Kernel<"slice", [Differentiable]> {
  let summary = "y[i] = x[start + i * step]";
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SliceGradOp : Kernel<"slice_grad"> {
  let summary = "zeros, with dy at the elements that slice took";
  let arguments = (ins FloatTensor:$dy, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}
def SumOp : Kernel<"sum", [DeclareOpInterfaceMethods<TiedOpInterface, ["mayOverwrite"]>]> {
  let summary = "the sum of tensors of one shape, in their order";
  let arguments = (ins Variadic<FloatTensor>:$xs);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def TransferOp : Kernel<"transfer"> {
  let summary = "x, which lies on another device, on the device of the result";
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$y);
  let hasVerifier = 1;
}
def FillOp : Kernel<"fill"> {
  let summary = "a constant that some op reads from memory";
  let arguments = (ins F32Attr:$value);
  let results = (outs FloatTensor:$y);
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

def SgdOp : Kernel<"sgd", [DeclareOpInterfaceMethods<TiedOpInterface, ["tiedOperand"]>,
                           DeclareOpInterfaceMethods<UpdateOpInterface>]> {
  let summary = "stochastic gradient descent with momentum, PyTorch's semantics";
  let description = [{
    Learning rate, momentum, Nesterov and weight decay are read from `scalars`.
    Where `loss` is not finite nothing changes. The gradient is the sum of `gs`
    in their order, which may lie on other devices once they are scheduled.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, Variadic<FloatTensor>:$gs);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new);
  let extraClassDefinition = [{
    unsigned $cppClass::getNumStates() { return 1; }
    ::mlir::MutableOperandRange $cppClass::getGradientTerms() { return getGsMutable(); }
  }];
}

def MatMulSgdOp : Kernel<"matmul_sgd", [DeclareOpInterfaceMethods<TiedOpInterface, ["tiedOperand"]>]> {
  let summary = "data gradient, weight gradient and update of y = x * transposed w";
  let description = [{
    dx = dy * w, and w and m as `sgd` updates them with the gradient
    transposed dy * x, which is never stored. Made by `train-fuse-updates`.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, FloatTensor:$dy, FloatTensor:$x);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new, FloatTensor:$dx);
}

#endif // LWCC_IR_TRAIN_OPS
