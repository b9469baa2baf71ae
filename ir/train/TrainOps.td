//===- TrainOps.td - The train dialect ---------------------*- tablegen -*-===//
//
// A training step on values: forward, backward and update. README.md has the
// forms and their invariants. Long because it is a list: one record an op, looked
// up by name, and no code.
//
// An op marked `Kernel` is one call of the runtime function of the same name
// (runtime/core/Ops.h). Its record says of that function:
//   - its tensors: the op's results, then its operands, in order; optional ones
//     stand last;
//   - the fields of its parameter struct: the op's attributes. A field that is
//     DefaultValuedAttr has that default in the struct, too; others are always
//     said;
//   - what a call may do with memory, and what its time depends on (`Kernel`
//     below).
// How it is cut, differentiated and verified is in its family's file in ops/.
//
// Tensors have static shapes, f32 unless said otherwise; images are
// [n, c, h, w]. After sharding, a type's encoding is #train.place.
//
// Every pass keeps the discardable attributes train.work (the layer, phase and
// tile that the op serves) and train.names (the tensor that each result is, or is
// a tile of, by its ONNX name).
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
def MapTensor : RankedTensorOf<[F32, I32, UI8]>; // what a map loads and stores
def ScalarTensor : 0DTensorOf<[F32]>;
def ScalarsTensor : RankedTensorOf<[UI8]>; // tensor<64xui8>: StepScalars

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

/// The tensors among an op's arguments or results, as an Arity in C++: so many,
/// then perhaps a list of any length.
class ArityOf<dag values> {
  defvar tensors = !filter(i, !range(!size(values)),
      !initialized(!getdagarg<TypeConstraint>(values, i)));
  defvar single = !filter(i, tensors,
      !not(!isa<Variadic>(!getdagarg<TypeConstraint>(values, i))));
  string text = "{" # !size(single) # ", " #
      !if(!eq(!size(single), !size(tensors)), "false", "true") # "}";
}

/// One call of the runtime function of this name. What KernelOpInterface asks:
class Kernel<string mnemonic, list<Trait> traits = []>
    : PureOp<mnemonic, !listconcat([KernelOpInterface], traits)> {
  string resultTensors = ArityOf<results>.text;
  string operandTensors = ArityOf<arguments>.text;
  /// The fields on which the time of a call depends, in the order of keys.
  list<string> priced = [];
  /// Whether ops/ defines arithmetic().
  bit multiplies = false;
  /// Whether ops/ defines movement().
  bit moves = false;
  /// Whether a call reads no more than it makes, of an operand that has more.
  bit selects = false;
  /// Whether `operand` may lie on another device: a condition in C++.
  string elsewhere = "false";
  /// Whether operands may be parts of tensors: a Parts in C++.
  string strided = "Parts::never";
  /// How `result` may share the memory of `operand`: a Sharing in C++.
  string shares = "Sharing::forbidden";

  let extraClassDeclaration = "static Arity resultArity() { return " # resultTensors # "; }\n"
    # "static Arity operandArity() { return " # operandTensors # "; }\n"
    # !if(!empty(priced), "",
        "static ::llvm::ArrayRef<::llvm::StringRef> pricedFields() {\n"
        # "  static const ::llvm::StringRef list[] = {\"" # !interleave(priced, "\", \"")
        # "\"};\n  return list;\n}\n")
    # !if(multiplies, "static Arithmetic arithmetic(const CallShape &call);\n", "")
    # !if(moves, "static Movement movement(const CallTypes &call);\n", "")
    # !if(selects, "static bool selects() { return true; }\n", "")
    # "static bool mayLieElsewhere(unsigned operand) { return " # elsewhere # "; }\n"
    # "static Parts parts() { return " # strided # "; }\n"
    # "static Sharing sharing(unsigned result, unsigned operand) { return " # shares # "; }\n";
}

/// Stands in the backward pass.
def Gradient : NativeOpTrait<"GradientOp"> {
  let cppNamespace = "::lwcc::train";
}

