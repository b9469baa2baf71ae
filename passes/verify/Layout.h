//===- Layout.h - Where the buffers of a program lie ------------*- C++ -*-===//
//
// The bytes of every buffer in its device's arena, views resolved, and whether
// they may lie there (rules E3 and E4 of ir/exec/README.md). The places
// themselves were decided by passes/memory.
//
// Not decided here: whether what lies in the same bytes is in use at the same
// time (Accesses.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_LAYOUT_H
#define LWCC_PASSES_VERIFY_LAYOUT_H

#include "ir/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

namespace lwcc::proof {

/// The bytes of a buffer, views resolved.
struct Extent {
  mutable exec::BufferOp buffer; ///< mutable: MLIR's accessors are not const
  exec::BufferOp root;
  int device = 0;
  int64_t begin = 0; ///< in the device's arena
  int64_t end = 0;
};
class Layout {
public:
  explicit Layout(exec::ProgramOp program);

  /// Finds the extents. Reports every buffer that lies where it must not.
  mlir::LogicalResult find();

  size_t devices() const { return deviceOps.size(); }
  const Extent &of(mlir::StringAttr buffer) const {
    return extents.find(buffer)->second;
  }

private:
  mlir::LogicalResult checkPersistent(
      llvm::MutableArrayRef<llvm::SmallVector<Extent>> rootsOfDevices);

  exec::ProgramOp program;
  mlir::SymbolTable symbols;
  llvm::DenseMap<mlir::StringAttr, int> numbers; ///< of devices
  llvm::SmallVector<exec::DeviceOp> deviceOps;
  llvm::DenseMap<mlir::StringAttr, Extent> extents;
};

} // namespace lwcc::proof

#endif // LWCC_PASSES_VERIFY_LAYOUT_H
