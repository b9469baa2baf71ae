//===- Segments.h - A sequence cut into segments ----------------*- C++ -*-===//
//
// Cuts a sequence into segments, which are printed one after the other, each as
// functions that devices and micro-batches share: what each device does in one
// section between two waits for other devices or another section, or one task
// of a micro-batch (Units.h).
//
// In printed order every event is recorded in an earlier segment than that in
// which another device waits for it. So a segment may be printed device by
// device.
//
// Decides where functions of the emitted text begin, and no more: every lane
// keeps its order.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_SEGMENTS_H
#define LWCC_CODEGEN_SEGMENTS_H

#include "codegen/Units.h"

namespace lwcc {

/// What every device does between two waits for the others, or a task.
struct Segment {
  Section section = Section::forward;
  int64_t microBatch = -1;                         ///< of a task, else -1
  std::vector<std::vector<mlir::Operation *>> ops; ///< by device
};

/// The segments of a sequence, in the order in which they are printed. With
/// `byMicroBatch` each task is one, else there are no tasks.
std::vector<Segment> segmentsOf(exec::SequenceOp sequence, ProgramNames &names,
                                bool byMicroBatch);

} // namespace lwcc

#endif // LWCC_CODEGEN_SEGMENTS_H