def Tileable : DeclareOpInterfaceMethods<TileableOpInterface>;
/// One that cannot be cut along every dimension that it has.
def TileableIfAllowed : DeclareOpInterfaceMethods<TileableOpInterface, ["allows"]>;
def Differentiable : DeclareOpInterfaceMethods<DifferentiableOpInterface>;
/// Cut like what it reads.
def Following : NativeOpTrait<"FollowingOp"> {
  let cppNamespace = "::lwcc::train";
}
def Update : DeclareOpInterfaceMethods<UpdateOpInterface>;
/// One that there is a kernel for which makes the gradient, too.
/// One that may not be made in parts.
def UpdateOfWhole : DeclareOpInterfaceMethods<UpdateOpInterface, ["needsWhole"]>;
def UpdateWithProducts : DeclareOpInterfaceMethods<UpdateOpInterface, ["buildWithProducts"]>;
def LabelLoss : DeclareOpInterfaceMethods<LabelLossOpInterface>;
def LabelLossGradient : DeclareOpInterfaceMethods<LabelLossOpInterface, ["getLossGradient"]>;
/// Along an axis that is an attribute; without a mark the classes are channels.
def AlongAxis : DeclareOpInterfaceMethods<ClassesOpInterface, ["getClassDimension"]>;

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// A role, read and set as the enum.
def StateRole : Attr<And<[RoleAttr.predicate,
    CPred<"::lwcc::isState(::llvm::cast<::lwcc::train::RoleAttr>($_self).getValue())">]>,
    "the role of a state tensor"> {
  let storageType = "::lwcc::train::RoleAttr";
  let returnType = "::lwcc::Role";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall = "::lwcc::train::RoleAttr::get($_builder.getContext(), $0)";
}

