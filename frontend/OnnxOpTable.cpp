//===- OnnxOpTable.cpp - The operators that lwcc imports ------------------===//

#include "frontend/OnnxOpTable.h"
#include "frontend/ConstantFolder.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace lwcc;
using namespace llvm;
using onnx::AttributeProto;

static constexpr int many = OnnxOp::many;

// clang-format off
static constexpr OnnxOp table[] = {
  // Layers
  {"Conv",                  1, 2, 3, "0 1 2", "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I", importConv},
  {"ConvTranspose",         1, 2, 3, "0 1 2", "auto_pad:s dilations:I group:i kernel_shape:I output_padding:I output_shape:I pads:I strides:I", importConvTranspose},
  {"Col2Im",               18, 3, 3, "0", "dilations:I pads:I strides:I", importCol2Im},
  {"Gemm",                  7, 2, 3, "0 1 2", "alpha:f beta:f transA:i transB:i", importGemm},
  {"MatMul",                1, 2, 2, "0 1", "", importMatMul},
  {"Einsum",               12, 1, many, "*", "equation:s", importEinsum},
  {"Attention",            23, 3, 7, "0 1 2 3 4 5", "is_causal:i kv_num_heads:i q_num_heads:i qk_matmul_output_mode:i scale:f softcap:f softmax_precision:i", importAttention},
  {"RNN",                   7, 3, 6, "0 1 2 3 5", "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i", importRecurrent},
  {"LSTM",                  7, 3, 8, "0 1 2 3 5 6", "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i input_forget:i", importRecurrent},
  {"GRU",                   7, 3, 6, "0 1 2 3 5", "activation_alpha:F activation_beta:F activations:S clip:f direction:s hidden_size:i layout:i linear_before_reset:i", importRecurrent},
  {"BatchNormalization",    7, 5, 5, "0 1 2", "epsilon:f momentum:f spatial:i training_mode:i", importBatchNorm},
  {"LayerNormalization",   17, 2, 3, "0 1 2", "axis:i epsilon:f stash_type:i", importLayerNorm},
  {"RMSNormalization",     23, 2, 2, "0 1", "axis:i epsilon:f stash_type:i", importLayerNorm},
  {"InstanceNormalization", 6, 3, 3, "0 1 2", "epsilon:f", importInstanceNorm},
  {"GroupNormalization",   18, 3, 3, "0 1 2", "epsilon:f num_groups:i stash_type:i", importGroupNorm},
  {"MeanVarianceNormalization", 9, 1, 1, "0", "axes:I", importMeanVarianceNorm},
  {"LpNormalization",       1, 1, 1, "0", "axis:i p:i", importLpNorm},
  {"LRN",                   1, 1, 1, "0", "alpha:f beta:f bias:f size:i", importLrn},
  {"MaxPool",               1, 1, 1, "0", "auto_pad:s ceil_mode:i dilations:I kernel_shape:I pads:I storage_order:i strides:I", importPool},
  {"AveragePool",           1, 1, 1, "0", "auto_pad:s ceil_mode:i count_include_pad:i dilations:I kernel_shape:I pads:I strides:I", importPool},
  {"GlobalAveragePool",     1, 1, 1, "0", "", importGlobalPool},
  {"GlobalMaxPool",         1, 1, 1, "0", "", importGlobalPool},
  {"Dropout",               7, 1, 3, "0", "ratio:f seed:i", importDropout},
  {"Softmax",               1, 1, 1, "0", "axis:i", importSoftmax},
  {"LogSoftmax",            1, 1, 1, "0", "axis:i", importSoftmax},
  {"SoftmaxCrossEntropyLoss", 12, 2, 3, "0", "ignore_index:i reduction:s", importLoss},
  {"NegativeLogLikelihoodLoss", 12, 2, 3, "0", "ignore_index:i reduction:s", importLoss},
  // Elementwise
  {"Abs",                   6, 1, 1, "0", "", importUnary, foldUnary, "abs"},
  {"Elu",                   6, 1, 1, "0", "alpha:f=1", importUnary, nullptr, "elu"},
  {"Erf",                   9, 1, 1, "0", "", importUnary, nullptr, "erf"},
  {"Exp",                   6, 1, 1, "0", "", importUnary, foldUnary, "exp"},
  {"HardSigmoid",           6, 1, 1, "0", "alpha:f=0.2 beta:f=0.5", importUnary, nullptr, "hard_sigmoid"},
  {"HardSwish",            14, 1, 1, "0", "", importUnary, nullptr, "hard_swish"},
  {"LeakyRelu",             6, 1, 1, "0", "alpha:f=0.01", importUnary, nullptr, "leaky_relu"},
  {"Log",                   6, 1, 1, "0", "", importUnary, foldUnary, "log"},
  {"Neg",                   6, 1, 1, "0", "", importUnary, foldUnary, "neg"},
  {"Reciprocal",            6, 1, 1, "0", "", importUnary, foldUnary, "reciprocal"},
  {"Relu",                  6, 1, 1, "0", "", importUnary, nullptr, "relu"},
  {"Sigmoid",               6, 1, 1, "0", "", importUnary, nullptr, "sigmoid"},
  {"Softplus",              1, 1, 1, "0", "", importUnary, nullptr, "softplus"},
  {"Sqrt",                  6, 1, 1, "0", "", importUnary, foldUnary, "sqrt"},
  {"Tanh",                  6, 1, 1, "0", "", importUnary, nullptr, "tanh"},
  {"Selu",                  6, 1, 1, "0", "alpha:f=1.6732632 gamma:f=1.0507009", importUnary, nullptr, "selu"},
  {"Celu",                 12, 1, 1, "0", "alpha:f=1", importUnary, nullptr, "celu"},
  {"Mish",                 18, 1, 1, "0", "", importUnary, nullptr, "mish"},
  {"Swish",                24, 1, 1, "0", "alpha:f=1", importUnary, nullptr, "swish"},
  {"ThresholdedRelu",      10, 1, 1, "0", "alpha:f=1", importUnary, nullptr, "thresholded_relu"},
  {"Shrink",                9, 1, 1, "0", "bias:f=0 lambd:f=0.5", importUnary, nullptr, "shrink"},
  {"Softsign",              1, 1, 1, "0", "", importUnary, nullptr, "softsign"},
  {"Sin",                   7, 1, 1, "0", "", importUnary, foldUnary, "sin"},
  {"Cos",                   7, 1, 1, "0", "", importUnary, foldUnary, "cos"},
  {"Tan",                   7, 1, 1, "0", "", importUnary, nullptr, "tan"},
  {"Asin",                  7, 1, 1, "0", "", importUnary, nullptr, "asin"},
  {"Acos",                  7, 1, 1, "0", "", importUnary, nullptr, "acos"},
  {"Atan",                  7, 1, 1, "0", "", importUnary, nullptr, "atan"},
  {"Sinh",                  9, 1, 1, "0", "", importUnary, nullptr, "sinh"},
  {"Cosh",                  9, 1, 1, "0", "", importUnary, nullptr, "cosh"},
  {"Asinh",                 9, 1, 1, "0", "", importUnary, nullptr, "asinh"},
  {"Acosh",                 9, 1, 1, "0", "", importUnary, nullptr, "acosh"},
  {"Atanh",                 9, 1, 1, "0", "", importUnary, nullptr, "atanh"},
  {"PRelu",                 7, 2, 2, "0 1", "", importPRelu},
  {"Clip",                  6, 1, 3, "0", "max:f min:f", importClip, foldClip},
  {"Gelu",                 20, 1, 1, "0", "approximate:s", importGelu},
  {"Add",                   7, 2, 2, "*", "", importNary, foldArithmetic, "add"},
  {"Sub",                   7, 2, 2, "*", "", importNary, foldArithmetic, "sub"},
  {"Mul",                   7, 2, 2, "*", "", importNary, foldArithmetic, "mul"},
  {"Div",                   7, 2, 2, "*", "", importNary, foldArithmetic, "div"},
  {"Max",                   6, 1, many, "*", "", importNary, foldArithmetic, "max"},
  {"Min",                   6, 1, many, "*", "", importNary, foldArithmetic, "min"},
  {"Sum",                   6, 1, many, "*", "", importNary, foldArithmetic, "add"},
  {"Mean",                  8, 1, many, "*", "", importNary, nullptr, "add"},
  {"Pow",                   7, 2, 2, "*", "", importPow, foldArithmetic, "pow"},
  {"Mod",                  10, 2, 2, "*", "fmod:i", importMod, foldArithmetic},
  // Reductions and data movement
  {"ReduceMean",            1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce},
  {"ReduceSum",             1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce, foldReduce},
  {"ReduceMax",             1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce, foldReduce},
  {"ReduceMin",             1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce, foldReduce},
  {"ReduceProd",            1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce, foldReduce},
  {"ReduceL1",              1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce},
  {"ReduceL2",              1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce},
  {"ReduceLogSum",          1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce},
  {"ReduceLogSumExp",       1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce},
  {"ReduceSumSquare",       1, 1, 2, "0", "axes:I keepdims:i noop_with_empty_axes:i", importReduce},
  {"CumSum",               11, 2, 2, "0", "exclusive:i reverse:i", importCumSum, foldCumSum},
  {"Identity",              1, 1, 1, "0", "", importIdentity, foldIdentity},
  {"Cast",                  6, 1, 1, "0", "to:i saturate:i round_mode:s", importCast, foldCast},
  {"CastLike",             15, 2, 2, "0", "saturate:i round_mode:s", importCast},
  {"Reshape",               5, 2, 2, "0", "allowzero:i", importReshape, foldReshape},
  {"Flatten",               1, 1, 1, "0", "axis:i", importFlatten, foldReshape},
  {"Squeeze",               1, 1, 2, "0", "axes:I", importSqueeze, foldReshape},
  {"Unsqueeze",             1, 1, 2, "0", "axes:I", importUnsqueeze, foldReshape},
  {"Transpose",             1, 1, 1, "0", "perm:I", importTranspose, foldTranspose},
  {"Expand",                8, 2, 2, "0", "", importExpand, foldExpand},
  {"Concat",                4, 1, many, "*", "axis:i", importConcat, foldConcat},
  {"Split",                 2, 1, 2, "0", "axis:i num_outputs:i split:I", importSplit},
  {"SplitToSequence",      11, 1, 2, "0", "axis:i keepdims:i", importSplitToSequence},
  {"SequenceAt",           11, 2, 2, "0", "", importSequenceAt},
  {"SequenceEmpty",        11, 0, 0, "", "dtype:i", importSequenceEmpty},
  {"SequenceConstruct",    11, 1, many, "*", "", importSequenceConstruct},
  {"SequenceInsert",       11, 2, 3, "0 1", "", importSequenceInsert},
  {"SequenceErase",        11, 1, 2, "0", "", importSequenceErase},
  {"SequenceLength",       11, 1, 1, "", "", importSequenceLength},
  {"ConcatFromSequence",   11, 1, 1, "0", "axis:i new_axis:i", importConcatFromSequence},
  {"Slice",                 1, 1, 5, "0", "axes:I ends:I starts:I", importSlice, foldSlice},
  {"Gather",                1, 2, 2, "0", "axis:i", importGather, foldGather},
  {"GatherND",             11, 2, 2, "0", "batch_dims:i", importGatherND, foldGatherND},
  {"ScatterND",            11, 3, 3, "0 2", "reduction:s", importScatterND, foldScatterND},
  {"GatherElements",       11, 2, 2, "0", "axis:i", importGatherElements, foldGatherElements},
  {"ScatterElements",      11, 3, 3, "0 2", "axis:i reduction:s", importScatterElements},
  {"Scatter",               9, 3, 3, "0 2", "axis:i", importScatterElements},
  {"OneHot",                9, 3, 3, "", "axis:i", importOneHot},
  {"TopK",                  1, 1, 2, "0", "axis:i k:i largest:i sorted:i", importTopK},
  {"ArgMax",                1, 1, 1, "", "axis:i keepdims:i select_last_index:i", importArgMax},
  {"ArgMin",                1, 1, 1, "", "axis:i keepdims:i select_last_index:i", importArgMax},
  {"Tile",                  6, 2, 2, "0", "", importTile, foldTile},
  {"DepthToSpace",          1, 1, 1, "0", "blocksize:i mode:s", importDepthToSpace},
  {"SpaceToDepth",          1, 1, 1, "0", "blocksize:i mode:s", importDepthToSpace},
  {"Resize",               10, 1, 4, "0", "antialias:i axes:I coordinate_transformation_mode:s cubic_coeff_a:f exclude_outside:i extrapolation_value:f keep_aspect_ratio_policy:s mode:s nearest_mode:s", importResize},
  {"Upsample",              7, 2, 2, "0", "mode:s", importResize},
  {"GridSample",           16, 2, 2, "0 1", "align_corners:i mode:s padding_mode:s", importGridSample},
  {"Trilu",                14, 1, 2, "0", "upper:i", importTrilu, foldTrilu},
  {"Pad",                   2, 1, 4, "0", "mode:s pads:I value:f", importPad},
  // Spectra
  {"DFT",                  17, 1, 3, "0", "axis:i inverse:i onesided:i", importDft},
  {"STFT",                 17, 2, 4, "0", "onesided:i", importStft},
  // Conditions and steps
  {"Where",                 9, 3, 3, "1 2", "", importWhere, foldWhere},
  {"Equal",                 7, 2, 2, "", "", importNary, foldArithmetic, "equal"},
  {"Less",                  7, 2, 2, "", "", importNary, foldArithmetic, "less"},
  {"LessOrEqual",          12, 2, 2, "", "", importNary, foldArithmetic, "less_or_equal"},
  {"Greater",               7, 2, 2, "", "", importNary, foldArithmetic, "greater"},
  {"GreaterOrEqual",       12, 2, 2, "", "", importNary, foldArithmetic, "greater_or_equal"},
  {"And",                   7, 2, 2, "", "", importNary, foldArithmetic, "and"},
  {"Or",                    7, 2, 2, "", "", importNary, foldArithmetic, "or"},
  {"Xor",                   7, 2, 2, "", "", importNary, foldArithmetic, "xor"},
  {"IsNaN",                 9, 1, 1, "", "", importUnary, nullptr, "is_nan"},
  {"IsInf",                10, 1, 1, "", "", importUnary, nullptr, "is_infinite"},
  {"Not",                   1, 1, 1, "", "", importUnary, foldUnary, "not"},
  {"Ceil",                  6, 1, 1, "", "", importUnary, foldUnary, "ceil"},
  {"Floor",                 6, 1, 1, "", "", importUnary, foldUnary, "floor"},
  {"Round",                11, 1, 1, "", "", importUnary, foldUnary, "round"},
  {"Sign",                  9, 1, 1, "", "", importUnary, foldUnary, "sign"},
  // Before the import (ControlFlow.h)
  {"If",                    1, 1, 1, "", "else_branch:g then_branch:g", importIf},
  {"Loop",                  1, 0, 1024, "", "body:g", importLoop},
  {"SequenceMap",          17, 1, 1024, "", "body:g", importSequenceMap},
  // Made at compile time, or the file's way to give a parameter
  {"Constant",              1, 0, 0, "", "value:t value_float:f value_floats:F value_int:i value_ints:I", nullptr},
  {"ConstantOfShape",       9, 1, 1, "", "value:t", nullptr, foldConstantOfShape},
  {"RandomNormal",          1, 0, 0, "", "dtype:i mean:f scale:f seed:f shape:I", nullptr},
  {"RandomNormalLike",      1, 1, 1, "", "dtype:i mean:f scale:f seed:f", nullptr},
  {"RandomUniform",         1, 0, 0, "", "dtype:i high:f low:f seed:f shape:I", nullptr},
  {"Bernoulli",            15, 1, 1, "", "dtype:i seed:f", nullptr},
  {"RandomUniformLike",     1, 1, 1, "", "dtype:i high:f low:f seed:f", nullptr},
  // Shape plumbing
  {"Shape",                 1, 1, 1, "", "end:i start:i", nullptr},
  {"Size",                  1, 1, 1, "", "", nullptr},
  {"EyeLike",               9, 1, 1, "", "dtype:i k:i", nullptr},
  {"Range",                11, 3, 3, "", "", nullptr, foldRange},
};
// clang-format on

