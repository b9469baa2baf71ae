//===- BatchNorm.h - Batch normalization as maps ----------------*- C++ -*-===//
//
// What the two modes of batch normalization share: statistics per channel are
// applied to a whole tensor by one elementwise map.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_DIFFERENTIATE_BATCHNORM_H
#define LWCC_PASSES_DIFFERENTIATE_BATCHNORM_H

#include "ir/train/Train.h"

namespace lwcc::train {

/// A parameter [c], or statistics (statisticsType) of the batch or of groups of
/// so many samples, such that it broadcasts over images [n, c, ...]: [c, 1,
/// ...], or the group's row for each sample, [n, c, 1, ...]. The ops that make
/// it stand behind the definition of `value`; later calls return the same ones.
mlir::Value perChannel(mlir::OpBuilder &builder, mlir::Value value,
                       mlir::Value images, int64_t group,
                       mlir::Operation *layerOf);

/// y of `op` from the given statistics, with the op's layer and name.
MapOp applyBatchNorm(mlir::OpBuilder &builder, BatchNormOp op, mlir::Value mean,
                     mlir::Value invstd);

/// The same from the running statistics, without gradients. Bit by bit what
/// applyBatchNorm gives: invstd * scale is made once for all samples.
MapOp evaluateBatchNorm(mlir::OpBuilder &builder, BatchNormOp op,
                        mlir::Value invstd);

/// A param dictionary of an elementwise row.
mlir::DictionaryAttr
floatParams(mlir::MLIRContext *context,
            llvm::ArrayRef<std::pair<llvm::StringRef, double>> params);

} // namespace lwcc::train

#endif // LWCC_PASSES_DIFFERENTIATE_BATCHNORM_H
