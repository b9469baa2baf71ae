//===- FuseUpdates.cpp - Gradients and update of a layer in one op --------===//
//
// Takes `sharded`, gives `sharded`; CPU target only. Of a fully connected layer
//
//     dx = matmul(dy, w)                    (absent in the first layer)
//     g = matmul(transposed dy, x)
//     w', states' = update(w, states, ..., g)
//
// becomes one op, which passes over the weights once and never stores g, where
// the optimizer has a kernel for it (UpdateOpInterface::buildWithProducts).
// That pays with few rows (samples): then the layer is bound by the bandwidth
// of memory. Conditions:
// - g is the whole gradient, made on this device, with no reader but the
//   update;
// - no op that is to read the old w runs after the update. If one may, dx stays
//   an op of its own.
//
// A gradient that is summed over tiles or devices has several terms or another
// place, and a parameter that is updated in parts has no op that reads all of
// w; neither is fused.
//
// Does not decide how many rows are few: an option of the pass.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

#include "llvm/ADT/STLExtras.h"

namespace lwcc {
#define GEN_PASS_DEF_FUSEUPDATES
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

static int64_t rankOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getRank();
}

/// Whether a matmul is a plain product of two matrices: no bias, no ReLU, b not
/// transposed.
static bool isPlainProduct(MatMulOp op, bool transposeA) {
  return op && rankOf(op.getA()) == 2 && rankOf(op.getB()) == 2 &&
         !op.getBias() && !op.getRelu() && !op.getTransposeB() &&
         op.getTransposeA() == transposeA;
}

static bool isThereAt(Operation *place, Value value) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->isBeforeInBlock(place);
}

/// The matmul of the layer's data gradient, if it can be fused with the update;
/// null if not.
static MatMulOp dataGradient(UpdateOpInterface update, MatMulOp gradient) {
  MatMulOp found;
  for (Operation *user : update.getWeight().getUsers()) {
    auto product = dyn_cast<MatMulOp>(user);
    if (isPlainProduct(product, false) && product.getA() == gradient.getA() &&
        product.getB() == update.getWeight() && !found &&
        typeOf(product.getC()).getEncoding() ==
            typeOf(gradient.getC()).getEncoding())
      found = product;
    else if (user != update && phaseOf(user) != Phase::forward)
      return {};
  }
  return found;
}

/// What an update reads beside the parameter, its states and the gradient: the
/// step's scalars, the loss.
static SmallVector<Value> conditionsOf(UpdateOpInterface update) {
  OperandRange gradient = update.getGradientTerms();
  SmallVector<Value> values;
  for (OpOperand &operand :
       update->getOpOperands().drop_front(update.getUpdated().size()))
    if (operand.getOperandNumber() < gradient.getBeginOperandIndex() ||
        operand.getOperandNumber() >=
            gradient.getBeginOperandIndex() + gradient.size())
      values.push_back(operand.get());
  return values;
}

static void fuse(UpdateOpInterface update, int64_t rows) {
  MutableOperandRange terms = update.getGradientTerms();
  if (terms.size() != 1)
    return;
  auto gradient = terms[0].get().getDefiningOp<MatMulOp>();
  if (!isPlainProduct(gradient, true) || !gradient->hasOneUse() ||
      gradient.getC().getType() != update->getResult(0).getType())
    return;
  Value dy = gradient.getA(), x = gradient.getB();
  auto input = cast<RankedTensorType>(x.getType());
  if (input.getDimSize(0) > rows ||
      !llvm::all_of(update.getUpdated(), [](Value value) {
        return isa_and_nonnull<ReadOp>(value.getDefiningOp());
      }))
    return;

  MatMulOp data = dataGradient(update, gradient);
  Operation *first = gradient;
  if (data && data->isBeforeInBlock(gradient))
    first = data;
  if (!isThereAt(first, x))
    return;
  // What comes from another device was fetched where an update asked first.
  SmallVector<TransferOp> fetches;
  for (Value value : conditionsOf(update)) {
    auto fetch = value.getDefiningOp<TransferOp>();
    if (!isThereAt(first, fetch ? fetch.getX() : value))
      return;
    if (fetch && !isThereAt(first, fetch.getY()))
      fetches.push_back(fetch);
  }
  OpBuilder builder(first);
  auto dx = RankedTensorType::get(input.getShape(), input.getElementType(),
                                  typeOf(gradient.getC()).getEncoding());
  Operation *fused = update.buildWithProducts(builder, dy, x, dx);
  if (!fused)
    return;

  // Other layers wait for the data gradient.
  MatMulOp earlier = data ? data : gradient;
  for (TransferOp fetch : fetches) {
    fetch->moveBefore(fused);
    setWork(fetch, layerOf(fetch), phaseOf(earlier));
  }
  for (Value state : update.getUpdated().drop_front()) {
    state.getDefiningOp()->moveBefore(&update->getBlock()->front());
    inheritWork(state.getDefiningOp(), update, phaseOf(earlier));
  }
  fused->setDiscardableAttrs(gradient->getDiscardableAttrDictionary());
  setWork(fused, layerOf(gradient), phaseOf(earlier),
          workOf(gradient).getTile());
  SmallVector<StringRef> names(fused->getNumResults());
  if (data)
    names.back() = nameOf(data.getC());
  setNames(fused, names);
  for (auto [old, result] :
       llvm::zip(update->getResults(), fused->getResults()))
    old.replaceAllUsesWith(result);
  update->erase();
  gradient.erase();
  if (data) {
    data.getC().replaceAllUsesWith(fused->getResults().back());
    data.erase();
  }
}

namespace {
struct FuseUpdates : lwcc::impl::FuseUpdatesBase<FuseUpdates> {
  using FuseUpdatesBase::FuseUpdatesBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto update : llvm::make_early_inc_range(
               func.getBody().front().getOps<UpdateOpInterface>()))
        fuse(update, rows);
  }
};
} // namespace
