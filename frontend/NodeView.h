//===- NodeView.h - Reading an ONNX node ------------------------*- C++ -*-===//
//
// Typed access to the attributes and inputs of a node. checkSupport()
// (OnnxOpTable.h) has compared the attributes' types with the operator table,
// so that nothing here can find another type.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_NODEVIEW_H
#define LWCC_FRONTEND_NODEVIEW_H

#include "frontend/HostTensor.h"

#include <onnx/onnx_pb.h>

namespace lwcc {

class NodeView {
public:
  NodeView(const onnx::NodeProto &node, int64_t opset)
      : node(node), version(opset) {}

  const onnx::NodeProto &proto() const { return node; }
  llvm::StringRef op() const { return node.op_type(); }
  int64_t opset() const { return version; }

  unsigned numInputs() const { return node.input_size(); }
  bool hasInput(unsigned i) const {
    return i < numInputs() && !node.input(i).empty();
  }
  llvm::StringRef input(unsigned i) const { return node.input(i); }
  unsigned numOutputs() const { return node.output_size(); }
  bool hasOutput(unsigned i) const {
    return i < numOutputs() && !node.output(i).empty();
  }
  llvm::StringRef output(unsigned i = 0) const { return node.output(i); }

  const onnx::AttributeProto *attribute(llvm::StringRef name) const {
    for (const auto &attribute : node.attribute())
      if (attribute.name() == name)
        return &attribute;
    return nullptr;
  }
  bool has(llvm::StringRef name) const { return attribute(name); }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const {
    auto *found = attribute(name);
    return found ? found->i() : otherwise;
  }
  float real(llvm::StringRef name, float otherwise) const {
    auto *found = attribute(name);
    return found ? found->f() : otherwise;
  }
  llvm::StringRef text(llvm::StringRef name, llvm::StringRef otherwise) const {
    auto *found = attribute(name);
    return found ? llvm::StringRef(found->s()) : otherwise;
  }
  std::optional<Shape> integers(llvm::StringRef name) const {
    auto *found = attribute(name);
    if (!found)
      return std::nullopt;
    return Shape(found->ints().begin(), found->ints().end());
  }
  llvm::SmallVector<llvm::StringRef> texts(llvm::StringRef name) const {
    auto *found = attribute(name);
    if (!found)
      return {};
    return {found->strings().begin(), found->strings().end()};
  }
  const onnx::TensorProto *tensor(llvm::StringRef name) const {
    auto *found = attribute(name);
    return found ? &found->t() : nullptr;
  }

private:
  const onnx::NodeProto &node;
  int64_t version;
};

} // namespace lwcc

#endif // LWCC_FRONTEND_NODEVIEW_H
