//===- Sgd.cpp - Sums of gradients, and updates ---------------------------===//
//
// sum, clip_gradients, and matmul_sgd (SGD's update of a fully connected layer
// with both products of its backward pass, made by train-fuse-updates). Of the
// other optimizers TrainOps.td says all. Which device updates which part of a
// parameter is decided in passes/shard/Updates.h.
//
//===----------------------------------------------------------------------===//

#include "ir/train/ops/Family.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::tiling;
using namespace lwcc::train;
using namespace lwcc::train::family;

LogicalResult SumOp::verify() {
  if (getXs().empty())
    return emitOpError() << "adds nothing; expected at least one operand";
  for (auto [i, x] : llvm::enumerate(getXs()))
    if (failed(expectShape(*this, "operand " + std::to_string(i), x,
                           shapeOf(getY()))))
      return failure();
  return success();
}

LogicalResult ClipGradientsOp::verify() {
  if (!(getMaxNorm().convertToFloat() > 0))
    return emitOpError() << "clips to a norm of "
                         << getMaxNorm().convertToFloat()
                         << "; expected more than 0";
  if (getGs().getTypes() != getClipped().getTypes())
    return emitOpError("has results of other types than its gradients");
  return success();
}

Operation *SgdOp::buildWithProducts(OpBuilder &builder, Value dy, Value x,
                                    Type dx) {
  return MatMulSgdOp::create(builder, getLoc(), getWNew().getType(),
                             getMNew().getType(), dx, getW(), getM(),
                             getScalars(), getLoss(), dy, x,
                             getDecayScaleAttr(), getLrScaleAttr());
}

Arithmetic MatMulSgdOp::arithmetic(const CallShape &call) {
  const auto &w = call.operands[0], &dy = call.operands[4];
  // The weight's gradient, and another product of the same size for dx.
  Arithmetic work =
      Arithmetic::product(extent(w, 0), extent(w, 1), extent(dy, 0));
  work.flops *= call.results.size() > 2 ? 2 : 1;
  return work;
}
