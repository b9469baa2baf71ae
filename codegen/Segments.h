//===- Segments.h - A sequence in pieces that devices run alike -*- C++ -*-===//
//
// Defines:
//
//   section   the forward pass, the backward pass, or the updates that run on
//             transfer lanes beside it
//   segment   what each device does in one section between two waits for what
//             other devices, or another section, do
//
// Printed one after the other, segments append every event's record before its
// waits: within a segment nobody waits for what another device does in it, so
// that it can be printed device by device. Nothing is decided here but where
// functions of the printed text begin; lanes keep their order.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_SEGMENTS_H
#define LWCC_CODEGEN_SEGMENTS_H

#include "codegen/ProgramNames.h"

namespace lwcc {

enum class Section { forward, backward, update };

struct Segment {
  Section section = Section::forward;
  std::vector<std::vector<mlir::Operation *>> ops; ///< by device
};

/// In the order in which they are printed.
std::vector<Segment> segmentsOf(exec::SequenceOp sequence, ProgramNames &names);

/// The device on whose lane an op of a sequence runs.
int deviceOf(mlir::Operation *op, ProgramNames &names);

} // namespace lwcc

#endif // LWCC_CODEGEN_SEGMENTS_H
