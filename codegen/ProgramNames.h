//===- ProgramNames.h - The C++ names of one program ------------*- C++ -*-===//
//
// What the two halves of the printer share: the program, its symbols, and the
// identifier of each.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_PROGRAMNAMES_H
#define LWCC_CODEGEN_PROGRAMNAMES_H

#include "codegen/CppWriter.h"
#include "codegen/Names.h"
#include "ir/exec/Exec.h"

#include <map>
#include <vector>

namespace lwcc {

struct ProgramNames {
  explicit ProgramNames(exec::ProgramOp program);

  exec::ProgramOp program;
  mlir::SymbolTable symbols;
  std::vector<exec::DeviceOp> devices;
  std::vector<exec::LaneOp> lanes;
  std::vector<exec::EventOp> events;
  std::vector<exec::KernelOp> kernels;
  std::vector<exec::BufferOp> buffers;

  /// Index of a device, lane or event in its list: how Machine knows it.
  int indexOf(mlir::Operation *op) const { return index.at(op); }
  int deviceOf(llvm::StringRef name) {
    return indexOf(symbols.lookup(name));
  }
  /// Byte offset in the arena, through views.
  int64_t offsetOf(exec::BufferOp buffer);

  /// "d" with one device, "d0", "d1", ... with more.
  std::string variableOf(int device) const;
  const std::string &memberOf(mlir::Operation *op) { return member.at(op); }
  const std::string &kernelName(llvm::StringRef name) {
    return member.at(symbols.lookup(name));
  }

private:
  std::map<mlir::Operation *, int> index;
  std::map<mlir::Operation *, std::string> member;
};

/// The text of an attribute of the program, "" if absent.
std::string textOf(exec::ProgramOp program, llvm::StringRef attribute);
int64_t numberOf(exec::ProgramOp program, llvm::StringRef attribute);

/// `{1, 2, 3}`
std::string braced(llvm::ArrayRef<int64_t> values);

/// Prints the tables that describe the program to the trainer, describe() and
/// main().
void emitTables(ProgramNames &names, CppWriter &out);

} // namespace lwcc

#endif // LWCC_CODEGEN_PROGRAMNAMES_H
