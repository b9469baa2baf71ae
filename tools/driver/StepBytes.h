//===- StepBytes.h - The bytes of a training step ---------------*- C++ -*-===//
//
// Counts what the layers of an exec program hold and what devices read of each
// other in a training step. Texts and pages about a program say these numbers.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_DRIVER_STEPBYTES_H
#define LWCC_TOOLS_DRIVER_STEPBYTES_H

#include "ir/exec/Exec.h"

#include "llvm/ADT/MapVector.h"

namespace lwcc {

/// Bytes that a layer reads on other devices.
struct MovedBytes {
  int64_t forward = 0, backward = 0, update = 0;
  void add(Phase phase, int64_t bytes);
};

/// All numbers are bytes but those of calls.
struct StepBytes {
  struct Layer {
    llvm::MapVector<llvm::StringRef, unsigned> calls;
    int64_t parameters = 0, activations = 0;
    MovedBytes moved;
  };
  llvm::MapVector<llvm::StringRef, Layer> layers; ///< by name
  /// From one device to another, by their names.
  llvm::MapVector<std::pair<llvm::StringRef, llvm::StringRef>, int64_t> pairs;

  explicit StepBytes(exec::ProgramOp program);
};

} // namespace lwcc

#endif // LWCC_TOOLS_DRIVER_STEPBYTES_H
