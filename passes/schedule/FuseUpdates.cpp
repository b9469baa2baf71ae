//===- FuseUpdates.cpp - Gradients and update of a layer in one op --------===//
//
// Takes `sharded`, gives `sharded`; CPU target only. Of a fully connected layer
//
//     dx = matmul(dy, w)                    (absent in the first layer)
//     g = matmul(transposed dy, x)
//     w', m' = sgd(w, m, scalars, loss, g)
//
// becomes one matmul_sgd, which passes over the weights once and never stores
// g. That pays with few rows (samples): then the layer is bound by the
// bandwidth of memory. Conditions:
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

/// The place of a value: the encoding of its type.
static Attribute placeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getEncoding();
}

static bool isThereAt(Operation *place, Value value) {
  Operation *producer = value.getDefiningOp();
  return !producer || producer->isBeforeInBlock(place);
}

/// The matmul of the layer's data gradient, if it can be fused with the update;
/// null if not.
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
  // The loss may be fetched from another device by a transfer that stands in
  // front of the first update that needed it.
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
