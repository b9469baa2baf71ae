//===- SamplesFirst.cpp - Keeps the samples in the first dimension --------===//
//
// Plans cut samples along the first dimension. PyTorch's attention and
// recurrent layers move them to the second one on the way, or merge them into
// others: [tokens, samples, features], [tokens * samples, features]. What is
// cut there is tokens, which then go from device to device, and no micro-batch
// can pass.
//
// This pass follows the samples through @model. Where they are not first it
// computes the same elements in another order: each such value becomes a
// factored one, [samples, what was before them, what is behind them]. Ops that
// have a rule below work on factored values as they would on the others; in
// front of an op that has none the value is put back as it was. Transposes that
// only moved samples are gone then.
//
// Decides nothing about cuts. Dropout keeps its order, since its numbers are
// drawn by element.
//
//===----------------------------------------------------------------------===//

#include "ir/Size.h"
#include "ir/train/Train.h"
#include "passes/Passes.h"
#include "passes/differentiate/SamplePlaces.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lwcc {
#define GEN_PASS_DEF_SAMPLESFIRST
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

using Lengths = SmallVector<int64_t>;

Lengths lengthsOf(Value value) { return Lengths(typeOf(value).getShape()); }

class SamplesFirst {
public:
  explicit SamplesFirst(func::FuncOp func) : func(func), builder(func) {}

  void run();

private:
  MaybeSamples samplesOf(Value value) const { return places.of(value); }
  /// The dimensions of a value of this shape, factored.
  Lengths factoredShape(ArrayRef<int64_t> shape, const Samples &place) const;
  /// Dimension d, which is not the samples', in the factored shape.
  static int64_t factoredDim(int64_t d, const Samples &place) {
    return d < place.dim ? d + 1 : d + place.factors();
  }
  /// A list with an element for each dimension, factored; the samples and their
  /// factors have `whole`.
  static SmallVector<int64_t> factoredList(ArrayRef<int64_t> list,
                                           const Samples &place, int64_t whole);
  Value factored(Value value);
  Value original(Value value);

  /// Makes an op's results factored; false: there is no rule for it.
  bool rewrite(Operation *op, const Samples &place);
  bool rewriteTranspose(TransposeOp op, const Samples &place);
  bool rewriteMap(MapOp op, const Samples &place);
  bool rewriteMatMul(MatMulOp op, const Samples &place);
  bool rewriteAlongAxis(Operation *op, const Samples &place);
  bool rewriteReduce(ReduceOp op, const Samples &place);
  /// The op on these operands, with results of factored shapes.
  Operation *cloneFactored(Operation *op, ValueRange operands,
                           const Samples &place);
  /// What of an operand without samples broadcasts to a factored result; null
  /// if it has an element for each sample.
  Value broadcastOperand(Value value, int64_t rank, const Samples &place);

  Value reshape(Value x, ArrayRef<int64_t> shape, StringRef suffix);
  Value transpose(Value x, ArrayRef<int64_t> perm, StringRef suffix);
  template <typename OpTy>
  Value label(OpTy made, Value from, StringRef suffix) {
    setWork(made, layerOf(current), Phase::forward);
    std::string name = (nameOf(from) + suffix).str();
    setNames(made, {name});
    return made->getResult(0);
  }

  func::FuncOp func;
  OpBuilder builder;
  Operation *current = nullptr;
  int64_t batch = 0;
  SamplePlaces places;
  llvm::DenseMap<Value, Value> factoredOf, originalOf;
  llvm::SetVector<Operation *> replaced;
};

} // namespace

//===----------------------------------------------------------------------===//
// Factored values
//===----------------------------------------------------------------------===//

Lengths SamplesFirst::factoredShape(ArrayRef<int64_t> shape,
                                    const Samples &place) const {
  Lengths result = {batch};
  llvm::append_range(result, shape.take_front(place.dim));
  if (place.outer > 1)
    result.push_back(place.outer);
  if (place.inner > 1)
    result.push_back(place.inner);
  llvm::append_range(result, shape.drop_front(place.dim + 1));
  return result;
}

SmallVector<int64_t> SamplesFirst::factoredList(ArrayRef<int64_t> list,
                                                const Samples &place,
                                                int64_t whole) {
  SmallVector<int64_t> result = {whole};
  llvm::append_range(result, list.take_front(place.dim));
  result.append(place.factors(), whole);
  llvm::append_range(result, list.drop_front(place.dim + 1));
  return result;
}

Value SamplesFirst::reshape(Value x, ArrayRef<int64_t> shape,
                            StringRef suffix) {
  if (ArrayRef<int64_t>(lengthsOf(x)) == shape)
    return x;
  return label(ReshapeOp::create(builder, current->getLoc(),
                                 tensorOf(builder.getContext(), shape), x),
               x, suffix);
}

