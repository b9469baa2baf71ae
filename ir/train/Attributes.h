//===- Attributes.h - The attributes of the train dialect -------*- C++ -*-===//
//
// What the dialect exec needs of the dialect train: its attributes without its
// ops (TrainAttrs.td), and how work and roles are written where an op prints
// them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_ATTRIBUTES_H
#define LWCC_IR_TRAIN_ATTRIBUTES_H

#include "ir/place/Place.h"
#include "ir/place/Work.h"
#include "runtime/core/Role.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"

#include <optional>
#include <string>

#include "ir/train/TrainDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ir/train/TrainAttrs.h.inc"

namespace lwcc::train {

/// `"conv1" backward tile 2`, as in #train.work<...> and behind `for` of an
/// exec.call.
mlir::ParseResult parseWork(mlir::AsmParser &parser, WorkAttr &work);
void printWork(mlir::AsmPrinter &printer, WorkAttr work);

llvm::StringRef roleName(Role role); ///< "trainable", ...: its enumerator

/// `trainable`: custom<Role> of train.parameter and exec.buffer.
mlir::ParseResult parseRole(mlir::AsmParser &parser, RoleAttr &role);
void printRole(mlir::AsmPrinter &printer, mlir::Operation *op, RoleAttr role);

} // namespace lwcc::train

#endif // LWCC_IR_TRAIN_ATTRIBUTES_H
