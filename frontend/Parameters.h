//===- Parameters.h - Which tensors of a file are trained -------*- C++ -*-===//
//
// Decides whether a float tensor of the file is a trainable parameter, a
// running statistic or a constant, and what its initial value is. A tensor is
// trained if the output depends on it through differentiable inputs alone,
// unless the exporter marked it as a buffer.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_PARAMETERS_H
#define LWCC_FRONTEND_PARAMETERS_H

#include "frontend/GraphAnalysis.h"

#include "ir/train/Train.h"

namespace lwcc {

/// A float tensor that the file stores or tells how to make.
struct Leaf {
  std::string name; ///< the ONNX value
  Shape shape;
  Role role = Role::constant;                ///< of a state tensor
  const onnx::TensorProto *tensor = nullptr; ///< its bytes; null: `maker`
  llvm::StringRef maker; ///< "constant", "normal" or "uniform" of #train.init
  double a = 0, b = 0;
  /// Of a buffer that the PyTorch module changes in each step: the value that
  /// it then is, which the file may lack.
  std::string becomes;

  /// PyTorch's default for the layer that reads it; set while importing.
  train::InitAttr fresh;
};

using Leaves = llvm::StringMap<Leaf>;

/// Whether the node may stand for a parameter instead of an initializer.
bool makesParameters(const onnx::NodeProto &node);

/// Whether the node draws random numbers, if it stands for no parameter.
bool drawsRandomNumbers(const onnx::NodeProto &node);

/// Whether a tensor is a running statistic of Keras, going by its name.
bool isKerasStatistic(llvm::StringRef name);

/// All leaves that the needed nodes read. Warns if the file lists parameters of
/// the PyTorch module (metadata of torch.export) that it does not store. A
/// buffer that changes is a statistic.
Leaves collectLeaves(const OnnxGraph &graph, Reporter &reporter);

} // namespace lwcc

#endif // LWCC_FRONTEND_PARAMETERS_H
