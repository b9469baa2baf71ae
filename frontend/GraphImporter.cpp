//===- GraphImporter.cpp - An ONNX graph becomes a train module -----------===//

#include "frontend/GraphImporter.h"
#include "frontend/NodeImporter.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
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
  needed.insert(graph.logits);
  needed.insert(graph.loss);
  for (const NodeProto *node : graph.nodes)
    needed.insert(node->input().begin(), node->input().end());
  beginFunction();
  if (failed(reporter.result()))
    return failure();
  for (const NodeProto *node : graph.nodes)
    importNode(*node);
  if (succeeded(reporter.result()))
    finishFunction();
  return reporter.result();
}

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

void GraphImporter::beginFunction() {
  MLIRContext *context = reporter.getContext();
  Location location = reporter.atFile();
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());

  Shape inputShape{batch};
  for (const auto &dim :
       ArrayRef(graph.input->type().tensor_type().shape().dim().data(),
                graph.input->type().tensor_type().shape().dim_size())
           .drop_front())
    inputShape.push_back(dim->dim_value());
  SmallVector<Type> types = {train::tensorOf(context, inputShape)};
  SmallVector<StringRef> names = {graph.input->name()};
  SmallVector<Role> roles = {Role::input};
  if (graph.labels) {
    types.push_back(RankedTensorType::get({batch}, builder.getI32Type()));
    names.push_back("labels");
    roles.push_back(Role::labels);
  }
  types.push_back(train::scalarsType(context));
  names.push_back("scalars");
  roles.push_back(Role::scalars);
  function = func::FuncOp::create(builder, location, train::modelFunc,
                                  builder.getFunctionType(types, {}));
  for (auto [i, name, role] : enumerate(names, roles)) {
    function.setArgAttr(i, train::argNameAttr, builder.getStringAttr(name));
    if (role != Role::input)
      function.setArgAttr(i, train::roleAttr,
                          train::RoleAttr::get(context, role));
  }
  Block *body = function.addEntryBlock();
  if (!admit(body->getArgument(0), location))
    return;
  builder.setInsertionPointToEnd(body);
  define(graph.input->name(), Value(body->getArgument(0)));
  if (graph.labels) {
    labels = body->getArgument(1);
    define(graph.labels->name(), labels);
  }
  scalars = body->getArguments().back();
}

void GraphImporter::finishFunction() {
  const NodeProto *maker = graph.producers.lookup(graph.logits);
  if (!maker) {
    reporter.error() << "has the output '" << graph.logits
                     << "', which no node makes; there is nothing to train";
    return;
  }
  const NodeProto &last = *maker;
  Value logits = liveOf(*lookup(graph.logits), graph.logits, last);
  if (!logits)
    return;
  SmallVector<Value> results;
  if (graph.loss.empty()) {
    // Convolutional heads leave [n, classes, 1, 1].
    Shape shape(lwcc::shapeOf(logits));
    if (shape.size() > 2 &&
        all_of(ArrayRef(shape).drop_front(2),
               [](int64_t extent) { return extent == 1; })) {
      shape.truncate(2);
      logits = train::ReshapeOp::create(
          builder, reporter.at(last),
          train::tensorOf(builder.getContext(), shape), logits);
      train::setWork(logits.getDefiningOp(), layerName(last), Phase::forward);
      std::string name = graph.logits + ".flat";
      train::setNames(logits.getDefiningOp(), {name});
    }
    if (shape.size() != 2 || shape[0] != batch) {
      reporter.error(last)
          << "makes the model's output of shape " << printShape(shape)
          << "; cross entropy needs class scores of shape [batch, classes]. "
             "For another loss, put it into the model's forward()";
      return;
    }
  } else {
    const NodeProto &lossNode = *graph.producers.lookup(graph.loss);
    Value loss = liveOf(*lookup(graph.loss), graph.loss, lossNode);
    if (!loss)
      return;
    if (*elementCount(lwcc::shapeOf(loss)) != 1) {
      reporter.error(lossNode)
          << "makes the loss of shape " << printShape(lwcc::shapeOf(loss))
          << "; it must be one number";
      return;
    }
    if (!lwcc::shapeOf(loss).empty()) {
      loss = train::ReshapeOp::create(builder, reporter.at(lossNode),
                                      train::tensorOf(builder.getContext(), {}),
                                      loss);
      train::setWork(loss.getDefiningOp(), layerName(lossNode), Phase::forward);
      std::string name = graph.loss + ".scalar";
      train::setNames(loss.getDefiningOp(), {name});
    }
    results.push_back(loss);
  }
  results.push_back(logits);
  func::ReturnOp::create(builder, reporter.atFile(), results);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(results).getTypes()));

  // What later imports made superfluous (a transpose that a matrix product
  // took over), and parameters that only such ops read.
  for (Operation &op : make_early_inc_range(reverse(function.front()))) {
    if (!isOpTriviallyDead(&op))
      continue;
    if (auto read = dyn_cast<train::ReadOp>(op))
      erase_if(used, [&](const Parameter &parameter) {
        return parameter.name == read.getParameter();
      });
    op.erase();
  }
  createParameters();
}

