//===- Units.h - A sequence as units and tasks ------------------*- C++ -*-===//
//
// Reads a sequence as the printer cuts it:
//
//   section   the forward pass, the backward pass, or the updates that run on
//             transfer lanes beside it
//   unit      a call or a record, with the waits in front of it on its lane
//   task      what a device does for one micro-batch without a break: the calls
//             of a compute lane, and the copies on which they wait
//
// The units of a task are neighbours, and everything that a task needs from
// outside stands before it. So a task can be printed as one call of a function
// that other micro-batches share.
//
// Does not decide where functions begin (Segments.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_UNITS_H
#define LWCC_CODEGEN_UNITS_H

#include "codegen/ProgramNames.h"

namespace lwcc {

/// The part of a step to which a unit belongs; it is in the names of functions.
enum class Section { forward, backward, update };

/// A call or record, with the waits in front of it on its lane.
struct Unit {
  std::vector<mlir::Operation *> ops;
  int device = 0;
  int lane = 0;
  bool isCopy = false; ///< on a copy lane
  Section section = Section::forward;
  /// Of a call: equal for counterparts on other devices, else -1.
  int kind = -1;
  /// Of a call on a compute lane: which of the tiles of its layer on this lane
  /// it makes, if there are several; else -1.
  int64_t microBatch = -1;
  std::vector<int> waits; ///< units that record the events it waits for
  int task = -1;          ///< number of its task, -1 without
};

/// The units of a sequence in an order in which they may be appended to the
/// lanes. With `byMicroBatch` they are gathered as tasks, else in the
/// sequence's order and without tasks.
std::vector<Unit> unitsOf(exec::SequenceOp sequence, ProgramNames &names,
                          bool byMicroBatch);

/// Whether a lane makes several tiles of a layer.
bool hasMicroBatches(exec::SequenceOp sequence, ProgramNames &names);

/// The number of the device on whose lane an op runs.
int deviceOf(mlir::Operation *op, ProgramNames &names);

} // namespace lwcc

#endif // LWCC_CODEGEN_UNITS_H
