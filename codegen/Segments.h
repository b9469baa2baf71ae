//===- Segments.h - A sequence cut into segments ----------------*- C++ -*-===//
//
// Cuts a sequence into segments, which are printed one after the other, each as
// functions that devices share.
//
//   section   the forward pass, the backward pass, or the updates that run on
//             transfer lanes beside it
//   segment   what each device does in one section between two waits for other
//             devices or another section
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

#include "codegen/ProgramNames.h"

namespace lwcc {

/// The part of a step to which a segment belongs; it is in the names of
/// functions.
enum class Section { forward, backward, update };

/// What every device does between two waits for the others.
struct Segment {
  Section section = Section::forward;
  std::vector<std::vector<mlir::Operation *>> ops; ///< by device
};

/// The segments of a sequence, in the order in which they are printed.
std::vector<Segment> segmentsOf(exec::SequenceOp sequence, ProgramNames &names);

/// The number of the device on whose lane an op runs.
int deviceOf(mlir::Operation *op, ProgramNames &names);

} // namespace lwcc

#endif // LWCC_CODEGEN_SEGMENTS_H
