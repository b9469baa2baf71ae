//===- Counterparts.h - What devices that do alike share --------*- C++ -*-===//
//
// Buffers of several devices that hold corresponding tiles of one tensor are
// counterparts, and so are their lanes of one kind. Memory planning puts
// counterparts at one offset where it can; the printer makes them one member of
// struct Device, so that devices share functions.
//
// Which buffers correspond follows from what they hold (exec.buffer: tensor,
// tile), never from symbols.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_COUNTERPARTS_H
#define LWCC_IR_EXEC_COUNTERPARTS_H

#include "ir/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace lwcc::exec {

class Counterparts {
public:
  explicit Counterparts(ProgramOp program);

  /// The name that a buffer or a lane shares with its counterparts and with
  /// nothing else of its device: "fc1.weight", "relu1.n" for tiles along n,
  /// "relu1.n0", "relu1.n1" where a device has several; "compute", "lane1",
  /// "transfer".
  llvm::StringRef nameOf(mlir::Operation *op) const { return names.at(op); }

private:
  llvm::DenseMap<mlir::Operation *, std::string> names;
};

} // namespace lwcc::exec

#endif // LWCC_IR_EXEC_COUNTERPARTS_H
