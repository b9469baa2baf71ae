//===- OnnxOpTable.h - The operators that lwcc imports ----------*- C++ -*-===//
//
// The table of supported operators; its rows are in OnnxOpTable.cpp. A row says
// since which opset the operator exists, which attributes it may carry, through
// which inputs a gradient flows, and which functions import it as train ops or
// evaluate it at compile time. A new operator is a row and a function.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_ONNXOPTABLE_H
#define LWCC_FRONTEND_ONNXOPTABLE_H

#include "frontend/NodeView.h"

#include "mlir/Support/LLVM.h"

namespace lwcc {

class NodeImporter;

/// Builds train ops; reports and fails where the node cannot be imported.
using ImportFn = mlir::LogicalResult (*)(NodeImporter &);
/// Evaluates a node whose inputs are all known (null: absent). Returns none and
/// an `error` if the node is wrong. Returns none and no error if this function
/// does not handle the case, or the result is too large: then the node is
/// imported.
using FoldFn = std::optional<HostTensor> (*)(const NodeView &,
                                             llvm::ArrayRef<const HostTensor *>,
                                             std::string &error);

struct OnnxOp {
  static constexpr int many = 1 << 20;

  llvm::StringLiteral name;
  int since; ///< first opset that has it
  int minInputs, maxInputs;
  /// Inputs through which a gradient flows: "0 1", or "*" for all.
  llvm::StringLiteral differentiable;
  /// "name:type ...", the type being that of AttributeProto (i f s t g, for
  /// lists I F S). Attributes of an elementwise operator are parameters of its
  /// function and carry a default, as in "alpha:f=1".
  llvm::StringLiteral attributes;
  ImportFn import;              ///< null: only at compile time
  FoldFn fold = nullptr;        ///< null: never at compile time
  llvm::StringLiteral map = ""; ///< row of ir/train/Elementwise.h

  bool isDifferentiable(unsigned input) const;
};

llvm::ArrayRef<OnnxOp> onnxOps();
const OnnxOp *findOnnxOp(llvm::StringRef name);

/// What is wrong with the opset, the number of inputs or the attributes of a
/// node that has a row, each with its fix. Empty if nothing is.
std::vector<std::string> checkSupport(const NodeView &node);

/// The attributes of a row, parsed.
struct AttributeSpec {
  llvm::StringRef name, type, otherwise;
};
llvm::SmallVector<AttributeSpec> attributesOf(const OnnxOp &op);

// Import functions, by file.
mlir::LogicalResult importAttention(NodeImporter &);
mlir::LogicalResult importConv(NodeImporter &);
mlir::LogicalResult importConvTranspose(NodeImporter &);
mlir::LogicalResult importCol2Im(NodeImporter &);
mlir::LogicalResult importPool(NodeImporter &);
mlir::LogicalResult importGlobalPool(NodeImporter &);
mlir::LogicalResult importBatchNorm(NodeImporter &);
mlir::LogicalResult importLrn(NodeImporter &);
mlir::LogicalResult importLayerNorm(NodeImporter &);
mlir::LogicalResult importInstanceNorm(NodeImporter &);
mlir::LogicalResult importGroupNorm(NodeImporter &);
mlir::LogicalResult importMeanVarianceNorm(NodeImporter &);
mlir::LogicalResult importLpNorm(NodeImporter &);
mlir::LogicalResult importGemm(NodeImporter &);
mlir::LogicalResult importMatMul(NodeImporter &);
mlir::LogicalResult importEinsum(NodeImporter &);
mlir::LogicalResult importResize(NodeImporter &);
mlir::LogicalResult importGridSample(NodeImporter &);
mlir::LogicalResult importRecurrent(NodeImporter &);
mlir::LogicalResult importDft(NodeImporter &);
mlir::LogicalResult importStft(NodeImporter &);
mlir::LogicalResult importUnary(NodeImporter &);
mlir::LogicalResult importNary(NodeImporter &);
mlir::LogicalResult importClip(NodeImporter &);
mlir::LogicalResult importPow(NodeImporter &);
mlir::LogicalResult importMod(NodeImporter &);
mlir::LogicalResult importWhere(NodeImporter &);
mlir::LogicalResult importPRelu(NodeImporter &);
mlir::LogicalResult importTrilu(NodeImporter &);
mlir::LogicalResult importGelu(NodeImporter &);
mlir::LogicalResult importDropout(NodeImporter &);
mlir::LogicalResult importReduce(NodeImporter &);
mlir::LogicalResult importCumSum(NodeImporter &);
mlir::LogicalResult importSoftmax(NodeImporter &);
mlir::LogicalResult importLoss(NodeImporter &);
mlir::LogicalResult importIdentity(NodeImporter &);
mlir::LogicalResult importCast(NodeImporter &);
mlir::LogicalResult importReshape(NodeImporter &);
mlir::LogicalResult importFlatten(NodeImporter &);
mlir::LogicalResult importSqueeze(NodeImporter &);
mlir::LogicalResult importUnsqueeze(NodeImporter &);
mlir::LogicalResult importTranspose(NodeImporter &);
mlir::LogicalResult importExpand(NodeImporter &);
mlir::LogicalResult importConcat(NodeImporter &);
mlir::LogicalResult importSplit(NodeImporter &);
mlir::LogicalResult importSplitToSequence(NodeImporter &);
mlir::LogicalResult importSequenceAt(NodeImporter &);
mlir::LogicalResult importSequenceEmpty(NodeImporter &);
mlir::LogicalResult importSequenceConstruct(NodeImporter &);
mlir::LogicalResult importSequenceInsert(NodeImporter &);
mlir::LogicalResult importSequenceErase(NodeImporter &);
mlir::LogicalResult importSequenceLength(NodeImporter &);
mlir::LogicalResult importConcatFromSequence(NodeImporter &);
mlir::LogicalResult importIf(NodeImporter &);
mlir::LogicalResult importLoop(NodeImporter &);
mlir::LogicalResult importSequenceMap(NodeImporter &);
mlir::LogicalResult importSlice(NodeImporter &);
mlir::LogicalResult importGather(NodeImporter &);
mlir::LogicalResult importGatherND(NodeImporter &);
mlir::LogicalResult importScatterND(NodeImporter &);
mlir::LogicalResult importGatherElements(NodeImporter &);
mlir::LogicalResult importScatterElements(NodeImporter &);
mlir::LogicalResult importOneHot(NodeImporter &);
mlir::LogicalResult importTopK(NodeImporter &);
mlir::LogicalResult importArgMax(NodeImporter &);
mlir::LogicalResult importTile(NodeImporter &);
mlir::LogicalResult importDepthToSpace(NodeImporter &);
mlir::LogicalResult importPad(NodeImporter &);

} // namespace lwcc

#endif // LWCC_FRONTEND_ONNXOPTABLE_H