ArrayRef<OnnxOp> lwcc::onnxOps() { return table; }

const OnnxOp *lwcc::findOnnxOp(StringRef name) {
  const OnnxOp *found =
      find_if(table, [&](const OnnxOp &op) { return op.name == name; });
  return found == std::end(table) ? nullptr : found;
}

bool OnnxOp::isDifferentiable(unsigned input) const {
  if (differentiable == "*")
    return true;
  return is_contained(split(differentiable, ' '), std::to_string(input));
}

SmallVector<AttributeSpec> lwcc::attributesOf(const OnnxOp &op) {
  SmallVector<AttributeSpec> specs;
  if (op.attributes.empty())
    return specs;
  for (StringRef entry : split(op.attributes, ' ')) {
    auto [name, rest] = entry.split(':');
    auto [type, otherwise] = rest.split('=');
    specs.push_back({name, type, otherwise});
  }
  return specs;
}

static StringRef typeLetter(AttributeProto::AttributeType type) {
  switch (type) {
  case AttributeProto::INT:
    return "i";
  case AttributeProto::INTS:
    return "I";
  case AttributeProto::FLOAT:
    return "f";
  case AttributeProto::FLOATS:
    return "F";
  case AttributeProto::STRING:
    return "s";
  case AttributeProto::STRINGS:
    return "S";
  case AttributeProto::TENSOR:
    return "t";
  case AttributeProto::GRAPH:
    return "g";
  default:
    return "?";
  }
}

