//===- SymbolicProgram.h - A symbolic model of exec programs ----*- C++ -*-===//
//
// An independent model of exec programs, for the tests of the schedule
// verifier: programs run on symbolic values. It shares no code with the
// compiler. Where the elements of a tensor lie and what a call computes is
// written here a second time, after runtime/core/Ops.h. A program must have
// passed the verifiers of its ops.
//
// The nouns:
//   tag     a number that stands for a value; equal tags are equal values
//   image   a program's memory: a tag for each byte
//   cell    an element, at a byte of the image
//   group   some cells that a call reads, and cells that it computes of them;
//           the tag of a written cell is a hash of the tags read
//   kept    an element that the trainer reads after a run
//
// A movement has groups that copy one tag. An elementwise kernel has a group
// per element. Any other call is one group: each result depends on all
// operands, and nothing is assumed but that equal calls on equal operands give
// equal results (uninterpreted functions).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_PASSES_SYMBOLICPROGRAM_H
#define LWCC_TEST_UNIT_PASSES_SYMBOLICPROGRAM_H

#include "ir/exec/Exec.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::test {

using Tag = uint64_t;

/// A hash of two tags.
inline Tag mix(Tag a, Tag b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdull;
  return a ^ (a >> 33);
}
/// The tag of an attribute or name, which is unique in a context.
inline Tag tagOf(mlir::Attribute attribute) {
  return mix(1, reinterpret_cast<uintptr_t>(attribute.getAsOpaquePointer()));
}

/// The tag of a number that a program writes as an element of this type.
Tag tagOfNumber(mlir::Type type, double value);

/// A program's memory: the tags of all its bytes.
using Image = std::vector<Tag>;

/// An element, at a byte of the image.
struct Cell {
  int64_t at = 0;
  int bytes = 4; ///< 1 or 4
  bool operator==(const Cell &) const = default;
};
Tag readCell(const Image &image, Cell cell);
void writeCell(Image &image, Cell cell, Tag tag);

/// A tensor in memory; null stands for an absent one.
struct View {
  mlir::RankedTensorType type;
  int64_t declared = 0; ///< byte of the image, from the offsets of its chain
  int64_t first = 0;    ///< byte of the image, from a window's elements
  std::vector<int64_t> strides; ///< in elements
  std::vector<Cell> cells;      ///< in row-major order
  bool inside = true;           ///< whether its memory holds all its cells
};

/// A call as groups, their cells one behind the other.
struct Call {
  /// The cells of a group end at insEnd and outsEnd, and begin where the group
  /// before it ends.
  struct Group {
    Tag seed = 0;
    bool copies = false; ///< the result is the only cell that it reads
    size_t insEnd = 0, outsEnd = 0;
  };
  std::vector<Group> groups;
  std::vector<Cell> shared; ///< read by every group
  std::vector<Cell> ins;
  std::vector<std::pair<Cell, Tag>> outs; ///< each with a tag of its own
  std::string mistake; ///< what is wrong in any memory; "" if nothing

  /// Ends the group of what was added to `ins` and `outs` since the last one.
  void endGroup(Tag seed, bool copies = false) {
    groups.push_back({seed, copies, ins.size(), outs.size()});
  }
};
/// Runs a call: all groups read before any of them writes.
void run(const Call &call, Image &image);

/// A call, record or wait of a sequence.
struct Item {
  enum Kind { call, record, wait } kind = call;
  int lane = 0;
  int awaited = -1; ///< of a wait: its record; -1 if none stands before it
  Call what;
};

/// An element of a buffer that the trainer reads after a run.
struct Kept {
  Tag key; ///< identifies the element and its tensor
  Cell cell;
};

/// A program as it runs on one image.
struct SymbolicProgram {
  int lanes = 0;
  Image start;             ///< garbage, and tags of persistent buffers
  std::vector<Kept> kept;  ///< by their keys
  std::vector<Cell> given; ///< input, labels, scalars: never written
  std::vector<std::pair<std::string, std::vector<Item>>> sequences; ///< by name
  std::string mistake;
};

/// Reads a program. Memory is the arenas of its devices or, with `byRoot`, a
/// memory of its own for each root buffer. Persistent buffers hold tags of what
/// the trainer loads: copies of an element have equal tags.
SymbolicProgram readProgram(exec::ProgramOp program, bool byRoot);

/// The groups of a call; absent operands are null.
Call describeCall(exec::CallOp call, exec::KernelOp kernel,
                  llvm::ArrayRef<const View *> ins,
                  llvm::ArrayRef<const View *> outs);

/// The coordinates of element `index` in row-major order.
std::vector<int64_t> coordinatesOf(llvm::ArrayRef<int64_t> dims, int64_t index);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_SYMBOLICPROGRAM_H
