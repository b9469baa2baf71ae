//===- GraphEvaluation.cpp - Nodes that are known at compile time ---------===//
//
// Decides which nodes are evaluated at compile time (ConstantFolder.h): those
// whose inputs are all known. A stored tensor is known if it is not trained.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConstantFolder.h"
#include "frontend/GraphImporter.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

HostRef GraphImporter::hostOf(const Imported &value, bool evenTrainable) {
  if (auto *host = value.as<HostRef>())
    return *host;
  auto *found = value.as<Leaf *>();
  if (!found)
    return nullptr;
  Leaf *leaf = *found;
  if (!evenTrainable && leaf->role != Role::constant)
    return nullptr;
  int64_t count = *elementCount(leaf->shape);
  bool constant = leaf->maker == "constant";
  if (count > foldLimit || (!leaf->tensor && !constant))
    return nullptr;
  HostRef &host = decoded[leaf];
  if (!host) {
    HostTensor tensor = HostTensor::empty(HostTensor::Kind::real, leaf->shape);
    tensor.reals.assign(count, float(leaf->a));
    if (leaf->tensor)
      decodeFloats(*leaf->tensor, graph.file->rawBytes(*leaf->tensor),
                   tensor.reals.data());
    host = std::make_shared<const HostTensor>(std::move(tensor));
  }
  return host;
}

bool GraphImporter::spend(int64_t elements, const onnx::NodeProto &node) {
  bool before = evaluated <= evaluationBudget;
  evaluated += elements; // both are bounded by what is in memory
  if (evaluated <= evaluationBudget)
    return true;
  if (before)
    reporter.error(node)
        << "is computed while compiling, where the file's tensors may have "
        << evaluationBudget
        << " elements together, read and made; let the exporter fold them "
           "(optimize=True), or compute them from the model's input";
  return false;
}

/// Evaluates a node at compile time if that is possible. Reports a node that is
/// wrong, such as one with indices outside its input.
bool GraphImporter::evaluate(NodeView node, const OnnxOp &row,
                             ArrayRef<const Imported *> inputs) {
  auto done = [&](HostTensor value) {
    if (value.shape.size() > maxKnownRank) {
      reporter.error(node.proto())
          << "makes a tensor of " << value.shape.size()
          << " dimensions; at most " << maxKnownRank << " are supported";
      return define(node.output(), Imported()), true;
    }
    define(node.output(),
           Imported(std::make_shared<const HostTensor>(std::move(value))));
    return true;
  };
  StringRef op = node.op();
  if (op == "Shape" || op == "Size") {
    std::optional<Shape> shape = inputs[0]->shape();
    if (!shape)
      return false;
    if (op == "Size")
      return done(HostTensor::scalar(*elementCount(*shape)));
    int64_t rank = shape->size();
    auto clamp = [&](int64_t at) {
      return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    int64_t start = clamp(node.integer("start", 0));
    int64_t end = clamp(node.integer("end", rank));
    return done(HostTensor::ofIntegers(
        ArrayRef(*shape).slice(start, std::max<int64_t>(0, end - start))));
  }
  if (op == "EyeLike") {
    std::optional<Shape> shape = inputs[0]->shape();
    if (!shape || shape->size() != 2 || *elementCount(*shape) > foldLimit)
      return false;
    HostRef host = hostOf(*inputs[0], true);
    const int64_t diagonal = node.integer("k", 0);
    const std::optional<HostTensor::Kind> kind =
        node.has("dtype") ? elementKind(int32_t(node.integer("dtype", 0)))
        : host            ? host->kind
        : whole.contains(node.input(0)) ? HostTensor::Kind::integer
                                        : HostTensor::Kind::real;
    if (!kind || !spend((*shape)[0] * (*shape)[1], node.proto()))
      return false;
    HostTensor eye = HostTensor::empty(*kind, *shape);
    for (int64_t i = 0; i < (*shape)[0]; ++i)
      for (int64_t j = 0; j < (*shape)[1]; ++j)
        if (*kind == HostTensor::Kind::real)
          eye.reals.push_back(j - i == diagonal);
        else
          eye.integers.push_back(j - i == diagonal);
    return done(std::move(eye));
  }
  if (op == "Constant") {
    if (const onnx::TensorProto *tensor = node.tensor("value")) {
      if (!elementKind(tensor->data_type())) {
        reporter.error(node.proto()) << "has the unsupported element type "
                                     << elementTypeName(tensor->data_type());
        return define(node.output(), Imported()), true;
      }
      return done(decodeTensor(*tensor, graph.file->rawBytes(*tensor)));
    }
    if (node.has("value_int"))
      return done(HostTensor::scalar(node.integer("value_int", 0)));
    if (node.has("value_float"))
      return done(HostTensor::scalar(node.real("value_float", 0)));
    if (std::optional<Shape> values = node.integers("value_ints"))
      return done(HostTensor::ofIntegers(*values));
    if (const auto *values = node.attribute("value_floats")) {
      HostTensor tensor =
          HostTensor::empty(HostTensor::Kind::real, {values->floats_size()});
      tensor.reals.assign(values->floats().begin(), values->floats().end());
      return done(std::move(tensor));
    }
    return false;
  }
  SmallVector<HostRef> known;
  if (op == "CastLike") {
    HostRef host = hostOf(*inputs[0], false);
    if (!host)
      return false;
    HostRef like = hostOf(*inputs[1], true);
    onnx::NodeProto cast = node.proto();
    cast.clear_attribute();
    auto *to = cast.add_attribute();
    to->set_name("to");
    to->set_type(onnx::AttributeProto::INT);
    bool isReal = like ? like->isReal() : !whole.contains(node.input(1));
    bool isBoolean = like && like->kind == HostTensor::Kind::boolean;
    to->set_i(isReal      ? onnx::TensorProto::FLOAT
              : isBoolean ? onnx::TensorProto::BOOL
                          : onnx::TensorProto::INT64);
    std::string error;
    if (!spend(2 * host->size(), node.proto()))
      return define(node.output(), Imported()), true;
    return done(*foldCast(NodeView(cast, node.opset()), {host.get()}, error));
  }
  if (!row.fold)
    return false;
  SmallVector<const HostTensor *> arguments;
  for (const Imported *input : inputs) {
    known.push_back(input ? hostOf(*input, false) : nullptr);
    if (input && !known.back())
      return false;
    arguments.push_back(known.back().get());
  }
  int64_t elements = 0;
  for (const HostTensor *argument : arguments)
    elements += argument ? argument->size() : 0;
  if (!spend(elements, node.proto()))
    return define(node.output(), Imported()), true;
  std::string error;
  std::optional<HostTensor> value = row.fold(node, arguments, error);
  if (value && !spend(value->size(), node.proto()))
    return define(node.output(), Imported()), true;
  if (value)
    return done(std::move(*value));
  // What is too large to be folded is left to the program, which has no kernel
  // for the ops that are only ever folded, nor any for integers.
  bool integers = all_of(arguments, [](const HostTensor *argument) {
    return !argument || argument->kind == HostTensor::Kind::integer;
  });
  if (error.empty() && row.import && !integers)
    return false;
  if (error.empty())
    error = "makes a constant of more than " + std::to_string(foldLimit) +
            " elements, which is not computed while compiling";
  reporter.error(node.proto()) << error;
  return define(node.output(), Imported()), true;
}
