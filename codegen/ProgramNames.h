//===- ProgramNames.h - The C++ names of one program ------------*- C++ -*-===//
//
// A ProgramNames is the program that is being printed, with its symbols by
// number and the C++ identifier of each. EmitSequence.cpp, EmitDevice.cpp and
// EmitTables.cpp all read it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PROGRAMNAMES_H
#define LWCC_CODEGEN_PROGRAMNAMES_H

#include "codegen/CppWriter.h"
#include "codegen/Names.h"
#include "ir/exec/Counterparts.h"

#include <map>
#include <optional>
#include <vector>

namespace lwcc {

class NumberTables;

/// A member of struct Device: counterparts, a tensor or lane of each device
/// that has one. Counterparts of other element types or ranks are other
/// members.
struct DeviceMember {
  std::string name;
  std::vector<exec::BufferOp> buffers; ///< by device, null where there is none
  std::vector<exec::LaneOp> lanes;     ///< the same, of a lane
};

/// A tensor that is whole rows of another: elements [begin, end) of its first
/// dimension.
struct Rows {
  exec::BufferOp whole;
  int64_t begin, end;
};

struct ProgramNames {
  explicit ProgramNames(exec::ProgramOp program);

  exec::ProgramOp program;
  mlir::SymbolTable symbols;
  exec::Counterparts counterparts;
  std::vector<exec::DeviceOp> devices;
  std::vector<exec::LaneOp> lanes;
  std::vector<exec::EventOp> events;
  std::vector<exec::KernelOp> kernels;
  std::vector<exec::BufferOp> buffers;
  /// The members of struct Device: lanes, then tensors, in the order of their
  /// declaration.
  std::vector<DeviceMember> members;

  /// The index of a device, lane or event, by which the runtime's Machine knows
  /// it.
  int indexOf(mlir::Operation *op) const { return index.at(op); }
  int deviceOf(llvm::StringRef name) { return indexOf(symbols.lookup(name)); }
  /// Byte offset in the arena, through views.
  int64_t offsetOf(exec::BufferOp buffer);

  /// The rows that a view is of another tensor; none with a single device. With
  /// several, such a view is no member of struct Device: it is printed as
  /// rows(tensor, begin, end), which makes the devices' texts more alike.
  std::optional<Rows> rowsOf(exec::BufferOp buffer);
  const std::string &memberOf(mlir::Operation *op) { return member.at(op); }
  /// Events are numbered as they are printed.
  void numberEvent(exec::EventOp event) {
    eventNumbers.try_emplace(event, eventNumbers.size());
  }
  int64_t eventNumber(exec::EventOp event) const {
    return eventNumbers.at(event);
  }
  const std::string &kernelName(llvm::StringRef name) {
    return member.at(symbols.lookup(name));
  }

private:
  void nameMembers();

  std::map<mlir::Operation *, int64_t> eventNumbers;
  std::map<mlir::Operation *, int> index;
  std::map<mlir::Operation *, std::string> member;
};

/// The text of an attribute of the program, "" if absent.
std::string textOf(exec::ProgramOp program, llvm::StringRef attribute);
int64_t numberOf(exec::ProgramOp program, llvm::StringRef attribute);

/// `{1, 2, 3}`
std::string braced(llvm::ArrayRef<int64_t> values);

/// Prints struct Device: where its lanes and tensors are.
void emitDevice(ProgramNames &names, NumberTables &tables, CppWriter &out);

/// Prints the tables that describe the program to the trainer, describe() and
/// main().
void emitTables(ProgramNames &names, CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_PROGRAMNAMES_H
