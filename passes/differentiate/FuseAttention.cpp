//===- FuseAttention.cpp - Attention as one op ----------------------------===//
//
// Takes and gives `imported`. Models spell attention out, on tensors of rank 4:
//
//     scores = matmul(a * queries, b * transposed keys) * c + mask
//     result = matmul(softmax(scores), values)
//
// where queries, keys and values are [n, heads, tokens, size], brought there by
// transposes, and the result is brought back. All of it becomes `attention`,
// which reads [n, tokens, heads * size]: no scores are stored, no tensor is
// moved, and the gradient is one op, too.
//
// Where the three come from, whatever the ops on the way, says ElementMap.h.
// They may be parts of one tensor: slices, of which train-split-slices makes a
// split. What does not fit stays as it is: heads that lie otherwise, a mask
// that is trained or that differs from head to head, weights that are dropped
// or that something else reads.
//
//===----------------------------------------------------------------------===//

#include "passes/Passes.h"
#include "passes/differentiate/ElementMap.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

namespace lwcc {
#define GEN_PASS_DEF_FUSEATTENTION
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

/// Queries, keys or values [n, tokens, heads * size], as the part of a value of
/// as many tokens, but perhaps more features, that begins at one of them.
struct Tokens {
  ElementMap from;
  int64_t samples, tokens, features;
  int64_t allFeatures; ///< of that value
};

/// The spelled out attention that ends in a product with values.
struct Attention {
  MatMulOp result;
  SoftmaxOp softmax;
  Tokens q, k, v;
  Value mask;
  double scale = 1;
  int64_t heads = 1;
};

} // namespace

static ArrayRef<int64_t> shapeOf(Value value) {
  return typeOf(value).getShape();
}

/// The number that all elements of a value are.
static std::optional<double> splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant)
    return std::nullopt;
  return cast<DenseElementsAttr>(constant.getValue())
      .getSplatValue<APFloat>()
      .convertToDouble();
}

/// What a value is a multiple of; multiplies `scale` by how many times.
static Value withoutScale(Value value, double &scale) {
  while (auto map = value.getDefiningOp<MapOp>()) {
    StringRef fn = map.getFn().value_or("");
    OperandRange inputs = map.getInputs();
    std::optional<double> factor;
    unsigned of = 0;
    if (fn == "scale") {
      if (auto alpha = map.getParams()->getAs<FloatAttr>("alpha"))
        factor = alpha.getValueAsDouble();
    } else if (fn == "mul" || fn == "div") {
      factor = splatOf(inputs[1]);
      if (factor && fn == "div")
        factor = 1 / *factor;
      if (!factor && fn == "mul" && (factor = splatOf(inputs[0])))
        of = 1;
    }
    if (!factor || inputs[of].getType() != value.getType())
      break;
    scale *= *factor;
    value = inputs[of];
  }
  return value;
}

/// A value [n, heads, tokens, size], or with the last two exchanged, as a part
/// of a value of rows of tokens.
static std::optional<Tokens> tokensOf(Value value, bool exchanged) {
  ElementMap from = elementsOf(value);
  SmallVector<int64_t> shape(shapeOf(value));
  if (exchanged) {
    std::swap(shape[2], shape[3]);
    std::swap(from.strides[2], from.strides[3]);
  }
  const int64_t samples = shape[0], heads = shape[1], tokens = shape[2],
                size = shape[3], row = from.strides[2];
  ArrayRef<int64_t> strides = from.strides;
  if (tokens == 1 || from.offset + heads * size > row ||
      (samples > 1 && strides[0] != tokens * row) ||
      (heads > 1 && strides[1] != size) || (size > 1 && strides[3] != 1) ||
      typeOf(from.root).getNumElements() != samples * tokens * row)
    return std::nullopt;
  return Tokens{from, samples, tokens, heads * size, row};
}

/// The tokens as a value.
static Value build(OpBuilder &builder, const Tokens &tokens) {
  auto finish = [&](auto made, StringRef suffix) -> Value {
    Operation *reader = tokens.from.reader;
    setWork(made, reader ? layerOf(reader) : "", Phase::forward);
    setNames(made, {(nameOf(tokens.from.root) + suffix).str()});
    return made->getResult(0);
  };
  MLIRContext *context = builder.getContext();
  Value value = tokens.from.root;
  Location loc = value.getLoc();
  SmallVector<int64_t> whole{tokens.samples, tokens.tokens, tokens.allFeatures};
  if (shapeOf(value) != ArrayRef(whole))
    value =
        finish(ReshapeOp::create(builder, loc, tensorOf(context, whole), value),
               ".tokens");
  if (tokens.features == tokens.allFeatures)
    return value;
  SmallVector<int64_t> start{0, 0, tokens.from.offset}, step{1, 1, 1};
  whole.back() = tokens.features;
  return finish(SliceOp::create(builder, loc, tensorOf(context, whole), value,
                                start, step),
                ".part" + std::to_string(tokens.from.offset));
}

/// Whether a value has the same elements in each step and is not trained.
static bool isConstant(Value value) {
  auto read = value.getDefiningOp<ReadOp>();
  auto module = read ? read->getParentOfType<ModuleOp>() : ModuleOp();
  auto parameter =
      module ? module.lookupSymbol<ParameterOp>(read.getParameter()) : nullptr;
  return parameter && parameter.getRole() == Role::constant;
}

