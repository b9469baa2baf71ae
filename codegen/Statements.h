//===- Statements.h - What a device does, op by op --------------*- C++ -*-===//
//
// Turns exec ops into Statements: text and numbers (Phrase.h) as the function
// of the op's device says them. In this text `d` is the device itself and
// `gpu[k]` another one. A list with one tensor of every device, or of every
// other device, becomes one item, so that devices share it.
//
// Does not decide which devices share a function (EmitSequence.cpp), nor what
// the numbers become (EmitFunction.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_STATEMENTS_H
#define LWCC_CODEGEN_STATEMENTS_H

#include "codegen/Phrase.h"
#include "codegen/ProgramNames.h"

namespace lwcc {

/// The items of a braced list or of a wait, and the device that owns each.
struct ItemList {
  std::vector<Phrase> items;
  std::vector<int64_t> devices;
  /// Whether the items have one shape: of every device in order, of all but
  /// this one, or any number of them.
  enum Range { few, everybody, others, many } range = few;
  /// Of `many`: how many items in front are of another shape than the others,
  /// as the sum so far is in front of what it is added to. They are printed one
  /// by one.
  size_t head = 0;
  /// Of a list that is not `few`: for each item the value of the variable over
  /// which the list is printed, the owner's number or that in the list.
  std::vector<int64_t> numbers() const;
};

/// An argument of a call: a phrase or a list.
struct Argument {
  Phrase phrase;
  bool isList = false;
  ItemList list;
};

/// What one op says on one device.
struct Statement {
  enum Kind { call, layer, record, wait } kind = call;
  std::string callee; ///< of a call; of a layer: its name, for a comment
  Phrase lane;
  std::vector<Argument> arguments; ///< call, layer
  Phrase event;                    ///< record
  ItemList events;                 ///< wait

  /// Equal for statements of two devices that differ in numbers only.
  std::string shape() const;
};

/// Makes the statements of one device, in order.
class StatementBuilder {
public:
  StatementBuilder(ProgramNames &names, int device)
      : names(names), device(device) {}

  /// Appends the statement of an op on one of the device's lanes. An event is
  /// identified by `eventNumber` and the device that records it.
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
  /// The layer that was announced last, by lane.
  std::map<std::string, std::pair<llvm::StringRef, Phase>> current;
};

} // namespace lwcc

#endif // LWCC_CODEGEN_STATEMENTS_H