Value SamplesFirst::transpose(Value x, ArrayRef<int64_t> perm,
                              StringRef suffix) {
  if (llvm::is_sorted(perm))
    return x;
  Lengths shape;
  for (int64_t d : perm)
    shape.push_back(lengthsOf(x)[d]);
  return label(TransposeOp::create(builder, current->getLoc(),
                                   tensorOf(builder.getContext(), shape), x,
                                   perm),
               x, suffix);
}

/// The dimension of the samples, counted in a shape whose factors are apart.
static int64_t apart(const Samples &place) {
  return place.dim + (place.outer > 1 ? 1 : 0);
}

Value SamplesFirst::factored(Value value) {
  Value &result = factoredOf[value];
  if (result)
    return result;
  const Samples place = *samplesOf(value);
  // Its factors apart, then the samples from their place to the front.
  Lengths shape = factoredShape(lengthsOf(value), place);
  const int64_t at = apart(place);
  shape.erase(shape.begin());
  shape.insert(shape.begin() + at, batch);
  SmallVector<int64_t> perm = {at};
  for (int64_t d = 0, rank = shape.size(); d < rank; ++d)
    if (d != at)
      perm.push_back(d);
  Value made = reshape(value, shape, ".factors");
  return factoredOf[value] = transpose(made, perm, ".samples");
}

Value SamplesFirst::original(Value value) {
  auto found = factoredOf.find(value);
  Operation *maker = value.getDefiningOp();
  if (found == factoredOf.end() || !maker || !replaced.contains(maker))
    return value;
  Value &result = originalOf[value];
  if (result)
    return result;
  const Samples place = *samplesOf(value);
  const int64_t at = apart(place), rank = typeOf(found->second).getRank();
  SmallVector<int64_t> perm;
  for (int64_t d = 1; d < rank; ++d)
    perm.push_back(d);
  perm.insert(perm.begin() + at, 0);
  Value made = transpose(found->second, perm, ".back");
  return result = reshape(made, lengthsOf(value), ".whole");
}

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

Operation *SamplesFirst::cloneFactored(Operation *op, ValueRange operands,
                                       const Samples &place) {
  Operation *clone = op->clone();
  builder.insert(clone);
  clone->setOperands(operands);
  for (auto [old, made] : llvm::zip(op->getResults(), clone->getResults())) {
    made.setType(
        tensorOf(builder.getContext(), factoredShape(lengthsOf(old), place)));
    factoredOf[old] = made;
  }
  return clone;
}

bool SamplesFirst::rewriteTranspose(TransposeOp op, const Samples &place) {
  const Samples from = *samplesOf(op.getX());
  SmallVector<int64_t> perm = {0};
  for (int64_t d : op.getPerm()) {
    if (d != from.dim) {
      perm.push_back(factoredDim(d, from));
      continue;
    }
    for (int64_t factor = 0; factor < from.factors(); ++factor)
      perm.push_back(1 + from.dim + factor);
  }
  Value x = factored(op.getX());
  if (llvm::is_sorted(perm)) {
    factoredOf[op.getY()] = x;
    return true;
  }
  auto clone = cast<TransposeOp>(cloneFactored(op, {x}, place));
  clone.setPerm(perm);
  return true;
}

Value SamplesFirst::broadcastOperand(Value value, int64_t rank,
                                     const Samples &place) {
  const Lengths shape = lengthsOf(value);
  const int64_t at = place.dim - (rank - int64_t(shape.size()));
  if (at < 0) // only behind the samples
    return value;
  if (shape[at] != 1)
    return {};
  Lengths extents(shape.begin(), shape.begin() + at);
  extents.append(place.factors(), 1);
  extents.append(shape.begin() + at + 1, shape.end());
  return reshape(value, extents, ".factors");
}

bool SamplesFirst::rewriteMap(MapOp op, const Samples &place) {
  if (op.getScalars())
    return false;
  const int64_t rank = typeOf(op.getY()).getRank();
  SmallVector<Value> operands;
  for (Value input : op.getInputs()) {
    if (!samplesOf(input)) {
      operands.push_back(broadcastOperand(input, rank, place));
      if (!operands.back())
        return false;
      continue;
    }
    // Dimensions that it lacks come behind the samples now.
    Value x = factored(input);
    Lengths shape = lengthsOf(x);
    shape.insert(shape.begin() + 1, rank - typeOf(input).getRank(), 1);
    operands.push_back(reshape(x, shape, ".factors"));
  }
  cloneFactored(op, operands, place);
  return true;
}

