//===- Counterparts.h - What devices that do alike share --------*- C++ -*-===//
//
// Decides which buffers and lanes of different devices correspond. Counterparts
// are buffers that hold tiles of one tensor with the same rank among their
// device's tiles, and compute lanes with the same number. Memory planning gives
// counterparts one offset where it can (PlanMemory.cpp). The printer makes them
// one member of struct Device, so that devices share functions
// (codegen/ProgramNames.h).
//
// Compares what buffers hold (tensor and tile), never symbols.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_EXEC_COUNTERPARTS_H
#define LWCC_IR_EXEC_COUNTERPARTS_H

#include "ir/exec/Exec.h"

#include "llvm/ADT/DenseMap.h"

#include <string>

namespace lwcc::exec {

/// One of the buffers that hold, on one device, the tiles of one tensor.
struct OfSeries {
  std::string name; ///< "relu1.n", unique among all series
  int64_t number;   ///< of the buffer on its device, ascending
};

/// The counterparts of one program, by common names.
class Counterparts {
public:
  explicit Counterparts(ProgramOp program);

  /// The name that a buffer or lane has in common with its counterparts, and
  /// with nothing else on its device. Buffers: "fc1.weight", "relu1.n" for
  /// tiles along n, "relu1.n0" and "relu1.n1" if a device has several. Lanes:
  /// "compute", "lane1", "transfer".
  llvm::StringRef nameOf(mlir::Operation *op) const { return names.at(op); }

  /// The series to which a buffer belongs: the tiles of a tensor, or what a
  /// device makes or fetches several times and what is alike (a micro-batch of
  /// another device's result). Any other buffer is a series of its own.
  const OfSeries &seriesOf(BufferOp buffer) const { return series.at(buffer); }

private:
  llvm::DenseMap<mlir::Operation *, std::string> names;
  llvm::DenseMap<mlir::Operation *, OfSeries> series;
};

} // namespace lwcc::exec

#endif // LWCC_IR_EXEC_COUNTERPARTS_H
