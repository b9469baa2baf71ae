//===- Groups.h - What shares one function of the text ----------*- C++ -*-===//
//
// Forms groups: what devices do in the segments of a sequence (Segments.h), put
// together where it differs in numbers only. Each group becomes one function
// (EmitFunction.h), and the sequence a list of steps that call these
// (EmitSequence.cpp).
//
// Decides which devices and micro-batches share a function, and what number
// stands for a micro-batch.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_GROUPS_H
#define LWCC_CODEGEN_GROUPS_H

#include "codegen/Segments.h"
#include "codegen/Statements.h"

namespace lwcc {

/// The waits and records in front of a call, or behind the last. Members of a
/// group may differ in these.
using Gap = std::vector<Statement>;

/// What one device does in one segment: gaps[n] stands in front of calls[n].
struct Member {
  int64_t device;
  int64_t microBatch; ///< unlike that of the group's others on the device
  std::vector<Statement> calls;
  std::vector<Gap> gaps; ///< one more than calls
};

/// Members whose calls differ in numbers only.
struct Group {
  Section section;
  std::vector<Member> members;

  /// Whether they are several on a device, so that the function needs to know
  /// which it is.
  bool hasMicroBatches() const;
  /// All numbers of micro-batches are below it.
  int64_t microBatches() const;
};

/// A call of a group's function on some devices.
struct Step {
  size_t group;
  std::vector<int64_t> devices; ///< ascending
  int64_t microBatch;
};

/// The text of a sequence to be: its functions, and their calls in order.
struct Grouping {
  std::vector<Group> groups; ///< in the order of their first call
  std::vector<Step> steps;
};

/// Forms the groups of a sequence. The events of `names` must have numbers.
mlir::FailureOr<Grouping> groupsOf(exec::SequenceOp sequence,
                                   ProgramNames &names, bool byMicroBatch);

} // namespace lwcc

#endif // LWCC_CODEGEN_GROUPS_H
