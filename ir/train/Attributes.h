//===- Attributes.h - The attributes of the train dialect -------*- C++ -*-===//
//
// What the dialect exec needs of the dialect train: its attributes without its
// ops (TrainAttrs.td), and how work is written where an op prints it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_ATTRIBUTES_H
#define LWCC_IR_TRAIN_ATTRIBUTES_H

#include "ir/place/Place.h"
#include "ir/place/Work.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>
#include <string>

#include "ir/train/TrainDialect.h.inc"
#include "ir/train/TrainEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/train/TrainAttrs.h.inc"

namespace lwcc::train {

/// `"conv1" backward tile 2`, as in #train.work<...> and behind `for` of an
/// exec.call.
mlir::ParseResult parseWork(mlir::AsmParser &parser, WorkAttr &work);
void printWork(mlir::AsmPrinter &printer, WorkAttr work);

} // namespace lwcc::train

#endif // LWCC_IR_TRAIN_ATTRIBUTES_H
