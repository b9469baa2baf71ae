//===- Meaning.h - What a program computes ----------------------*- C++ -*-===//
//
// Translation validation (Pnueli, Siegel, Singerman 1998) of train-to-exec and
// of all passes behind it: rule E10 of ir/exec/README.md. Checked is that the
// calls of a sequence, one after the other, leave in every persistent buffer
// the value that the function computes from which they were made.
//
// The method is value numbering. A value's number is the hash of the operation
// that makes it, of the operation's parameters and of what its operands hold.
// Up to collisions of the hash, equal numbers mean equal computations;
// reassociated sums, for one, have different numbers.
//
// The nouns:
//   value     what one operation makes in one result; it has a number
//   piece     a range of bytes of a value
//   content   what a tensor holds: pieces, one behind the other
//   meaning   the numbers of what a function or sequence leaves in each
//             persistent buffer
//
// Movements (reshape, slice, concat, transfer, ...) make no values; they
// rearrange pieces. So it does not matter whether a movement became a view, a
// call, or a place in a larger tensor.
//
// The two sides are computed independently: of a function by its SSA values
// (FunctionMeaning.cpp), of a sequence by the bytes that its calls write
// (SequenceMeaning.cpp). They share only what an operation means (Evaluator,
// Meaning.cpp) and the storage order of a type (isChannelsLast).
//
// Does not decide whether lanes keep to the order of the calls, nor whether
// buffers keep their bytes: ScheduleVerifier.cpp does.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_VERIFY_MEANING_H
#define LWCC_PASSES_VERIFY_MEANING_H

#include "ir/exec/Exec.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace lwcc {

/// The meaning of a sequence: a number per persistent buffer, in the order of
/// declaration. It covers what the buffer holds at the end and what the trainer
/// is told of it (role, tensor, part, initial value). The program must keep
/// rules E2 and E3.
llvm::SmallVector<int64_t> meaningOf(exec::SequenceOp sequence);

/// The meaning of a function of the form `scheduled`: a number per parameter of
/// the module, per argument and per result, in this order. train-to-exec
/// declares the buffers in the same order.
llvm::SmallVector<int64_t> meaningOf(mlir::func::FuncOp func);

/// Compares the meaning of a sequence with the one that it carries (`means`),
/// if it carries one.
mlir::LogicalResult verifyMeaning(exec::SequenceOp sequence);

namespace meaning {

/// Bytes [first, first + bytes) of the value with this number. (Pieces of
/// shard::Pieces are regions of tensors, not bytes.)
struct Piece {
  uint64_t value;
  int64_t first, bytes;
};
/// What a tensor holds, in the order in which its bytes are stored.
using Content = llvm::SmallVector<Piece, 1>;

/// Appends pieces; two that are neighbours in one value become one.
void append(Content &content, Piece piece);
void append(Content &content, llvm::ArrayRef<Piece> pieces);
/// What bytes [first, first + bytes) of a tensor hold.
Content rangeOf(llvm::ArrayRef<Piece> content, int64_t first, int64_t bytes);

/// An operand as the evaluator sees it: a type and what it holds.
/// (exec::BufferOp is the memory, rt::Tensor the argument at run time.)
struct Tensor {
  mlir::RankedTensorType type; ///< without a place; null: absent
  Content content;
};

/// A runtime call, or the op that becomes one, in the form that both sides have
/// in common.
struct Application {
  llvm::StringRef callee;
  /// Of a map: its expression, and how many of its operands are inputs of it.
  llvm::StringRef expression;
  int64_t inputs = 0;
  mlir::DictionaryAttr fields; ///< parameters of the call, defaults included
  llvm::SmallVector<Tensor> operands;
  llvm::SmallVector<mlir::RankedTensorType> results; ///< null: absent
};

/// Evaluates operations on contents: the semantics that both sides share.
class Evaluator {
public:
  /// What the results of an operation hold.
  llvm::SmallVector<Content> evaluate(const Application &operation);
  /// What the part of `whole` holds that begins at `start` and takes every
  /// `step`-th element. These are pieces of `whole` if the part is stored
  /// densely, else the value of a slice.
  Content part(const Tensor &whole, llvm::ArrayRef<int64_t> start,
               llvm::ArrayRef<int64_t> step, mlir::RankedTensorType type);
  /// What the persistent buffer `number` holds before the first call: a value
  /// of its own. `properties` are what the trainer is told of the buffer.
  Content initial(size_t number, mlir::RankedTensorType type,
                  llvm::ArrayRef<mlir::Attribute> properties);
  /// The number of a content.
  static int64_t numberOf(llvm::ArrayRef<Piece> content);
  /// The number of a persistent buffer at the end of the sequence called
  /// `sequence`; `before` is its initial value, and so says what the buffer is.
  static int64_t numberOf(llvm::StringRef sequence,
                          llvm::ArrayRef<Piece> before,
                          llvm::ArrayRef<Piece> after);

private:
  std::optional<llvm::SmallVector<Content>> move(const Application &operation);
  friend class Hash;
  /// The hash of the text of an attribute or type, cached.
  uint64_t textHash(mlir::Attribute attribute);
  uint64_t textHash(mlir::Type type);

  llvm::DenseMap<const void *, uint64_t> texts;
};

/// The offset in bytes of the part of `whole` that begins at `start` and has
/// the type `part`; nothing unless the part is stored as one dense range.
std::optional<int64_t> denseRange(mlir::RankedTensorType whole,
                                  llvm::ArrayRef<int64_t> start,
                                  llvm::ArrayRef<int64_t> step,
                                  mlir::RankedTensorType part);

} // namespace meaning
} // namespace lwcc

#endif // LWCC_PASSES_VERIFY_MEANING_H
