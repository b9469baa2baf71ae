//===- ProgramNames.h - The C++ names of one program ------------*- C++ -*-===//
//
// The program that is being printed: its ops by kind and number, and the C++
// identifier of each symbol. All printing files of this room read it.
//
// Decides what is a member of struct Device. Does not decide which buffers
// correspond (ir/exec/Counterparts.h), nor the order of event numbers
// (EmitSequence.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PROGRAMNAMES_H
#define LWCC_CODEGEN_PROGRAMNAMES_H

#include "codegen/CppWriter.h"
#include "codegen/Names.h"
#include "ir/exec/Counterparts.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <map>
#include <optional>
#include <vector>

namespace lwcc {

class NumberTables;

/// A member of struct Device: a lane of each device that has one, or a series
/// of buffers of each (ir/exec/Counterparts.h). Series that differ in element
/// type or rank are different members.
struct DeviceMember {
  std::string name;
  std::vector<exec::LaneOp> lanes; ///< by device, null if it has none
  /// By device and number; null where a device has none.
  std::vector<std::vector<exec::BufferOp>> buffers;
  /// Whether it is an array of tensors: a device has several of the series.
  bool isArray() const {
    return llvm::any_of(buffers, [](const auto &of) { return of.size() > 1; });
  }
};

/// A buffer that is whole rows of another: elements [begin, end) of the other's
/// first dimension.
struct Rows {
  exec::BufferOp whole;
  int64_t begin, end;
};

/// The names and numbers of one program.
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
  /// The members of struct Device: lanes first, then buffers, in the order of
  /// declaration.
  std::vector<DeviceMember> members;

  /// The number of a device, lane or event, by which the runtime's Machine
  /// (runtime/core/Machine.h; not the planner's, passes/plan/machine) knows it.
  int indexOf(mlir::Operation *op) const { return index.at(op); }
  int deviceOf(llvm::StringRef name) { return indexOf(symbols.lookup(name)); }
  /// The byte offset of a buffer in its arena, through views.
  int64_t offsetOf(exec::BufferOp buffer);

  /// The rows of another buffer that a view is, on several devices only. Such a
  /// view is not a member; it is printed as rows(tensor, begin, end), which
  /// makes the texts of devices more alike.
  std::optional<Rows> rowsOf(exec::BufferOp buffer);
  const std::string &memberOf(mlir::Operation *op) { return member.at(op); }
  /// The index of a buffer in its member, if that is an array.
  std::optional<int64_t> elementOf(exec::BufferOp buffer) const;
  /// Gives an event the next number. EmitSequence.cpp calls it in the order
  /// that makes the numbers of counterparts consecutive.
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
  llvm::DenseMap<mlir::Operation *, int64_t> elements;
};

/// The text of an attribute of the program, "" if it has none.
std::string textOf(exec::ProgramOp program, llvm::StringRef attribute);
int64_t numberOf(exec::ProgramOp program, llvm::StringRef attribute);

/// `{1, 2, 3}`
std::string braced(llvm::ArrayRef<int64_t> values);

/// Prints struct Device: the lanes and tensors of a device, and where they are.
void emitDevice(ProgramNames &names, NumberTables &tables, CppWriter &out);

/// Prints the tables that describe the program to the trainer, describe() and
/// main().
/// Prints the part of describe() that lists devices and lanes.
void emitMachine(ProgramNames &names, NumberTables &tables, CppWriter &out);

/// So many statements that are alike, or more, are printed as a loop.
inline constexpr size_t worthLoop = 4;

void emitTables(ProgramNames &names, NumberTables &tables, CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_PROGRAMNAMES_H
