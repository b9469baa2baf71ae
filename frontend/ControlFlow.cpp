//===- ControlFlow.cpp - Branches and loops in ONNX graphs ----------------===//

#include "frontend/ControlFlow.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace llvm;
using mlir::failure;
using onnx::GraphProto;
using onnx::NodeProto;
using onnx::TensorProto;

bool lwcc::hasControlFlow(const GraphProto &graph) {
  return any_of(graph.node(), [](const NodeProto &node) {
    return any_of(node.attribute(),
                  [](const auto &attribute) { return attribute.has_g(); });
  });
}

void lwcc::forEachRead(const NodeProto &node,
                       function_ref<void(const std::string &)> read) {
  for (const std::string &input : node.input())
    read(input);
  for (const auto &attribute : node.attribute()) {
    for (const NodeProto &inner : attribute.g().node())
      forEachRead(inner, read);
    for (const auto &output : attribute.g().output())
      read(output.name());
  }
}

//===----------------------------------------------------------------------===//
// Turns
//===----------------------------------------------------------------------===//

/// What the condition behind a turn is: known, or (none) the one before it.
/// Fails if it is computed.
static mlir::FailureOr<std::optional<bool>>
nextCondition(const NodeView &loop, const GraphProto &body) {
  std::string name = body.output(0).name();
  auto truth =
      [](const TensorProto &tensor) -> mlir::FailureOr<std::optional<bool>> {
    std::optional<StringRef> raw;
    if (tensor.has_raw_data())
      raw = tensor.raw_data();
    if (elementKind(tensor.data_type()) != HostTensor::Kind::boolean ||
        !checkTensor(tensor, raw).empty())
      return failure();
    HostTensor value = decodeTensor(tensor, raw);
    if (value.size() != 1)
      return failure();
    return std::optional<bool>(value.integers[0] != 0);
  };
  for (const NodeProto &node : reverse(body.node())) {
    if (!is_contained(node.output(), name))
      continue;
    NodeView view(node, loop.opset());
    if (view.op() == "Constant" && view.tensor("value"))
      return truth(*view.tensor("value"));
    if ((view.op() != "Identity" && view.op() != "Cast") || !view.hasInput(0))
      return failure();
    name = view.input(0).str();
  }
  for (const TensorProto &tensor : body.initializer())
    if (tensor.name() == name)
      return truth(tensor);
  if (name == body.input(1).name() ||
      (loop.hasInput(1) && name == loop.input(1)))
    return std::optional<bool>();
  return failure();
}

std::optional<int64_t> lwcc::turnsOf(const NodeView &loop,
                                     std::optional<int64_t> most, bool first,
                                     std::string &why) {
  const auto *body = loop.attribute("body");
  int carried = int(loop.numInputs()) - 2;
  bool fits = body && carried >= 0 && body->g().input_size() == carried + 2 &&
              body->g().output_size() >= carried + 1 &&
              int(loop.numOutputs()) <= body->g().output_size() - 1;
  if (!fits) {
    why = "has a body that does not fit its inputs and outputs: the file is "
          "damaged";
    return std::nullopt;
  }
  if (!first || (most && *most <= 0))
    return 0;
  auto next = nextCondition(loop, body->g());
  if (failed(next)) {
    why = "ends by a condition that its body computes; a fixed number of turns "
          "is needed";
    return std::nullopt;
  }
  if (*next && !**next)
    return 1;
  if (!most)
    why = "never ends";
  return most;
}
