//===- ConstantFolder.h - ONNX nodes evaluated at compile time --*- C++ -*-===//
//
// Constant folding for the nodes that exporters write around a network to
// compute shapes, indices and small constants. GraphEvaluation.cpp decides
// which nodes are folded: those whose inputs are all known at compile time,
// where a trainable parameter counts as unknown. A function here evaluates one
// node.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_CONSTANTFOLDER_H
#define LWCC_FRONTEND_CONSTANTFOLDER_H

#include "frontend/OnnxOpTable.h"
#include "frontend/ShapeRules.h"

namespace lwcc {

/// Most elements of a folded result. A node with a larger one is imported.
inline constexpr int64_t foldLimit = int64_t(1) << 20;

/// Most elements that all folded nodes of a file read and make together. Shape
/// arithmetic needs thousands; the bound stops a file that asks for any number.
inline constexpr int64_t evaluationBudget = int64_t(1) << 25;

#define LWCC_FOLD(name)                                                        \
  std::optional<HostTensor> name(const NodeView &node,                         \
                                 llvm::ArrayRef<const HostTensor *> inputs,    \
                                 std::string &error)
LWCC_FOLD(foldArithmetic); ///< Add ... Pow, comparisons, And, Or, Min, Max, Sum
LWCC_FOLD(foldUnary);      ///< Neg, Abs, Floor, Ceil, Sqrt, ... Not
LWCC_FOLD(foldIdentity);
LWCC_FOLD(foldCast);
LWCC_FOLD(foldClip);
LWCC_FOLD(foldWhere);
LWCC_FOLD(foldReshape); ///< also Squeeze, Unsqueeze, Flatten
LWCC_FOLD(foldTranspose);
LWCC_FOLD(foldExpand);
LWCC_FOLD(foldTile);
LWCC_FOLD(foldConcat);
LWCC_FOLD(foldGather);
LWCC_FOLD(foldSlice);
LWCC_FOLD(foldGatherND);
LWCC_FOLD(foldScatterND);
LWCC_FOLD(foldTrilu);
LWCC_FOLD(foldRange);
LWCC_FOLD(foldCumSum);
LWCC_FOLD(foldGatherElements);
LWCC_FOLD(foldConstantOfShape);
LWCC_FOLD(foldReduce); ///< ReduceSum, ReduceProd, ReduceMin, ReduceMax
#undef LWCC_FOLD

/// Integers from an input (if the opset has it there) or an attribute.
std::optional<Shape> integersOf(const NodeView &node,
                                llvm::ArrayRef<const HostTensor *> inputs,
                                unsigned input, llvm::StringRef attribute);

/// Rounded toward zero; 0 for what no int64 holds.
int64_t toInteger(double value);

/// Arithmetic that wraps around: signed overflow, which is undefined in C++,
/// cannot be caused by a file.
inline int64_t wrap(uint64_t value) { return int64_t(value); }

} // namespace lwcc

#endif // LWCC_FRONTEND_CONSTANTFOLDER_H
