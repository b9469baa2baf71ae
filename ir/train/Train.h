//===- Train.h - The train dialect ------------------------------*- C++ -*-===//
//
// Umbrella header of the train dialect: ops, attributes, interfaces and the
// few helpers that every pass over it shares (names, layers, places).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_TRAIN_TRAIN_H
#define LWCC_IR_TRAIN_TRAIN_H

#include "ir/train/Attributes.h"
#include "ir/train/Expression.h"
#include "ir/train/Interfaces.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <optional>
#include <string>

namespace lwcc::train {
llvm::LogicalResult verifySizes(mlir::Operation *op);
/// Of every op: its values have sizes (see TrainOps.td).
template <typename ConcreteOp>
class SizedOp : public mlir::OpTrait::TraitBase<ConcreteOp, SizedOp> {
public:
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return verifySizes(op);
  }
};
} // namespace lwcc::train

#define GET_OP_CLASSES
#include "ir/train/TrainOps.h.inc"

namespace lwcc::train {

/// The type of a value of the dialect: always a tensor with a rank.
inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

/// The two discardable attributes that every pass keeps: the #train.work that
/// an op is, and what each of its results is called.
inline constexpr llvm::StringLiteral workAttr = "train.work";
inline constexpr llvm::StringLiteral namesAttr = "train.names";
/// #train.tiling of an op, from the form planned on.
inline constexpr llvm::StringLiteral tilingAttr = "train.tiling";
/// Of a matrix product that belongs to a layer's backward pass: which dimension
/// of the layer's result its m, n and k are, "n", "c" or "-" each. Absent:
/// "nc-".
inline constexpr llvm::StringLiteral axesAttr = "train.axes";
/// Of a parameter or an argument that holds a part of a tensor (from the form
/// sharded on): the tensor's name and extents, and the part's first element.
/// Of a map that draws random numbers for a part: extents and first element.
inline constexpr llvm::StringLiteral tensorAttr = "train.tensor";
inline constexpr llvm::StringLiteral dimsAttr = "train.dims";
inline constexpr llvm::StringLiteral beginAttr = "train.begin";
/// Of a module with a loss: how many classes labels may name.
inline constexpr llvm::StringLiteral classesAttr = "train.classes";
/// The axis of the classes in a model's scores: [n, c] and [n, c, ...], where
/// all that follow may be 1, but of sequences [n, t, c].
int64_t classAxis(llvm::ArrayRef<int64_t> scores);
/// Of a module: the loss that was asked for (Losses.h); from the form
/// differentiated on, the one that it has, if that is of numbers.
inline constexpr llvm::StringLiteral lossNameAttr = "train.loss_name";
/// Of a module in the form imported: the parameter that holds what each class
/// counts in a loss that is added.
inline constexpr llvm::StringLiteral classWeightsAttr = "train.class_weights";
/// Of a loss of the file, in the form imported: the label smoothing that it had
/// where it was exported, and has no more.
inline constexpr llvm::StringLiteral exportedSmoothingAttr =
    "train.exported_smoothing";
/// Of a module, from the form differentiated on: training normalizes samples by
/// others of their batch.
inline constexpr llvm::StringLiteral batchStatisticsAttr =
    "train.batchStatistics";
/// Of a module in the form imported, whose function returns more outputs that
/// are trained behind the logits: for each of them its `name`, the `weight` of
/// its loss, and its own `loss` or "".
inline constexpr llvm::StringLiteral auxiliaryAttr = "train.auxiliary";
/// Of a module: at its end the file has a softmax over the classes, which is
/// part of the loss.
inline constexpr llvm::StringLiteral softmaxAttr = "train.softmax";
/// Of a module some of whose inputs are integers: a dictionary of how many
/// there are, from 0, for each of these by name.
inline constexpr llvm::StringLiteral tokensAttr = "train.tokens";
/// Of a module: the names of inputs that the file takes with channels last, and
/// the program with channels second.
inline constexpr llvm::StringLiteral channelsLastAttr = "train.channels_last";
/// Of a module, in the form planned: a #train.lane_order for each lane whose
/// order the plan says something about.
inline constexpr llvm::StringLiteral orderAttr = "train.order";
/// Of a module, from the form planned on: a #train.lane_width for each lane
/// whose width the plan gives.
inline constexpr llvm::StringLiteral lanesAttr = "train.lanes";
/// #train.tile of an op that makes a part of a larger op's results (form
/// sharded on); its train.names are those of the whole.
inline constexpr llvm::StringLiteral tileAttr = "train.tile";

/// Most tensors that the runtime's sum and sgd take (runtime/core/Ops.h).
inline constexpr size_t maxTerms = 64;
/// Function argument attributes: what it is called (a graph input by its ONNX
/// name), and its #train.role; without one it is an input.
inline constexpr llvm::StringLiteral argNameAttr = "train.name";
inline constexpr llvm::StringLiteral roleAttr = "train.role";
Role roleOf(mlir::BlockArgument argument);
/// What a function returns: the loss (the scalar), the counts of right answers,
/// and of @evaluate behind them the scores.
Role roleOfResult(mlir::OpOperand &result);

/// Names of the functions of a module, by form (README.md).
inline constexpr llvm::StringLiteral modelFunc = "model";
inline constexpr llvm::StringLiteral trainStepFunc = "train_step";
inline constexpr llvm::StringLiteral evaluateFunc = "evaluate";

/// What an op serves; null if it does not say.
WorkAttr workOf(mlir::Operation *op);
llvm::StringRef layerOf(mlir::Operation *op); ///< "" if it does not say
Phase phaseOf(mlir::Operation *op);           ///< forward if it does not say
/// Says which layer an op serves, and when.
void setWork(mlir::Operation *op, llvm::StringRef layer, Phase phase,
             std::optional<int64_t> tile = std::nullopt);
/// The op serves the layer of `from`, in this phase.
void inheritWork(mlir::Operation *op, mlir::Operation *from, Phase phase);

/// The ONNX-derived name of a value: its op's train.names, its argument's
/// train.name, its parameter's symbol; "" if none.
llvm::StringRef nameOf(mlir::Value value);
void setNames(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> names);

/// Makes these what a function returns.
void setResults(mlir::func::FuncOp func, mlir::ValueRange results);

/// tensor<64xui8>, the type of the step's scalars.
mlir::RankedTensorType scalarsType(mlir::MLIRContext *context);

/// Bytes of an element of a tensor.
int64_t elementBytes(mlir::Type tensor);

/// Shape without encoding, f32.
mlir::RankedTensorType tensorOf(mlir::MLIRContext *context,
                                llvm::ArrayRef<int64_t> shape);

/// The type of statistics of images [n, c, ...]: [c, 1, ...], which broadcasts
/// over them; with groups of samples, [groups, c, 1, ...].
mlir::RankedTensorType statisticsType(mlir::Value images, int64_t groups);

/// Elementwise row applied to inputs (Elementwise.h): result type is the
/// broadcast of the inputs' types. `params` holds a float for each of the
/// row's params.
MapOp buildMap(mlir::OpBuilder &builder, mlir::Location loc, llvm::StringRef fn,
               mlir::ValueRange inputs, mlir::DictionaryAttr params = {});

/// A map of any expression, which belongs to no row.
MapOp buildMap(mlir::OpBuilder &builder, mlir::Location loc,
               mlir::RankedTensorType type, const Expression &expr,
               mlir::ValueRange inputs, mlir::Value scalars = {});

/// Numpy's broadcast of shapes, nullopt where they do not fit.
std::optional<llvm::SmallVector<int64_t>>
broadcast(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// Sums `grad` over the dimensions along which `type` was broadcast to it.
mlir::Value reduceTo(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value grad, mlir::RankedTensorType type);

/// Whether each sample of an embedding has a table of its own.
inline bool hasTables(EmbeddingOp op) {
  return op.getTable().getType().getRank() == 3;
}

/// FNV-1a of a name: the random stream of a parameter or dropout; equals
/// rt::streamOf.
uint32_t streamOf(llvm::StringRef name);

} // namespace lwcc::train

#endif // LWCC_IR_TRAIN_TRAIN_H
