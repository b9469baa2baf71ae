//===- SymbolicProgram.h - An exec program on tags --------------*- C++ -*-===//
//
// What a program does, on memory in which every byte holds a tag that stands
// for its value. Each call is taken apart into groups: a group reads some
// cells (elements) and writes cells whose tags are a hash of what was read.
// Movements copy tags, elementwise kernels have a group for each element, and
// of all others a result depends on the whole of all operands: of a kernel
// nothing is assumed but that equal calls on equal operands give equal results.
//
// Written for the tests of the schedule verifier, and shares no code with it:
// where a tensor's elements lie and what a call does is said here once more,
// after runtime/core/Ops.h. The program has passed the verifiers of its ops.
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

inline Tag mix(Tag a, Tag b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 6) + (a >> 2);
  a *= 0xff51afd7ed558ccdull;
  return a ^ (a >> 33);
}
/// Attributes and names are unique in a context.
inline Tag tagOf(mlir::Attribute attribute) {
  return mix(1, reinterpret_cast<uintptr_t>(attribute.getAsOpaquePointer()));
}

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

/// A tensor in memory.
struct View {
  mlir::RankedTensorType type;
  int64_t declared = 0; ///< byte of the image, by the offsets of its chain
  int64_t first = 0;    ///< byte of the image, windows by their elements
  std::vector<int64_t> strides; ///< in elements
  std::vector<Cell> cells;      ///< in row-major order
  bool inside = true;           ///< its memory, with all its cells
};

/// What a call does, all groups behind each other.
struct Call {
  struct Group {
    Tag seed = 0;
    bool copies = false; ///< the tag of the only cell that it reads
    size_t insEnd = 0, outsEnd = 0;
  };
  std::vector<Group> groups;
  std::vector<Cell> shared; ///< read for each group
  std::vector<Cell> ins;
  std::vector<std::pair<Cell, Tag>> outs; ///< with what tells them apart
  std::string mistake; ///< what is wrong whatever the memory holds

  /// Ends the group of what was added to `ins` and `outs` since the last one.
  void endGroup(Tag seed, bool copies = false) {
    groups.push_back({seed, copies, ins.size(), outs.size()});
  }
};
/// All groups read before one writes.
void run(const Call &call, Image &image);

struct Item {
  enum Kind { call, record, wait } kind = call;
  int lane = 0;
  int awaited = -1; ///< of a wait: the record, -1 if none stands before it
  Call what;
};

/// An element of a buffer that the trainer reads after a run.
struct Kept {
  Tag key; ///< which element of which tensor, for the trainer
  Cell cell;
};

struct SymbolicProgram {
  int lanes = 0;
  Image start;             ///< garbage, and the persistent values
  std::vector<Kept> kept;  ///< by their keys
  std::vector<Cell> given; ///< input, labels, scalars: to be left alone
  std::vector<std::pair<std::string, std::vector<Item>>> sequences; ///< by name
  std::string mistake;
};

/// Memory is the arenas of the devices, or (`byRoot`) one for every buffer that
/// is no view. Persistent buffers hold what the trainer loads into them: copies
/// of an element have one tag.
SymbolicProgram readProgram(exec::ProgramOp program, bool byRoot);

/// What a call computes; absent operands are null.
Call describeCall(exec::CallOp call, exec::KernelOp kernel,
                  llvm::ArrayRef<const View *> ins,
                  llvm::ArrayRef<const View *> outs);

/// The coordinates of a tensor's `index`-th element in row-major order.
std::vector<int64_t> coordinatesOf(llvm::ArrayRef<int64_t> dims, int64_t index);

} // namespace lwcc::test

#endif // LWCC_TEST_UNIT_PASSES_SYMBOLICPROGRAM_H
