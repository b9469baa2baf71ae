//===- GraphImporter.cpp - An ONNX graph becomes a train module -----------===//

#include "frontend/GraphImporter.h"
#include "frontend/NodeImporter.h"
#include "frontend/WholeNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;
using onnx::NodeProto;

std::optional<Shape> Imported::shape() const {
  if (auto *value = as<Value>())
    return Shape(cast<RankedTensorType>(value->getType()).getShape());
  if (auto *host = as<HostRef>())
    return (*host)->shape;
  if (auto *leaf = as<Leaf *>())
    return (*leaf)->shape;
  if (auto *noise = as<Noise>())
    return noise->shape;
  return std::nullopt;
}

GraphImporter::GraphImporter(const OnnxGraph &graph, Leaves &leaves,
                             Reporter &reporter, int64_t batch, int64_t rebatch)
    : graph(graph), leaves(leaves), reporter(reporter), batch(batch),
      rebatch(rebatch), builder(reporter.getContext()) {}

LogicalResult GraphImporter::run() {
  for (StringRef head : graph.heads())
    needed.insert(head);
  needed.insert(graph.loss);
  for (const NodeProto *node : graph.nodes)
    forEachRead(*node, [&](const std::string &name) {
      needed.insert(name);
      // What is asked for a shape or a type alone is not read.
      const bool isRead =
          node->op_type() != "Shape" &&
          (node->op_type() != "CastLike" || name == node->input(0));
      readers[name] += isRead;
    });
  beginFunction();
  if (failed(reporter.result()))
    return failure();
  for (const NodeProto *node : graph.nodes)
    importNode(*node);
  if (succeeded(reporter.result())) {
    warnAboutLostNoGrad();
    noteNoise();
    finishFunction();
  }
  return reporter.result();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void GraphImporter::define(StringRef name, Imported value) {
  if (name.empty())
    return;
  if (std::optional<Shape> shape = value.shape())
    shapes[name] = *shape;
  values.insert_or_assign(name, std::move(value));
}

const Imported *GraphImporter::lookup(StringRef name) {
  if (auto found = values.find(name); found != values.end())
    return &found->second;
  Imported value;
  if (auto leaf = leaves.find(name); leaf != leaves.end()) {
    value = &leaf->second;
  } else if (const onnx::TensorProto *tensor =
                 graph.initializers.lookup(name)) {
    if (elementKind(tensor->data_type()))
      value = std::make_shared<const HostTensor>(
          decodeTensor(*tensor, graph.file->rawBytes(*tensor)));
    else
      reporter.error() << "initializer '" << name
                       << "' has the unsupported element type "
                       << elementTypeName(tensor->data_type())
                       << "; export the model in float32";
  }
  define(name, std::move(value));
  return &values.find(name)->second;
}

bool GraphImporter::admit(Value value, Location location) {
  auto type = cast<RankedTensorType>(value.getType());
  std::optional<int64_t> count = elementCount(type.getShape());
  if (size_t(type.getRank()) > maxTensorRank) {
    reporter.error(location)
        << "makes a tensor of shape " << printShape(type.getShape())
        << "; at most " << maxTensorRank << " dimensions are supported";
    return false;
  }
  if (count && addBytes(programBytes, *count * train::elementBytes(type)))
    return true;
  reporter.error(location) << "makes a tensor of shape "
                           << printShape(type.getShape())
                           << ", with which the program has more than "
                           << (maxBytes >> 40) << " TiB; the file is damaged, "
                           << "or needs a smaller --batch";
  return false;
}

Value GraphImporter::liveOf(const Imported &value, StringRef name,
                            const NodeProto &user) {
  if (auto *live = value.as<Value>()) {
    if (isa<Float32Type>(
            cast<RankedTensorType>(live->getType()).getElementType()))
      return *live;
    reporter.error(user) << "computes with the class labels '" << name
                         << "'; only a loss may read them";
    return {};
  }
  if (auto *noise = value.as<Noise>())
    return draw(*noise);
  std::optional<Shape> shape = value.shape();
  auto *host = value.as<HostRef>();
  auto *leaf = value.as<Leaf *>();
  if (!shape || (!host && !leaf)) {
    reporter.error(user) << "uses '" << name
                         << "' in a way that is not supported for a sequence";
    return {};
  }
  if (*elementCount(*shape) == 0) {
    reporter.error(user) << "reads the empty tensor '" << name << "' of shape "
                         << printShape(*shape);
    return {};
  }
  // A number that is not trained is part of the program, as if written there.
  HostRef number;
  if (leaf && *elementCount(*shape) == 1 && (number = hostOf(value, false)))
    host = &number;
  else if (leaf) // whatever the value's own name: it is one parameter
    return readParameter((*leaf)->name, *shape, *leaf, user);
  // What is true is 1, what is false 0.
  bool boolean = (*host)->kind == HostTensor::Kind::boolean;
  if (boolean || (amongWhole && !(*host)->isReal())) {
    HostRef &same = wholes[*host];
    if (!same) {
      HostTensor floats = HostTensor::empty(HostTensor::Kind::real, *shape);
      for (int64_t i = 0; i < (*host)->size(); ++i)
        floats.reals.push_back(boolean ? (*host)->integers[i] != 0
                                       : float((*host)->integers[i]));
      same = std::make_shared<const HostTensor>(std::move(floats));
    }
    host = &same;
  }
  if (!(*host)->isReal()) {
    reporter.error(user) << "computes with the integers '" << name
                         << "' where floating-point numbers are needed";
    return {};
  }
  Value &read = hostReads[*host];
  if (read)
    return read;
  if (!(*host)->isSplat())
    return read = readParameter(name, *shape, *host, user);
  auto type = train::tensorOf(builder.getContext(), *shape);
  auto constant = train::ConstantOp::create(
      builder, reporter.at(user), type,
      DenseElementsAttr::get(type, (*host)->reals.front()));
  if (!admit(constant, reporter.at(user)))
    return {};
  train::setWork(constant, layerName(user), Phase::forward);
  train::setNames(constant, {name});
  return read = constant;
}

Value GraphImporter::readParameter(StringRef name, ArrayRef<int64_t> shape,
                                   std::variant<Leaf *, HostRef> source,
                                   const NodeProto &user) {
  Value &value = reads[name];
  if (value)
    return value;
  // Parameters share their module's symbols with its functions.
  std::string symbol = name.str();
  if (is_contained(
          {train::modelFunc, train::trainStepFunc, train::evaluateFunc},
          StringRef(symbol)))
    symbol += ".value";
  used.push_back({symbol, Shape(shape), source});
  auto read = train::ReadOp::create(
      builder, reporter.at(user), train::tensorOf(builder.getContext(), shape),
      symbol);
  train::setWork(read, layerName(user), Phase::forward);
  train::setNames(read, {name});
  if (auto *leaf = std::get_if<Leaf *>(&source))
    leafOfRead[read] = *leaf;
  if (!admit(read, reporter.at(user)))
    return {};
  return value = read;
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

void GraphImporter::importNode(const NodeProto &node) {
  // What decides about an If, a Loop or a SequenceMap is enough to put others
  // in its place. Else each of a chain of them would take an import of its own.
  const int deciding = node.op_type() == "If" || node.op_type() == "SequenceMap"
                           ? 1
                       : node.op_type() == "Loop" ? 2
                                                  : node.input_size();
  SmallVector<const Imported *> inputs;
  bool poisoned = false;
  for (const std::string &name : node.input()) {
    inputs.push_back(name.empty() ? nullptr : lookup(name));
    poisoned |= int(inputs.size()) <= deciding && inputs.back() &&
                inputs.back()->as<std::monostate>();
  }
  const OnnxOp &row = *findOnnxOp(node.op_type());
  NodeImporter importer(*this, node, row, inputs);

  amongWhole = any_of(node.input(), [&](const std::string &name) {
    return whole.contains(name);
  });
  auto isNoise = [](const Imported *input) {
    return input && input->as<Noise>();
  };
  static const llvm::StringSet<> labelMovers = {
      "Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  if (poisoned) {
  } else if (auto leaf = leaves.find(importer.output());
             leaf != leaves.end() && makesParameters(node)) {
    define(importer.output(), &leaf->second);
  } else if (labels && labelMovers.contains(node.op_type()) &&
             inputs[0]->as<Value>() && *inputs[0]->as<Value>() == labels) {
    define(importer.output(), labels);
  } else if (isAbsorbed(importer, inputs)) {
    define(importer.output(), Imported(*inputs[0]));
  } else if (drawsRandomNumbers(node)) {
    (void)importRandom(importer, inputs);
  } else if (any_of(inputs, isNoise) && node.op_type() != "Shape" &&
             importNoise(importer, inputs)) {
  } else if (!evaluate(importer, row, inputs)) {
    if (amongWhole && !isSameOfIntegers(node.op_type()))
      (void)importer.fail("computes with integers of the data, of which it "
                          "gives other results than of floats; cast them to "
                          "float first");
    else if (row.import)
      (void)row.import(importer);
    else
      (void)importer.fail("can only be evaluated while compiling, but its "
                          "inputs depend on the data or on parameters");
  }
  for (auto [i, output] : enumerate(node.output())) {
    if (output.empty())
      continue;
    if (!values.contains(output))
      define(output, Imported());
    const Imported &value = values.find(output)->second;
    if ((value.as<Value>() || value.as<Sequence>()) &&
        makesWhole(importer, i,
                   [&](int j) { return isWhole(importer, inputs, j); }))
      whole.insert(output);
  }
}

bool GraphImporter::isWhole(NodeView node, ArrayRef<const Imported *> inputs,
                            int i) const {
  if (i >= int(inputs.size()) || !inputs[i])
    return false;
  auto *host = inputs[i]->as<HostRef>();
  return host ? !(*host)->isReal() : whole.contains(node.input(i));
}

bool GraphImporter::isAbsorbed(NodeView node,
                               ArrayRef<const Imported *> inputs) {
  if (!graph.absorbed.contains(&node.proto()))
    return false;
  std::optional<Shape> shape = inputs[0]->shape();
  int64_t axis = node.integer("axis", node.opset() < 13 ? 1 : -1);
  if (!shape || shape->size() < 2)
    return false;
  if (axis < 0)
    axis += int64_t(shape->size());
  if (axis < 0 || axis >= int64_t(shape->size()))
    return false; // which importSoftmax reports
  // Until opset 13 all axes from this one on are normalized together.
  int64_t behind = node.opset() < 13
                       ? *elementCount(ArrayRef(*shape).drop_front(axis + 1))
                       : 1;
  const int64_t classes = train::classAxis(*shape);
  if (axis == classes && behind == 1)
    return true;
  if (graph.logProbabilities.contains(&node.proto()))
    reporter.error(node.proto())
        << "normalizes along axis " << axis << " of " << printShape(*shape)
        << "; --loss=nll takes log-probabilities of classes, which are along "
           "axis "
        << classes;
  return false;
}
