//===- OnnxOpTable.h - The operators that lwcc imports ----------*- C++ -*-===//
//
// One row per ONNX operator: since which opset, which attributes it may carry,
// through which inputs a gradient flows, and the functions that import it as
// train ops or evaluate it at compile time. All of the support list stands in
// OnnxOpTable.cpp; a new operator is a row there and one function.
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
/// Evaluates a node all of whose inputs are known (null: absent). None with an
/// empty `error`: not this case, or too large; import it.
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
  /// name:type (AttributeProto's field: i f s t, plural I F S). An elementwise
  /// operator's parameters are its attributes and carry a default.
  llvm::StringLiteral attributes;
  ImportFn import;              ///< null: only at compile time
  FoldFn fold = nullptr;        ///< null: never at compile time
  llvm::StringLiteral map = ""; ///< row of ir/train/Elementwise.h

  bool isDifferentiable(unsigned input) const;
};

llvm::ArrayRef<OnnxOp> onnxOps();
const OnnxOp *findOnnxOp(llvm::StringRef name);

/// What is wrong with the opset, inputs or attributes of a node whose operator
/// is known, each with its fix; empty if it is supported as far as that shows.
std::vector<std::string> checkSupport(const NodeView &node);

/// The attributes of a row, parsed.
struct AttributeSpec {
  llvm::StringRef name, type, otherwise;
};
llvm::SmallVector<AttributeSpec> attributesOf(const OnnxOp &op);

// Import functions, by file.
mlir::LogicalResult importConv(NodeImporter &);
mlir::LogicalResult importPool(NodeImporter &);
mlir::LogicalResult importGlobalPool(NodeImporter &);
mlir::LogicalResult importBatchNorm(NodeImporter &);
mlir::LogicalResult importLrn(NodeImporter &);
mlir::LogicalResult importGemm(NodeImporter &);
mlir::LogicalResult importMatMul(NodeImporter &);
mlir::LogicalResult importUnary(NodeImporter &);
mlir::LogicalResult importNary(NodeImporter &);
mlir::LogicalResult importClip(NodeImporter &);
mlir::LogicalResult importPow(NodeImporter &);
mlir::LogicalResult importGelu(NodeImporter &);
mlir::LogicalResult importDropout(NodeImporter &);
mlir::LogicalResult importReduce(NodeImporter &);
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
mlir::LogicalResult importSlice(NodeImporter &);
mlir::LogicalResult importGather(NodeImporter &);
mlir::LogicalResult importPad(NodeImporter &);

} // namespace lwcc

#endif // LWCC_FRONTEND_ONNXOPTABLE_H