def ParameterOp : TrainOp<"parameter", [Symbol]> {
  let summary = "a persistent tensor, by its ONNX name";
  let description = [{
    Weights, biases, running statistics, optimizer state and the model's
    constants. `init` is what the file says, `fresh` PyTorch's default for the
    layer that uses it (for --init=fresh; absent: same as init).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FloatTensor>:$type,
                       StateRole:$role, InitAttr:$init,
                       OptionalAttr<InitAttr>:$fresh);
  let assemblyFormat = [{
    custom<Role>($role) $sym_name `:` $type `init` `` $init (`fresh` `` $fresh^)? attr-dict
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

def MapOp : PureOp<"map", [AttrSizedOperandSegments, KernelOpInterface, Differentiable,
                           Tileable, Following]> {
  let summary = "an elementwise expression with broadcasting";
  let description = [{
    `expr` is an expression (Expression.h) over x0, x1, ...: the inputs, each
    broadcast numpy-style to the result's shape. It is computed in float32,
    whatever the types of its tensors are. `fn` names the row of the
    elementwise table (Elementwise.h) that it comes from, with the row's
    parameters in `params`; only such an op has a gradient, and fusion drops
    both. An expression that draws random numbers needs `scalars`.

    Becomes one generated kernel (codegen), one call of the runtime's `map`.
  }];
  let arguments = (ins Variadic<MapTensor>:$inputs, Optional<ScalarsTensor>:$scalars,
                       StrAttr:$expr, OptionalAttr<StrAttr>:$fn,
                       OptionalAttr<DictionaryAttr>:$params);
  let results = (outs MapTensor:$y);
  let assemblyFormat = [{
    $expr `(` $inputs `)` (`scalars` `(` $scalars^ `:` type($scalars) `)`)? attr-dict `:`
    functional-type($inputs, $y)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
  let extraClassDeclaration = [{
    /// Whether it is a row of the table that has gradients.
    bool hasGradient();

    // The call takes a generated kernel, a list of inputs and perhaps scalars.
    static Arity resultArity() { return {1, false}; }
    static Arity operandArity() { return {0, true}; }
    static ::llvm::ArrayRef<::llvm::StringRef> fields();
    static ::mlir::Attribute defaultOf(::mlir::MLIRContext *, ::llvm::StringRef) {
      return {};
    }
    // Element i of the inputs is read before element i of the result is written.
    static Sharing sharing(unsigned, unsigned) { return Sharing::allowed; }
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

def Steps : DefaultValuedAttr<DenseI64ArrayAttr, "{1, 1}">;      // vertical, horizontal
def Border : DefaultValuedAttr<DenseI64ArrayAttr, "{0, 0, 0, 0}">; // top, left, bottom, right

class ConvAttrs {
  dag args = (ins Steps:$dilation, DefaultValuedAttr<I64Attr, "1">:$group,
                  Border:$pad, Steps:$stride);
}
class ConvKernel<string mnemonic, list<Trait> traits = []>
    : Kernel<mnemonic, !listconcat([TileableIfAllowed], traits)> {
  let priced = ["stride", "dilation", "group"];
  let multiplies = true;
}

def ConvOp : ConvKernel<"conv", [Differentiable, FusedReluOpInterface]> {
  let summary = "ONNX Conv in two dimensions";
  let arguments = !con((ins FloatTensor:$x, FloatTensor:$w, Optional<FloatTensor>:$bias),
                       ConvAttrs<>.args, (ins DefaultValuedAttr<BoolAttr, "false">:$relu));
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def ConvGradInputOp : ConvKernel<"conv_grad_input", [Differentiable, Gradient]> {
  let summary = "gradient of a convolution's data; transposed convolution";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$w), ConvAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}
def ConvGradWeightOp : ConvKernel<"conv_grad_weight", [Gradient]> {
  let summary = "gradient of a convolution's weights and bias";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$x), ConvAttrs<>.args);
  let results = (outs FloatTensor:$dw, Optional<FloatTensor>:$dbias);
  let hasVerifier = 1;
}

def MatMulOp : Kernel<"matmul", [Differentiable, Tileable, FusedReluOpInterface]> {
  let summary = "op(a) * op(b) + bias over the last two dimensions";
  let priced = ["transpose_a", "transpose_b"];
  let multiplies = true;
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
// Attention
//===----------------------------------------------------------------------===//

/// Which part of the last dimension is one head, and what scores are multiplied
/// by.
class AttentionAttrs {
  dag args = (ins I64Attr:$heads, F32Attr:$scale);
}
class AttentionKernel<string mnemonic, list<Trait> traits = []>
    : Kernel<mnemonic, !listconcat([Tileable], traits)> {
  let priced = ["heads"];
  let multiplies = true;
}

def AttentionOp : AttentionKernel<"attention", [Differentiable]> {
  let summary = "softmax(scale * q k^T + mask) v, for each head";
  let description = [{
    q [n, m, heads * d], k [n, s, heads * d], v [n, s, heads * e], mask [m, s],
    y [n, m, heads * e]. `largest` and `inverse` [n, heads, m] are of each row of
    scores its largest element and 1 / the sum of the exponentials below that:
    with them the gradient computes the row again, which nobody stores. No
    gradient flows through the two, nor to the mask. Made by
    `train-fuse-attention`.
  }];
  let arguments = !con((ins FloatTensor:$q, FloatTensor:$k, FloatTensor:$v,
                            Optional<FloatTensor>:$mask), AttentionAttrs<>.args);
  let results = (outs FloatTensor:$y, FloatTensor:$largest, FloatTensor:$inverse);
  let hasVerifier = 1;
}
def AttentionGradOp : AttentionKernel<"attention_grad", [Gradient]> {
  let summary = "gradient of attention, given the statistics of its scores";
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$q, FloatTensor:$k, FloatTensor:$v,
                            FloatTensor:$largest, FloatTensor:$inverse,
                            Optional<FloatTensor>:$mask), AttentionAttrs<>.args);
  let results = (outs FloatTensor:$dq, FloatTensor:$dk, FloatTensor:$dv);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Pooling
//===----------------------------------------------------------------------===//

class PoolAttrs {
  dag args = (ins Steps:$dilation, DenseI64ArrayAttr:$kernel, Border:$pad, Steps:$stride);
}
class PoolKernel<string mnemonic, list<Trait> traits = []>
    : Kernel<mnemonic, !listconcat([Tileable], traits)> {
  let priced = ["kernel", "stride", "dilation"];
}

def MaxPoolOp : PoolKernel<"max_pool", [Differentiable]> {
  let summary = "largest element of each window, and which tap it was";
  let arguments = !con((ins FloatTensor:$x), PoolAttrs<>.args);
  let results = (outs FloatTensor:$y, TapTensor:$index);
  let hasVerifier = 1;
}
def MaxPoolGradOp : PoolKernel<"max_pool_grad", [Gradient]> {
  let summary = "gradient of max_pool";
  let arguments = !con((ins FloatTensor:$dy, TapTensor:$index), PoolAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}
def AvgPoolOp : PoolKernel<"avg_pool", [Differentiable]> {
  let summary = "mean of each window";
  let arguments = !con((ins FloatTensor:$x, DefaultValuedAttr<BoolAttr, "false">:$count_include_pad), PoolAttrs<>.args);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def AvgPoolGradOp : PoolKernel<"avg_pool_grad", [Gradient]> {
  let summary = "gradient of avg_pool";
  let arguments = !con((ins FloatTensor:$dy, DefaultValuedAttr<BoolAttr, "false">:$count_include_pad), PoolAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Normalization
//===----------------------------------------------------------------------===//

/// How many consecutive samples are normalized by themselves; 0: all together.
def Group : DefaultValuedAttr<I64Attr, "0">;
/// How many samples of a tile's first group lie before the tile.
def Skip : DefaultValuedAttr<I64Attr, "0">;

def BatchNormOp : PureOp<"batch_norm", [Differentiable]> {
  let summary = "batch normalization with the batch's statistics";
  let description = [{
    `momentum` is ONNX's: new = momentum * old + (1 - momentum) * batch; the new
    variance takes PyTorch's unbiased batch variance. In the form `imported`
    only y is used and the op stands for either mode. Decomposes into
    batch_norm_stats and maps after differentiation.

    mean and invstd are [c, 1, ...], which broadcast over the images. With a
    `group`, so many consecutive samples have statistics of their own: mean and
    invstd are [groups, c, 1, ...], and the running statistics take the mean over
    the groups. train-split-modes sets it.
  }];
  let arguments = (ins FloatTensor:$x, FloatTensor:$scale, FloatTensor:$bias,
                       FloatTensor:$running_mean, FloatTensor:$running_variance,
                       F32Attr:$epsilon, F32Attr:$momentum, Group:$group);
  let results = (outs FloatTensor:$y, FloatTensor:$mean, FloatTensor:$invstd,
                      FloatTensor:$new_mean, FloatTensor:$new_variance);
  let hasVerifier = 1;
}
def BatchNormGradOp : PureOp<"batch_norm_grad", [Gradient]> {
  let summary = "gradient of batch_norm";
  let description = "Decomposes into batch_norm_grad_stats and a map.";
  let arguments = (ins FloatTensor:$dy, FloatTensor:$x, FloatTensor:$scale,
                       FloatTensor:$mean, FloatTensor:$invstd, Group:$group);
  let results = (outs FloatTensor:$dx, FloatTensor:$dscale, FloatTensor:$dbias);
}
def BatchNormStatsOp : Kernel<"batch_norm_stats", [Tileable, Following]> {
  let summary = "mean, biased variance and 1/sqrt(variance + epsilon) per channel";
  let description = [{
    Each is [c, 1, ...], of all samples; with a `group`, [groups, c, 1, ...], of
    so many consecutive samples each. A tile has the groups that its samples
    meet; `skip` samples of the first of them lie before it.
  }];
  let arguments = (ins FloatTensor:$x, F32Attr:$epsilon, Group:$group, Skip:$skip);
  let results = (outs FloatTensor:$mean, FloatTensor:$variance, FloatTensor:$invstd);
  let hasVerifier = 1;
}
def BatchNormGradStatsOp : Kernel<"batch_norm_grad_stats", [Gradient, Tileable, Following]> {
  let summary = "the two sums of the gradient of batch normalization";
  let description = "In groups as batch_norm_stats; mean and invstd have the shape of the results.";
  let arguments = (ins FloatTensor:$dy, FloatTensor:$x, FloatTensor:$mean, FloatTensor:$invstd,
                       Group:$group, Skip:$skip);
  let results = (outs FloatTensor:$dscale, FloatTensor:$dbias);
  let hasVerifier = 1;
}
def RepeatOp : Kernel<"repeat", [Tileable, Following]> {
  let summary = "y[i] = x[(skip + i) / group]: what groups have, for each of their samples";
  let arguments = (ins FloatTensor:$x, I64Attr:$group, Skip:$skip);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}

/// Whether a row's mean is subtracted.
def Center : DefaultValuedAttr<BoolAttr, "true">;

def LayerNormOp : Kernel<"layer_norm", [Differentiable, Tileable]> {
  let summary = "rows along the last dimension, less their mean, times 1/sqrt(variance + epsilon)";
  let description = [{
    `invstd` is that factor, of extent 1 along the last dimension. The gradient
    reads it; none flows through it. Without `center` no mean is subtracted, and
    the variance is the mean of the squares: RMS normalization.
  }];
  // A row is read before it is written, element by element.
  let shares = "result == 0 ? Sharing::allowed : Sharing::forbidden";
  let arguments = (ins FloatTensor:$x, Center:$center, F32Attr:$epsilon);
  let results = (outs FloatTensor:$y, FloatTensor:$invstd);
  let hasVerifier = 1;
}
def LayerNormGradOp : Kernel<"layer_norm_grad", [Gradient, Tileable]> {
  let summary = "gradient of layer_norm, given its results";
  let shares = "operand < 2 ? Sharing::allowed : Sharing::forbidden";
  let arguments = (ins FloatTensor:$dy, FloatTensor:$y, FloatTensor:$invstd, Center:$center);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}

class LrnAttrs {
  dag args = (ins F32Attr:$alpha, F32Attr:$beta, F32Attr:$bias, I64Attr:$size);
}
def LrnOp : Kernel<"lrn", [Differentiable, Tileable]> {
  let summary = "local response normalization across channels";
  let arguments = !con((ins FloatTensor:$x), LrnAttrs<>.args);
  let results = (outs FloatTensor:$y);
}
def LrnGradOp : Kernel<"lrn_grad", [Gradient, Tileable]> {
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
def SoftmaxOp : Kernel<"softmax", [Differentiable, Tileable, AlongAxis]> {
  let summary = "softmax or log-softmax along an axis";
  let priced = ["axis"];
  let arguments = !con((ins FloatTensor:$x), SoftmaxAttrs<>.args);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SoftmaxGradOp : Kernel<"softmax_grad", [Gradient, Tileable, AlongAxis]> {
  let summary = "gradient of softmax";
  let priced = ["axis"];
  let arguments = !con((ins FloatTensor:$dy, FloatTensor:$y), SoftmaxAttrs<>.args);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}

class LossAttrs {
  dag args = (ins DefaultValuedAttr<I64Attr, "-100">:$ignore_index,
                  DefaultValuedAttr<BoolAttr, "false">:$sum);
}
def CrossEntropyOp : Kernel<"cross_entropy", [Differentiable, Tileable, LabelLoss, ClassesOpInterface]> {
  let summary = "cross entropy of logits against class labels";
  let arguments = !con((ins FloatTensor:$logits, LabelTensor:$labels, Optional<FloatTensor>:$weight),
                       LossAttrs<>.args);
  let results = (outs ScalarTensor:$loss, FloatTensor:$probs);
  let hasVerifier = 1;
}
def CrossEntropyGradOp : Kernel<"cross_entropy_grad", [Gradient, Tileable, LabelLossGradient,
                                                       ClassesOpInterface]> {
  let summary = "gradient of cross_entropy";
  let arguments = !con((ins ScalarTensor:$dloss, FloatTensor:$probs, LabelTensor:$labels,
                            Optional<FloatTensor>:$weight), LossAttrs<>.args);
  let results = (outs FloatTensor:$dlogits);
}
def NllLossOp : Kernel<"nll_loss", [Differentiable, Tileable, LabelLoss, ClassesOpInterface]> {
  let summary = "negative log-likelihood of class labels";
  let arguments = !con((ins FloatTensor:$logprobs, LabelTensor:$labels, Optional<FloatTensor>:$weight),
                       LossAttrs<>.args);
  let results = (outs ScalarTensor:$loss);
  let hasVerifier = 1;
}
def NllLossGradOp : Kernel<"nll_loss_grad", [Gradient, Tileable, LabelLossGradient,
                                             ClassesOpInterface]> {
  let summary = "gradient of nll_loss";
  let arguments = !con((ins ScalarTensor:$dloss, LabelTensor:$labels, Optional<FloatTensor>:$weight),
                       LossAttrs<>.args);
  let results = (outs FloatTensor:$dlogprobs);
}
def LossWeightOp : Kernel<"loss_weight", [Tileable]> {
  let summary = "what a mean of losses divides by: the sum of the labels' weights";
  let arguments = (ins LabelTensor:$labels, Optional<FloatTensor>:$weight,
                       I64Attr:$classes, DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs ScalarTensor:$sum);
}
def AccuracyOp : Kernel<"accuracy", [Tileable, ClassesOpInterface]> {
  let summary = "how many labels are among the one and the five largest logits";
  let arguments = (ins FloatTensor:$logits, LabelTensor:$labels);
  let results = (outs FloatTensor:$counts);
}
def OneHotOp : Kernel<"one_hot", [Tileable]> {
  let summary = "1 where a class is the label, else 0; of classes from first_class on";
  let description = "Labels are [n, ...], y is [n, classes, ...].";
  let arguments = (ins LabelTensor:$labels, DefaultValuedAttr<I64Attr, "0">:$first_class,
                       DefaultValuedAttr<I64Attr, "-100">:$ignore_index);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def LabelRankOp : Kernel<"label_rank", [Tileable]> {
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

def ReduceOp : Kernel<"reduce", [Differentiable, Tileable]> {
  let summary = "sum or mean over axes (kept with extent 1, or dropped)";
  let priced = ["axes", "mean"];
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$axes,
                       DefaultValuedAttr<BoolAttr, "false">:$mean);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def ReduceMaxOp : Kernel<"reduce_max", [Differentiable, Tileable]> {
  let summary = "the largest element along an axis, which is kept with extent 1";
  let priced = ["axis"];
  let arguments = (ins FloatTensor:$x, I64Attr:$axis);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def EmbeddingOp : Kernel<"embedding", [Differentiable, Tileable]> {
  let summary = "rows of a table by their numbers";
  let description = [{
    The table is [rows, d], or [n, rows, d] where each sample has its own; numbers
    are [n, t], and what is taken is [n, t, d]. Numbers are data: whole floats,
    below zero from the table's end.
  }];
  let selects = true;
  let arguments = (ins FloatTensor:$table, FloatTensor:$at);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def EmbeddingGradOp : Kernel<"embedding_grad", [Gradient, Tileable]> {
  let summary = "gradient of embedding with respect to its table";
  let arguments = (ins FloatTensor:$dy, FloatTensor:$at);
  let results = (outs FloatTensor:$dtable);
  let hasVerifier = 1;
}
def ReshapeOp : Kernel<"reshape", [Differentiable, Tileable, Following]> {
  let summary = "the same elements in row-major order, another shape";
  let moves = true;
  let arguments = (ins FloatTensor:$x);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def TransposeOp : Kernel<"transpose", [Differentiable, Tileable]> {
  let summary = "permutes dimensions: y's dimension d is x's dimension perm[d]";
  let priced = ["perm"];
  let moves = true;
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
  let hasFolder = 1;
}
def ConcatOp : Kernel<"concat", [Differentiable, Tileable]> {
  let summary = "joins tensors along an axis";
  let priced = ["axis"];
  let elsewhere = "true";
  let strided = "Parts::each";
  let moves = true;
  let arguments = (ins Variadic<FloatTensor>:$xs, I64Attr:$axis);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SplitOp : Kernel<"split", [Differentiable, Tileable]> {
  let summary = "cuts a tensor along an axis";
  let priced = ["axis"];
  let moves = true;
  let arguments = (ins FloatTensor:$x, I64Attr:$axis, DenseI64ArrayAttr:$sizes);
  let results = (outs Variadic<FloatTensor>:$ys);
  let hasVerifier = 1;
}
def PadOp : Kernel<"pad", [Differentiable, Tileable]> {
  let summary = "constant border; negative `low` or a smaller result crops";
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$low, F32Attr:$value);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SliceOp : Kernel<"slice", [Differentiable, Tileable]> {
  let summary = "y[i] = x[start + i * step]";
  let selects = true;
  let moves = true;
  let arguments = (ins FloatTensor:$x, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def SliceGradOp : Kernel<"slice_grad", [Gradient, Tileable]> {
  let summary = "zeros, with dy at the elements that slice took";
  let arguments = (ins FloatTensor:$dy, DenseI64ArrayAttr:$start, DenseI64ArrayAttr:$step);
  let results = (outs FloatTensor:$dx);
  let hasVerifier = 1;
}
def SumOp : Kernel<"sum"> {
  let summary = "the sum of tensors of one shape, in their order";
  let elsewhere = "true";
  let strided = "Parts::alike";
  // Element i of the operands is read before element i of the result is written.
  let shares = "operand == 0 ? Sharing::allowed : Sharing::forbidden";
  let arguments = (ins Variadic<FloatTensor>:$xs);
  let results = (outs FloatTensor:$y);
  let hasVerifier = 1;
}
def TransferOp : Kernel<"transfer"> {
  let summary = "x, which lies on another device, on the device of the result";
  let elsewhere = "true";
  // One call brings what several such ops do (passes/schedule/MergeTransfers.h).
  let resultTensors = "{0, true}";
  let operandTensors = "{0, true}";
  let moves = true;
  let arguments = (ins AnyRankedTensor:$x);
  let results = (outs AnyRankedTensor:$y);
  let hasVerifier = 1;
}
def FillOp : Kernel<"fill", [Following]> {
  let summary = "a constant that some op reads from memory";
  let arguments = (ins F32Attr:$value);
  let results = (outs FloatTensor:$y);
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

def ClipGradientsOp : PureOp<"clip_gradients", [Gradient]> {
  let summary = "all gradients of a step, made smaller where they are large together";
  let description = [{
    All are multiplied by `factor`, min(1, max_norm / (norm + 1e-6)), where norm
    is that of all their elements together and `squares` its square: PyTorch's
    clip_grad_norm_. It stands before all updates. Sharding makes maps of it,
    where the parts of the parameters are updated (passes/shard/ClipGradients.cpp).
  }];
  let arguments = (ins Variadic<FloatTensor>:$gs, F32Attr:$max_norm);
  let results = (outs ScalarTensor:$squares, ScalarTensor:$factor,
                      Variadic<FloatTensor>:$clipped);
  let hasVerifier = 1;
}

def AverageOp : PureOp<"average"> {
  let summary = "the moving average of a parameter over the steps";
  let description = [{
    updated = decay * average + (1 - decay) * value, behind the parameter's
    update. Sharding makes maps of it, where the parts of the parameter are
    updated (passes/shard/Updates.cpp).
  }];
  let arguments = (ins FloatTensor:$average, FloatTensor:$value, F32Attr:$decay);
  let results = (outs FloatTensor:$updated);
}

/// What an update makes of the step's learning rate and weight decay (form
/// imported: of its parameter).
defvar Scale = DefaultValuedAttr<F32Attr, "1.0f">;

/// Updates a parameter and `states` states in place.
class Optimizer<string mnemonic, int states, list<Trait> traits = [Update]>
    : Kernel<mnemonic, traits> {
  let shares = "result <= " # states
    # " && result == operand ? Sharing::required : Sharing::forbidden";
  string numStates = "unsigned $cppClass::getNumStates() { return " # states # "; }\n";
}

/// By the sum of the terms `gs`, which may lie on other devices once they are
/// scheduled.
class SummingOptimizer<string mnemonic, int states, list<Trait> traits = [Update]>
    : Optimizer<mnemonic, states, traits> {
  let elsewhere = "operand >= " # !add(states, 3); // gs
  let extraClassDefinition = numStates
    # "::mlir::MutableOperandRange $cppClass::getGradientTerms() { return getGsMutable(); }\n";
}

def SgdOp : SummingOptimizer<"sgd", 1, [UpdateWithProducts]> {
  let summary = "stochastic gradient descent with momentum, PyTorch's semantics";
  let description = [{
    Learning rate, momentum, Nesterov and weight decay are read from `scalars`.
    Where `loss` is not finite nothing changes. The gradient is the sum of `gs`
    in their order. All optimizers are alike in this.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, Variadic<FloatTensor>:$gs,
                       Scale:$decay_scale, Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new);
}

def AdamOp : SummingOptimizer<"adam", 2> {
  let summary = "Adam and AdamW, PyTorch's semantics";
  let description = [{
    `m` and `v` are the averages of the gradient and of its square. Which weight
    decay there is, the gradient's or the weight's, is read from `scalars`.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, FloatTensor:$v,
                       ScalarsTensor:$scalars, ScalarTensor:$loss,
                       Variadic<FloatTensor>:$gs, Scale:$decay_scale,
                       Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new, FloatTensor:$v_new);
}

def RmsPropOp : SummingOptimizer<"rmsprop", 2> {
  let summary = "RMSprop with momentum, PyTorch's semantics";
  let description = [{
    `v` is the average of the gradient's square.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$v, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, Variadic<FloatTensor>:$gs,
                       Scale:$decay_scale, Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$v_new, FloatTensor:$m_new);
}

def AdagradOp : SummingOptimizer<"adagrad", 1> {
  let summary = "Adagrad, PyTorch's semantics";
  let description = [{
    `v` is the sum of the gradient's squares.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$v, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, Variadic<FloatTensor>:$gs,
                       Scale:$decay_scale, Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$v_new);
}

def LionOp : SummingOptimizer<"lion", 1> {
  let summary = "Lion, its authors' semantics";
  let description = [{
    `m` is the average of the gradient.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, Variadic<FloatTensor>:$gs,
                       Scale:$decay_scale, Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new);
}

/// By norms of the whole parameter and gradient, which is read twice.
class NormOptimizer<string mnemonic, int states>
    : Optimizer<mnemonic, states, [UpdateOfWhole]> {
  let extraClassDefinition = numStates
    # "::mlir::MutableOperandRange $cppClass::getGradientTerms() { return getGsMutable(); }\n"
    # "bool $cppClass::needsWhole() { return true; }\n";
}

def LarsOp : NormOptimizer<"lars", 1> {
  let summary = "LARS: SGD with a learning rate by the norms of weight and gradient";
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, Variadic<FloatTensor>:$gs,
                       Scale:$decay_scale, Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new);
}

def LambOp : NormOptimizer<"lamb", 2> {
  let summary = "LAMB: Adam with a learning rate by the norms of weight and update";
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, FloatTensor:$v,
                       ScalarsTensor:$scalars, ScalarTensor:$loss,
                       Variadic<FloatTensor>:$gs, Scale:$decay_scale,
                       Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new, FloatTensor:$v_new);
}

def MatMulSgdOp : Optimizer<"matmul_sgd", 1> {
  let summary = "data gradient, weight gradient and update of y = x * transposed w";
  let multiplies = true;
  let description = [{
    dx = dy * w, and w and m as `sgd` updates them with the gradient
    transposed dy * x, which is never stored. Made by `train-fuse-updates`.
  }];
  let arguments = (ins FloatTensor:$w, FloatTensor:$m, ScalarsTensor:$scalars,
                       ScalarTensor:$loss, FloatTensor:$dy, FloatTensor:$x,
                       Scale:$decay_scale, Scale:$lr_scale);
  let results = (outs FloatTensor:$w_new, FloatTensor:$m_new, FloatTensor:$dx);
  let extraClassDefinition = numStates # [{
    ::mlir::MutableOperandRange $cppClass::getGradientTerms() {
      return ::mlir::MutableOperandRange(getOperation(), 0, 0);
    }
  }];
}

#endif // LWCC_IR_TRAIN_OPS