bool SamplesFirst::rewriteMatMul(MatMulOp op, const Samples &place) {
  const bool bothHave = samplesOf(op.getB()).has_value();
  if (!bothHave && typeOf(op.getB()).getRank() != 2)
    return false;
  if (op.getTransposeA() && !bothHave)
    return false;
  SmallVector<Value> operands = {factored(op.getA()),
                                 bothHave ? factored(op.getB()) : op.getB()};
  if (op.getBias())
    operands.push_back(op.getBias());
  cloneFactored(op, operands, place);
  return true;
}

/// Ops with an axis, or the last one, or with a number for each dimension.
bool SamplesFirst::rewriteAlongAxis(Operation *op, const Samples &place) {
  const Samples from = *samplesOf(op->getOperand(0));
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    if (!samplesOf(operand))
      return false;
    operands.push_back(factored(operand));
  }
  Operation *clone = cloneFactored(op, operands, place);
  llvm::TypeSwitch<Operation *>(clone)
      .Case<ReduceMaxOp, SoftmaxOp, ConcatOp, SplitOp>([&](auto along) {
        along.setAxis(factoredDim(along.getAxis(), from));
      })
      .Case([&](SliceOp slice) {
        slice.setStart(factoredList(slice.getStart(), from, 0));
        slice.setStep(factoredList(slice.getStep(), from, 1));
      })
      .Case(
          [&](PadOp pad) { pad.setLow(factoredList(pad.getLow(), from, 0)); });
  return true;
}

bool SamplesFirst::rewriteReduce(ReduceOp op, const Samples &place) {
  const Samples from = *samplesOf(op.getX());
  SmallVector<int64_t> axes;
  for (int64_t axis : op.getAxes())
    axes.push_back(factoredDim(axis, from));
  auto clone = cast<ReduceOp>(cloneFactored(op, {factored(op.getX())}, place));
  clone.setAxes(axes);
  return true;
}

bool SamplesFirst::rewrite(Operation *op, const Samples &place) {
  for (Value result : op->getResults())
    if (factoredShape(lengthsOf(result), place).size() > maxTensorRank)
      return false;
  for (Value operand : op->getOperands())
    if (MaybeSamples own = samplesOf(operand))
      if (factoredShape(lengthsOf(operand), *own).size() > maxTensorRank)
        return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](TransposeOp each) { return rewriteTranspose(each, place); })
      .Case([&](ReshapeOp each) {
        // The same order before and after.
        factoredOf[each.getY()] =
            reshape(factored(each.getX()),
                    factoredShape(lengthsOf(each.getY()), place), ".samples");
        return true;
      })
      .Case([&](MapOp each) { return rewriteMap(each, place); })
      .Case([&](MatMulOp each) { return rewriteMatMul(each, place); })
      .Case([&](ReduceOp each) { return rewriteReduce(each, place); })
      .Case<ReduceMaxOp, SoftmaxOp, LayerNormOp, ConcatOp, SplitOp, SliceOp,
            PadOp>([&](auto each) { return rewriteAlongAxis(each, place); })
      .Case([&](EmbeddingOp each) {
        if (place.factors())
          return false;
        cloneFactored(
            each,
            {hasTables(each) ? factored(each.getTable()) : each.getTable(),
             factored(each.getAt())},
            place);
        return true;
      })
      .Default([](Operation *) { return false; });
}

void SamplesFirst::run() {
  for (BlockArgument argument : func.getArguments())
    if (roleOf(argument) == Role::input) {
      batch = typeOf(argument).getDimSize(0);
      places.set(argument, {});
    }
  if (batch <= 1) // any dimension may be it
    return;
  auto isElsewhere = [](const MaybeSamples &place) {
    return place && !place->isFirst();
  };
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    current = &op;
    builder.setInsertionPoint(&op);
    const MaybeSamples place = places.follow(&op, batch);
    const bool moved = isElsewhere(place) ||
                       llvm::any_of(op.getOperands(), [&](Value operand) {
                         return isElsewhere(samplesOf(operand));
                       });
    if (moved && place && rewrite(&op, *place)) {
      replaced.insert(&op);
      continue;
    }
    for (OpOperand &operand : op.getOpOperands())
      operand.set(original(operand.get()));
  }
  for (Operation *op : llvm::reverse(replaced.getArrayRef())) {
    // What comes behind has its factored results, or those put back.
    assert(op->use_empty() && "a value is used as it no longer is");
    op->erase();
  }
}

namespace {
struct SamplesFirstPass : lwcc::impl::SamplesFirstBase<SamplesFirstPass> {
  using SamplesFirstBase::SamplesFirstBase;

  void runOnOperation() override {
    if (auto func = getOperation().lookupSymbol<func::FuncOp>(modelFunc))
      SamplesFirst(func).run();
  }
};
} // namespace