std::vector<std::string> lwcc::checkSupport(const NodeView &node) {
  const OnnxOp *op = findOnnxOp(node.op());
  assert(op && "what is unknown was sorted out before");
  std::vector<std::string> problems;
  if (op->since > node.opset())
    problems.push_back("exists since opset " + std::to_string(op->since) +
                       ", but the file declares opset " +
                       std::to_string(node.opset()) +
                       "; export the model again");
  int inputs = node.numInputs();
  bool missing = inputs < op->minInputs || inputs > op->maxInputs;
  for (int i = 0; i < inputs && !missing; ++i)
    missing = !node.hasInput(i) && (i < op->minInputs || op->maxInputs == many);
  if (missing)
    problems.push_back("has the wrong number of inputs for its operator: the "
                       "file is damaged");
  SmallVector<AttributeSpec> specs = attributesOf(*op);
  for (const AttributeProto &attribute : node.proto().attribute()) {
    const auto *spec = find_if(specs, [&](const AttributeSpec &spec) {
      return spec.name == attribute.name();
    });
    std::string quoted = "'" + attribute.name() + "'";
    if (spec == specs.end())
      problems.push_back("has the attribute " + quoted +
                         ", which lwcc does not know; remove it if it has no "
                         "meaning for training");
    else if (spec->type != typeLetter(attribute.type()))
      problems.push_back("has the attribute " + quoted + " of the wrong type " +
                         AttributeProto::AttributeType_Name(attribute.type()));
  }
  return problems;
}
