//===- Statements.h - What a device does, statement by statement -*- C++
//-*-===//
//
// Makes an exec op a Statement: text and numbers (Phrase.h) as they are printed
// in a function of the device on whose lane the op runs. In that text `d` is
// this device and `gpu[k]` another one. A list that names one tensor of every
// device, or of every other device, becomes one item, the same on all devices.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_STATEMENTS_H
#define LWCC_CODEGEN_STATEMENTS_H

#include "codegen/Phrase.h"
#include "codegen/ProgramNames.h"

namespace lwcc {

/// Items of a braced list, or of waits; `device` says whose each item is.
struct ItemList {
  std::vector<Phrase> items;
  std::vector<int64_t> devices;
  /// Whether the items have one shape and are those of everybody, or of all
  /// but this device, in order.
  enum Range { few, everybody, others } range = few;
};

struct Argument {
  Phrase phrase;
  bool isList = false;
  ItemList list;
};

struct Statement {
  enum Kind { call, layer, record, wait } kind = call;
  std::string callee; ///< call; layer: its name as it is, for a comment
  Phrase lane;
  std::vector<Argument> arguments; ///< call, layer
  Phrase event;                    ///< record
  ItemList events;                 ///< wait

  /// Equal where two devices' statements differ in numbers only.
  std::string shape() const;
};

/// The statements of one device.
class StatementBuilder {
public:
  StatementBuilder(ProgramNames &names, int device)
      : names(names), device(device) {}

  /// Appends what an op on one of the device's lanes says; an event is known by
  /// `eventNumber` and the device that records it.
  mlir::LogicalResult add(mlir::Operation *op, int64_t eventNumber,
                          int64_t eventDevice);
  std::vector<Statement> take();

private:
  mlir::LogicalResult addCall(exec::CallOp op);
  void finishWaits();
  Phrase laneOf(llvm::StringRef name);
  Phrase tensor(mlir::Attribute operand, bool inList);
  Argument listOf(llvm::ArrayRef<mlir::Attribute> operands);
  mlir::FailureOr<Phrase> parameter(exec::CallOp op, mlir::NamedAttribute attr);
  void setRange(ItemList &list);

  ProgramNames &names;
  int device;
  std::vector<Statement> statements;
  /// The layer that each lane was told last.
  std::map<std::string, std::pair<llvm::StringRef, Phase>> current;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_STATEMENTS_H
