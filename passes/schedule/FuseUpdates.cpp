//===- FuseUpdates.cpp - Gradients and update of a layer in one op --------===//
//
// Takes `sharded`, gives `sharded`. Of a fully connected layer
//
//     dx = matmul(dy, w)                    (not of the first layer)
//     g = matmul(transposed dy, x)
//     w', m' = sgd(w, m, scalars, loss, g)
//
// becomes one matmul_sgd, where that pays: with few rows. It must be known that
//   - g is made here and is all of the gradient, and nobody else reads it;
//   - dx is needed by nobody who must run before the update: those who read the
//     old weights are of the forward pass. Otherwise dx stays on its own.
// A gradient that is summed over tiles or devices has other terms, or another
// place; what is updated in parts has no op that reads all of w.
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

/// A product of matrices and nothing else.
static bool isPlainProduct(MatMulOp op, bool transposeA) {
  return op && rankOf(op.getA()) == 2 && rankOf(op.getB()) == 2 &&
         !op.getBias() && !op.getRelu() && !op.getTransposeB() &&
         op.getTransposeA() == transposeA;
}

/// Where a value is made: the encoding of its type.
static Attribute placeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getEncoding();
}

static bool isThereAt(Operation *place, Value value) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->isBeforeInBlock(place);
}

/// The layer's data gradient, if it may run together with the update.
static MatMulOp dataGradient(SgdOp update, MatMulOp gradient) {
  MatMulOp found;
  for (Operation *user : update.getW().getUsers()) {
    auto product = dyn_cast<MatMulOp>(user);
    if (isPlainProduct(product, false) && product.getA() == gradient.getA() &&
        product.getB() == update.getW() && !found &&
        placeOf(product.getC()) == placeOf(gradient.getC()))
      found = product;
    else if (user != update && phaseOf(user) != Phase::forward)
      return {};
  }
  return found;
}

static void fuse(SgdOp update, int64_t rows) {
  auto gradient = update.getGs()[0].getDefiningOp<MatMulOp>();
  if (update.getGs().size() != 1 || !isPlainProduct(gradient, true) ||
      !gradient->hasOneUse() ||
      gradient.getC().getType() != update.getWNew().getType())
    return;
  Value dy = gradient.getA(), x = gradient.getB();
  if (cast<RankedTensorType>(x.getType()).getDimSize(0) > rows)
    return;
  auto momentum = update.getM().getDefiningOp<ReadOp>();
  if (!momentum || !update.getW().getDefiningOp<ReadOp>())
    return;

  MatMulOp data = dataGradient(update, gradient);
  Operation *first = gradient;
  if (data && data->isBeforeInBlock(gradient))
    first = data;
  // The loss may come from another device, fetched where an update asked first.
  auto fetch = update.getLoss().getDefiningOp<TransferOp>();
  Value loss = fetch ? fetch.getX() : update.getLoss();
  if (!isThereAt(first, x) || !isThereAt(first, loss))
    return;

  if (fetch && !isThereAt(first, fetch.getY())) {
    fetch->moveBefore(first);
    setWork(fetch, layerOf(fetch), phaseOf(gradient));
  }
  momentum->moveBefore(&update->getBlock()->front());
  inheritWork(momentum, update, phaseOf(gradient));
  OpBuilder builder(first);
  auto dx =
      RankedTensorType::get(cast<RankedTensorType>(x.getType()).getShape(),
                            builder.getF32Type(), placeOf(gradient.getC()));
  auto fused = MatMulSgdOp::create(
      builder, update.getLoc(), update.getWNew().getType(),
      update.getMNew().getType(), dx, update.getW(), update.getM(),
      update.getScalars(), update.getLoss(), dy, x);
  fused->setDiscardableAttrs(gradient->getDiscardableAttrDictionary());
  StringRef name = data ? nameOf(data.getC()) : StringRef();
  setNames(fused, {"", "", name});
  update.getWNew().replaceAllUsesWith(fused.getWNew());
  update.getMNew().replaceAllUsesWith(fused.getMNew());
  update.erase();
  gradient.erase();
  if (data) {
    data.getC().replaceAllUsesWith(fused.getDx());
    data.erase();
  }
}

namespace {
struct FuseUpdates : lwcc::impl::FuseUpdatesBase<FuseUpdates> {
  using FuseUpdatesBase::FuseUpdatesBase;
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      for (auto update :
           llvm::make_early_inc_range(func.getBody().front().getOps<SgdOp>()))
        fuse(update, rows);
  }
};
} // namespace
