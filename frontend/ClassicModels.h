//===- ClassicModels.h - Linear models of scikit-learn ----------*- C++ -*-===//
//
// scikit-learn's exporter (skl2onnx) writes linear models, and what scales data
// ahead of a model, as operators of the domain ai.onnx.ml whose weights are
// attributes. They are written in operators of the default domain, in the model
// itself, so that the import and the exported file agree. Two classes, of which
// one has a Sigmoid and the other what it lacks to 1, are written as a Softmax.
//
// What has no gradient, such as trees, stays as it is and is refused later.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_CLASSICMODELS_H
#define LWCC_FRONTEND_CLASSICMODELS_H

#include "llvm/ADT/StringRef.h"

#include "onnx/onnx_pb.h"

namespace lwcc {

void rewriteClassicModels(onnx::ModelProto &model);

/// Whether a tensor of such a file is trained, going by its name. Others scale
/// data, or are the numbers of expressions.
bool isClassicWeight(llvm::StringRef name);

/// Whether a model of scikit-learn predicts numbers. Others have an output with
/// the classes beside that with their scores.
bool isRegressor(const onnx::ModelProto &model);

/// The domain of these operators.
inline constexpr llvm::StringLiteral classicDomain = "ai.onnx.ml";
/// How skl2onnx calls itself.
inline constexpr llvm::StringLiteral classicProducer = "skl2onnx";

} // namespace lwcc

#endif // LWCC_FRONTEND_CLASSICMODELS_H
