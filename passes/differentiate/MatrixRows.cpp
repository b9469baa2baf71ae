//===- MatrixRows.cpp - Keeps the rows of batched matrices dense ----------===//
//
// Tensors of rank 4 lie channels-last (ir/place/Layout.h), as images should.
// Attention multiplies tensors of rank 4, too: [samples, heads, tokens,
// features]. Channels-last, neighbours of a row are as far apart as there are
// heads: every product packs its operands first, softmax reads with a stride,
// and reshapes that merge heads with features move all bytes.
//
// This pass gives such values a dimension of extent 1 ahead of their last two:
// [samples, heads, 1, tokens, features]. Of rank 5 they lie row-major. What
// plans cut stays where it is, samples and heads.
//
// It does so for whole families: values of rank 4 that elementwise ops, data
// movements and reductions lead to from one another, if products of two tensors
// of rank 4 are among them, and nothing that has no rule below, such as a
// convolution, is. Reshapes part families. Height and width of what is changed
// can no longer be cut.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/ADT/TypeSwitch.h"

namespace lwcc {
#define GEN_PASS_DEF_MATRIXROWS
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {

using Lengths = SmallVector<int64_t>;

/// Where the new dimension is.
constexpr int64_t added = 2;

int64_t newDim(int64_t dim) { return dim < added ? dim : dim + 1; }

Lengths newDims(ArrayRef<int64_t> dims) {
  return llvm::map_to_vector(dims, newDim);
}

/// A list with an element for each dimension, and `single` for the new one.
Lengths newList(ArrayRef<int64_t> list, int64_t single) {
  Lengths result(list);
  result.insert(result.begin() + added, single);
  return result;
}

bool isImageLike(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.getRank() == 4;
}

class MatrixRows {
public:
  explicit MatrixRows(func::FuncOp func) : func(func), builder(func) {}

  void run();

private:
  void findFamilies();
  bool isOfMatrices(Value value) const;
  /// The value with the new dimension.
  Value changed(Value value);
  Value broadcastOperand(Value value);
  Value reshape(Value x, ArrayRef<int64_t> shape);
  void rewrite(Operation *op);
  Operation *clone(Operation *op, ValueRange operands);

  func::FuncOp func;
  OpBuilder builder;
  Operation *current = nullptr;
  llvm::EquivalenceClasses<void *> families;
  /// Some value of each family that is multiplied, or that has an op without a
  /// rule.
  llvm::DenseSet<void *> multiplied, excluded;
  llvm::DenseSet<void *> matrices; ///< leaders of families to change
  llvm::DenseMap<Value, Value> changedOf;
};

} // namespace

/// Whether values of rank 4 on both sides of an op are of one family. Constants
/// and parameters of a map are read as they are.
static bool hasRule(Operation *op) {
  // These may read or make values of a higher rank.
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return isImageLike(reduce.getX());
  if (auto map = dyn_cast<MapOp>(op)) // not what draws random numbers alone
    return isImageLike(map.getY()) && !map.getInputs().empty();
  return isa<DropoutOp, MatMulOp, SoftmaxOp, LayerNormOp, ReduceMaxOp,
             TransposeOp, ConcatOp, SplitOp, SliceOp, PadOp>(op);
}

/// Whether a value is no op's result, or one that is made once for all steps.
static bool isGiven(Value value) {
  return isa_and_nonnull<ReadOp, ConstantOp>(value.getDefiningOp()) ||
         isa<BlockArgument>(value);
}

void MatrixRows::findFamilies() {
  for (Operation &op : func.getBody().front()) {
    if (isa<ReshapeOp, ReadOp, ConstantOp>(op))
      continue;
    SmallVector<void *> values;
    for (auto range :
         {ValueRange(op.getOperands()), ValueRange(op.getResults())})
      for (Value value : range)
        if (isImageLike(value) && !(isa<MapOp>(op) && isGiven(value)))
          values.push_back(value.getAsOpaquePointer());
    for (void *value : values) {
      families.unionSets(values.front(), value);
      if (!hasRule(&op) || isGiven(Value::getFromOpaquePointer(value)))
        excluded.insert(value);
    }
    auto product = dyn_cast<MatMulOp>(op);
    if (product && isImageLike(product.getB()))
      multiplied.insert(values.front());
  }
  for (void *value : multiplied)
    matrices.insert(families.getLeaderValue(value));
  for (void *value : excluded)
    matrices.erase(families.getLeaderValue(value));
}

bool MatrixRows::isOfMatrices(Value value) const {
  auto member = families.findLeader(value.getAsOpaquePointer());
  return member != families.member_end() && matrices.contains(*member);
}

Value MatrixRows::reshape(Value x, ArrayRef<int64_t> shape) {
  if (typeOf(x).getShape() == shape)
    return x;
  auto made = ReshapeOp::create(builder, current->getLoc(),
                                tensorOf(builder.getContext(), shape), x);
  setWork(made, layerOf(current), Phase::forward);
  setNames(made, {(nameOf(x) + ".rows").str()});
  return made;
}

Value MatrixRows::changed(Value value) {
  Value &result = changedOf[value];
  if (!result)
    result = reshape(value, newList(typeOf(value).getShape(), 1));
  return result;
}

/// What of an operand of a map broadcasts to its changed result.
Value MatrixRows::broadcastOperand(Value value) {
  Lengths shape(typeOf(value).getShape());
  if (shape.size() <= 2) // only behind the new dimension
    return value;
  if (isOfMatrices(value))
    return changed(value);
  shape.insert(shape.end() - 2, 1);
  return reshape(value, shape);
}

Operation *MatrixRows::clone(Operation *op, ValueRange operands) {
  Operation *made = op->clone();
  builder.insert(made);
  made->setOperands(operands);
  for (auto [old, result] : llvm::zip(op->getResults(), made->getResults())) {
    result.setType(
        tensorOf(builder.getContext(), newList(typeOf(old).getShape(), 1)));
    changedOf[old] = result;
  }
  return made;
}

void MatrixRows::rewrite(Operation *op) {
  if (auto old = dyn_cast<ReshapeOp>(op)) {
    Value x = isOfMatrices(old.getX()) ? changed(old.getX()) : old.getX();
    if (isOfMatrices(old.getY()))
      changedOf[old.getY()] =
          reshape(x, newList(typeOf(old.getY()).getShape(), 1));
    else
      old.getY().replaceAllUsesWith(reshape(x, typeOf(old.getY()).getShape()));
    return;
  }
  auto reduce = dyn_cast<ReduceOp>(op);
  if (reduce && !isImageLike(reduce.getY())) {
    // The new dimension goes with those that are dropped.
    Lengths axes = newDims(reduce.getAxes());
    axes.push_back(added);
    llvm::sort(axes);
    reduce.getXMutable().set(changed(reduce.getX()));
    reduce.setAxes(axes);
    return;
  }
  SmallVector<Value> operands;
  for (Value operand : op->getOperands())
    operands.push_back(isa<MapOp>(op)         ? broadcastOperand(operand)
                       : isImageLike(operand) ? changed(operand)
                                              : operand);
  llvm::TypeSwitch<Operation *>(clone(op, operands))
      .Case<ReduceMaxOp, SoftmaxOp, ConcatOp, SplitOp>(
          [&](auto along) { along.setAxis(newDim(along.getAxis())); })
      .Case([&](TransposeOp transpose) {
        Lengths perm = newDims(transpose.getPerm());
        perm.insert(perm.begin() + added, added);
        transpose.setPerm(perm);
      })
      .Case([&](SliceOp slice) {
        slice.setStart(newList(slice.getStart(), 0));
        slice.setStep(newList(slice.getStep(), 1));
      })
      .Case([&](PadOp pad) { pad.setLow(newList(pad.getLow(), 0)); })
      .Case([&](ReduceOp kept) { kept.setAxes(newDims(kept.getAxes())); });
}

void MatrixRows::run() {
  findFamilies();
  if (matrices.empty())
    return;
  SmallVector<Operation *> old;
  for (Operation &op : llvm::make_early_inc_range(func.getBody().front())) {
    auto isChanged = [&](Value value) { return isOfMatrices(value); };
    if (!llvm::any_of(op.getOperands(), isChanged) &&
        !llvm::any_of(op.getResults(), isChanged))
      continue;
    current = &op;
    builder.setInsertionPoint(&op);
    rewrite(&op);
    if (!isa<ReduceOp>(op) || isOfMatrices(op.getResult(0)))
      old.push_back(&op);
  }
  for (Operation *op : llvm::reverse(old)) {
    assert(op->use_empty() && "a value is used as it no longer is");
    op->erase();
  }
}

namespace {
struct MatrixRowsPass : lwcc::impl::MatrixRowsBase<MatrixRowsPass> {
  using MatrixRowsBase::MatrixRowsBase;

  void runOnOperation() override {
    if (auto func = getOperation().lookupSymbol<func::FuncOp>(modelFunc))
      MatrixRows(func).run();
  }
};
} // namespace