/// Takes a mask off scores, if one is added: [m, s], behind dimensions of 1.
static Value withoutMask(Value scores, Value &mask) {
  auto add = scores.getDefiningOp<MapOp>();
  if (!add || add.getFn() != "add")
    return scores;
  for (unsigned side : {0, 1}) {
    Value added = add.getInputs()[1 - side];
    ArrayRef<int64_t> shape = shapeOf(added);
    if (!isConstant(added) || shape.size() < 2 ||
        shape.take_back(2) != shapeOf(scores).take_back(2) ||
        llvm::any_of(shape.drop_back(2),
                     [](int64_t extent) { return extent != 1; }))
      continue;
    mask = added;
    return add.getInputs()[side];
  }
  return scores;
}

static std::optional<Attention> match(MatMulOp result) {
  Attention found;
  found.result = result;
  found.softmax = result.getA().getDefiningOp<SoftmaxOp>();
  if (shapeOf(result.getC()).size() != 4 ||
      shapeOf(result.getB()).size() != 4 || result.getTransposeA() ||
      result.getBias() || !found.softmax || !found.softmax->hasOneUse() ||
      found.softmax.getAxis() != 3 || found.softmax.getLog())
    return std::nullopt;
  Value scores =
      withoutScale(withoutMask(found.softmax.getX(), found.mask), found.scale);
  auto product = scores.getDefiningOp<MatMulOp>();
  if (!product || shapeOf(product.getB()).size() != 4 || product.getBias())
    return std::nullopt;
  found.heads = shapeOf(scores)[1];
  auto q = tokensOf(withoutScale(product.getA(), found.scale),
                    product.getTransposeA());
  auto k = tokensOf(withoutScale(product.getB(), found.scale),
                    !product.getTransposeB());
  auto v = tokensOf(result.getB(), result.getTransposeB());
  if (!q || !k || !v)
    return std::nullopt;
  found.q = *q;
  found.k = *k;
  found.v = *v;
  return found;
}

/// The op that brings heads behind tokens again, if nothing else reads them.
static TransposeOp mergeOf(MatMulOp result) {
  static constexpr int64_t perm[] = {0, 2, 1, 3};
  auto transpose = result->hasOneUse()
                       ? dyn_cast<TransposeOp>(*result->user_begin())
                       : TransposeOp();
  return transpose && transpose.getPerm() == ArrayRef(perm) ? transpose
                                                            : TransposeOp();
}

static void fuse(const Attention &found, TransposeOp merge) {
  MatMulOp last = found.result;
  OpBuilder builder(merge);
  MLIRContext *context = builder.getContext();
  const std::string name = nameOf(last.getC()).str();
  auto finish = [&](Operation *made, ArrayRef<StringRef> names) {
    setWork(made, layerOf(last), Phase::forward);
    setNames(made, names);
  };
  Value q = build(builder, found.q), k = build(builder, found.k),
        v = build(builder, found.v), mask = found.mask;
  if (mask && shapeOf(mask).size() > 2) {
    auto made =
        ReshapeOp::create(builder, last.getLoc(),
                          tensorOf(context, shapeOf(mask).take_back(2)), mask);
    finish(made, {nameOf(mask)});
    mask = made;
  }
  const int64_t samples = found.q.samples, tokens = found.q.tokens;
  RankedTensorType statistics =
      tensorOf(context, {samples, found.heads, tokens});
  auto op = AttentionOp::create(
      builder, last.getLoc(),
      tensorOf(context, {samples, tokens, found.v.features}), statistics,
      statistics, q, k, v, mask, builder.getI64IntegerAttr(found.heads),
      builder.getF32FloatAttr(static_cast<float>(found.scale)));
  const std::string largest = name + ".largest", inverse = name + ".inverse";
  finish(op, {name, largest, inverse});
  auto heads =
      ReshapeOp::create(builder, merge.getLoc(), merge.getType(), op.getY());
  setWork(heads, layerOf(merge), Phase::forward);
  setNames(heads, {nameOf(merge.getY())});
  merge.getY().replaceAllUsesWith(heads);
  merge.erase();
}

namespace {
struct FuseAttentionPass : lwcc::impl::FuseAttentionBase<FuseAttentionPass> {
  using FuseAttentionBase::FuseAttentionBase;

  void runOnOperation() override {
    auto func = getOperation().lookupSymbol<func::FuncOp>(modelFunc);
    if (!func)
      return;
    Block &body = func.getBody().front();
    bool changed = false;
    for (auto product : llvm::to_vector(body.getOps<MatMulOp>())) {
      TransposeOp merge = mergeOf(product);
      std::optional<Attention> found =
          merge ? match(product) : std::optional<Attention>();
      if (!found)
        continue;
      fuse(*found, merge);
      changed = true;
    }
    if (!changed)
      return;
    // What brought tokens behind heads, and the scores.
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(body)))
      if (!isa<ReadOp>(op) && isOpTriviallyDead(&op))
        op.erase();
  }
};
} // namespace
