//===- Meaning.h - What a program computes ----------------------*- C++ -*-===//
//
// Translation validation of train-to-exec and of what follows it: whether the
// calls of a sequence, one after the other, leave in every persistent buffer
// the value that the function computes from which they were made (rule E10 of
// ir/exec/README.md). Values have numbers: the hash of the operation that
// makes them, of its parameters and of what its operands hold. What a tensor
// holds is a list of ranges of bytes of such values, so that it does not matter
// which movements became views, calls, or places in a larger tensor.
//
// The two sides find out what holds what in different ways: of a function by
// its values (FunctionMeaning.cpp), of a sequence by the bytes that its calls
// write (SequenceMeaning.cpp). Shared is only what an operation means, below,
// and in which order the elements of a type are stored (isChannelsLast).
//
// Not decided here: whether lanes keep to the order of the calls, and whether
// buffers keep their bytes (ScheduleVerifier.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_MEANING_H
#define LWCC_PASSES_VERIFY_MEANING_H

#include "ir/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace lwcc {

/// What a sequence leaves in the persistent buffers, and what the trainer is
/// told that they are, in the order in which they are declared: a number each.
/// The program's layout must be legal (E2, E3).
llvm::SmallVector<int64_t> meaningOf(exec::SequenceOp sequence);

/// What a function of the form `scheduled` leaves in the module's parameters,
/// in its arguments and in its results, in this order, which is that of the
/// buffers that become of them.
llvm::SmallVector<int64_t> meaningOf(mlir::func::FuncOp func);

/// Checks a sequence against the meaning that it carries, if it carries one.
mlir::LogicalResult verifyMeaning(exec::SequenceOp sequence);

namespace meaning {

/// Bytes [first, first + bytes) of a value.
struct Piece {
  uint64_t value;
  int64_t first, bytes;
};
/// The bytes of a tensor as it is stored, densely, from its first on.
using Content = llvm::SmallVector<Piece, 1>;

/// Appends, and joins what belongs together.
void append(Content &content, Piece piece);
void append(Content &content, llvm::ArrayRef<Piece> pieces);
/// Bytes [first, first + bytes) of a tensor.
Content rangeOf(llvm::ArrayRef<Piece> content, int64_t first, int64_t bytes);

struct Tensor {
  mlir::RankedTensorType type; ///< without a place; null: absent
  Content content;
};

/// A runtime call, or the op that becomes one.
struct Operation {
  llvm::StringRef callee;
  /// Of a map: its expression, and how many of its operands are its inputs.
  llvm::StringRef expression;
  int64_t inputs = 0;
  mlir::DictionaryAttr fields; ///< all of them, also those with defaults
  llvm::SmallVector<Tensor> operands;
  llvm::SmallVector<mlir::RankedTensorType> results; ///< null: absent
};

/// Says what operations mean.
class Evaluator {
public:
  /// What the results hold.
  llvm::SmallVector<Content> evaluate(const Operation &operation);
  /// The part of `whole` that begins at `start` and takes each `step`-th
  /// element: bytes of it where they are stored as one dense range, else the
  /// value of a slice.
  Content part(const Tensor &whole, llvm::ArrayRef<int64_t> start,
               llvm::ArrayRef<int64_t> step, mlir::RankedTensorType type);
  /// What is in the `number`-th persistent buffer before the first call; the
  /// properties are what the trainer is told of it.
  Content initial(size_t number, mlir::RankedTensorType type,
                  llvm::ArrayRef<mlir::Attribute> properties);
  static int64_t numberOf(llvm::ArrayRef<Piece> content);
  /// The number of a buffer that holds this before the first call (that is what
  /// it is) and that in the end of a sequence of this name.
  static int64_t numberOf(llvm::StringRef sequence,
                          llvm::ArrayRef<Piece> before,
                          llvm::ArrayRef<Piece> after);

private:
  std::optional<llvm::SmallVector<Content>> move(const Operation &operation);
  friend class Hash;
  /// Of the text of an attribute or type.
  uint64_t textHash(mlir::Attribute attribute);
  uint64_t textHash(mlir::Type type);

  llvm::DenseMap<const void *, uint64_t> texts;
};

/// The first byte of the part of `whole` that begins at `start` and has the
/// type `part`, if it is stored as one dense range of bytes.
std::optional<int64_t> denseRange(mlir::RankedTensorType whole,
                                  llvm::ArrayRef<int64_t> start,
                                  llvm::ArrayRef<int64_t> step,
                                  mlir::RankedTensorType part);

} // namespace meaning
} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_MEANING_H