void GraphImporter::createParameters() {
  MLIRContext *context = reporter.getContext();
  builder.setInsertionPoint(function);
  auto init = [&](StringRef kind, int64_t offset, double a, double b) {
    return train::InitAttr::get(context, kind, offset, APFloat(a), APFloat(b));
  };
  for (const Parameter &parameter : used) {
    Leaf *leaf = nullptr;
    if (auto *found = std::get_if<Leaf *>(&parameter.source))
      leaf = *found;
    RankedTensorType type = train::tensorOf(context, parameter.shape);
    train::InitAttr initial;
    if (leaf && !leaf->tensor) {
      initial = init(leaf->maker, 0, leaf->a, leaf->b);
    } else {
      initial = init("blob", blobBytes, 0, 0);
      if (leaf)
        weights.push_back({blobBytes, static_cast<const Leaf *>(leaf)});
      else
        weights.push_back({blobBytes, std::get<HostRef>(parameter.source)});
      int64_t bytes =
          *elementCount(parameter.shape) * train::elementBytes(type);
      blobBytes += (bytes + 63) / 64 * 64;
    }
    train::ParameterOp::create(builder, reporter.atFile(), parameter.name, type,
                               leaf ? leaf->role : Role::constant, initial,
                               leaf ? leaf->fresh : train::InitAttr());
    if (leaf)
      parameters[leaf->name] = parameter.name;
  }
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
  std::optional<Shape> shape = value.shape();
  auto *host = value.as<HostRef>();
  auto *leaf = value.as<Leaf *>();
  if (!shape || (!host && !leaf)) {
    reporter.error(user) << "uses '" << name << "' in a way that is not "
                         << "supported for a "
                         << (value.as<Noise>() ? "random mask" : "sequence");
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
  else if (leaf)
    return readParameter(name, *shape, *leaf, user);
  // What is true is 1, what is false 0.
  if ((*host)->kind == HostTensor::Kind::boolean) {
    HostRef &truth = truths[host->get()];
    if (!truth) {
      HostTensor floats = HostTensor::empty(HostTensor::Kind::real, *shape);
      for (int64_t i = 0; i < (*host)->size(); ++i)
        floats.reals.push_back((*host)->integers[i] != 0);
      truth = std::make_shared<const HostTensor>(std::move(floats));
    }
    host = &truth;
  }
  if (!(*host)->isReal()) {
    reporter.error(user) << "computes with the integers '" << name
                         << "' where floating-point numbers are needed";
    return {};
  }
  if (!(*host)->isSplat())
    return readParameter(name, *shape, *host, user);
  Value &constant = constants[host->get()];
  if (!constant) {
    auto type = train::tensorOf(builder.getContext(), *shape);
    constant = train::ConstantOp::create(
        builder, reporter.at(user), type,
        DenseElementsAttr::get(type, (*host)->reals.front()));
    if (!admit(constant, reporter.at(user)))
      return {};
    train::setWork(constant.getDefiningOp(), layerName(user), Phase::forward);
    train::setNames(constant.getDefiningOp(), {name});
  }
  return constant;
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
  SmallVector<const Imported *> inputs;
  bool poisoned = false;
  for (const std::string &name : node.input()) {
    inputs.push_back(name.empty() ? nullptr : lookup(name));
    poisoned |= inputs.back() && inputs.back()->as<std::monostate>();
  }
  const OnnxOp &row = *findOnnxOp(node.op_type());
  NodeImporter importer(*this, node, row, inputs);

  auto isNoise = [](const Imported *input) {
    return input && input->as<Noise>();
  };
  static const llvm::StringSet<> labelMovers = {
      "Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  if (poisoned) {
  } else if (auto leaf = leaves.find(importer.output());
             leaf != leaves.end() && makesParameters(node)) {
    define(importer.output(), &leaf->second);
  } else if (labels && !inputs.empty() && inputs[0]->as<Value>() &&
             *inputs[0]->as<Value>() == labels &&
             labelMovers.contains(node.op_type())) {
    define(importer.output(), labels);
  } else if (isAbsorbed(importer, inputs)) {
    define(importer.output(), Imported(*inputs[0]));
  } else if (StringRef(node.op_type()).starts_with("Random") ||
             (any_of(inputs, isNoise) && node.op_type() != "Shape")) {
    (void)importNoise(importer, inputs);
  } else if (!evaluate(importer, row, inputs)) {
    if (row.import)
      (void)row.import(importer);
    else
      (void)importer.fail("can only be evaluated while compiling, but its "
                          "inputs depend on the data or on parameters");
  }
  for (const std::string &output : node.output())
    if (!output.empty() && !values.contains(output))
      define(output, Imported());
}

bool GraphImporter::isAbsorbed(NodeView node,
                               ArrayRef<const Imported *> inputs) {
  if (&node.proto() != graph.absorbed)
    return false;
  std::optional<Shape> shape = inputs[0]->shape();
  int64_t axis = node.integer("axis", node.opset() < 13 ? 1 : -1);
  if (!shape || shape->size() < 2)
    return false;
  if (axis < 0)
    axis += int64_t(shape->size());
  return axis == 1 && all_of(ArrayRef(*shape).drop_front(2),
                             [](int64_t extent) { return extent == 1; });
}
