//===- GraphImporter.cpp - An ONNX graph becomes a train module -----------===//

#include "frontend/GraphImporter.h"
#include "frontend/ConstantFolder.h"
#include "frontend/NodeImporter.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

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
  if (graph.labels) {
    types.push_back(RankedTensorType::get({batch}, builder.getI32Type()));
    names.push_back("labels");
  }
  types.push_back(train::scalarsType(context));
  names.push_back("scalars");
  function = func::FuncOp::create(builder, location, train::modelFunc,
                                  builder.getFunctionType(types, {}));
  for (auto [i, name] : enumerate(names))
    function.setArgAttr(i, train::argNameAttr, builder.getStringAttr(name));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToEnd(body);
  define(graph.input->name(), Value(body->getArgument(0)));
  if (graph.labels) {
    labels = body->getArgument(1);
    define(graph.labels->name(), labels);
  }
  scalars = body->getArguments().back();
}

void GraphImporter::finishFunction() {
  const NodeProto &last = *graph.producers.lookup(graph.logits);
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
      train::setLayer(logits.getDefiningOp(), layerName(last), "forward");
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
      train::setLayer(loss.getDefiningOp(), layerName(lossNode), "forward");
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
    train::InitAttr initial;
    if (leaf && !leaf->tensor) {
      initial = init(leaf->maker, 0, leaf->a, leaf->b);
    } else {
      initial = init("blob", blobBytes, 0, 0);
      if (leaf)
        weights.push_back({blobBytes, static_cast<const Leaf *>(leaf)});
      else
        weights.push_back({blobBytes, std::get<HostRef>(parameter.source)});
      int64_t bytes = *elementCount(parameter.shape) * int64_t(sizeof(float));
      blobBytes += (bytes + 63) / 64 * 64;
    }
    train::ParameterOp::create(builder, reporter.atFile(), parameter.name,
                               train::tensorOf(context, parameter.shape),
                               leaf ? leaf->kind
                                    : train::ParameterKind::Constant,
                               initial, leaf ? leaf->fresh : train::InitAttr());
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

HostRef GraphImporter::hostOf(const Imported &value, bool evenTrainable) {
  if (auto *host = value.as<HostRef>())
    return *host;
  auto *found = value.as<Leaf *>();
  if (!found)
    return nullptr;
  Leaf *leaf = *found;
  if (!evenTrainable && leaf->kind != train::ParameterKind::Constant)
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
  if (leaf)
    return readParameter(name, *shape, *leaf, user);
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
    train::setLayer(constant.getDefiningOp(), layerName(user), "forward");
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
  train::setLayer(read, layerName(user), "forward");
  train::setNames(read, {name});
  if (auto *leaf = std::get_if<Leaf *>(&source))
    leafOfRead[read] = *leaf;
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

/// Evaluates a node at compile time if that is possible; also says what is
/// wrong with it then.
bool GraphImporter::evaluate(NodeView node, const OnnxOp &row,
                             ArrayRef<const Imported *> inputs) {
  auto done = [&](HostTensor value) {
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
    to->set_i(!like || like->isReal() ? onnx::TensorProto::FLOAT
              : like->kind == HostTensor::Kind::boolean
                  ? onnx::TensorProto::BOOL
                  : onnx::TensorProto::INT64);
    std::string error;
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
  std::string error;
  std::optional<HostTensor> value = row.fold(node, arguments, error);
  if (value)
    return done(std::move(*value));
  if (error.empty())
    return false;
  reporter.error(node.proto()) << error;
  return define(node.output(), Imported()), true;
}

//===----------------------------------------------------------------------===//
// Dropout that an exporter spelled out
//===----------------------------------------------------------------------===//

LogicalResult GraphImporter::importNoise(NodeImporter &node,
                                         ArrayRef<const Imported *> inputs) {
  StringRef op = node.op();
  auto unsupported = [&] {
    return node.fail("draws random numbers in the forward pass in a way that "
                     "is not dropout (x * (uniform < keep) / keep)");
  };
  if (op.starts_with("Random")) {
    std::optional<Shape> shape = op.ends_with("Like")
                                     ? inputs[0]->shape()
                                     : node.NodeView::integers("shape");
    if (!op.starts_with("RandomUniform") || node.real("low", 0) != 0 ||
        node.real("high", 1) != 1 || !shape || !elementCount(*shape))
      return unsupported();
    return node.result(0, Imported(Noise{*shape, std::nullopt, 1}));
  }
  unsigned at = inputs[0] && inputs[0]->as<Noise>() ? 0 : 1;
  Noise noise = *inputs[at]->as<Noise>();
  const Imported *other = inputs.size() == 2 ? inputs[1 - at] : nullptr;
  HostRef host = other ? hostOf(*other, true) : nullptr;
  std::optional<double> number;
  if (host && host->isSplat())
    number = host->at(0);

  bool less = op == "Less" || op == "LessOrEqual";
  bool greater = op == "Greater" || op == "GreaterOrEqual";
  if (op == "Identity" || op == "Cast" || (op == "CastLike" && at == 0))
    return node.result(0, Imported(noise));
  if (op == "CastLike") // of something to the noise's type
    return host ? node.result(0, Imported(host)) : unsupported();
  if ((less || greater) && number && !noise.keep) {
    noise.keep = less == (at == 0) ? *number : 1 - *number;
    return *noise.keep > 0 && *noise.keep <= 1 ? node.result(0, Imported(noise))
                                               : unsupported();
  }
  if ((op == "Div" || op == "Mul") && number && noise.keep &&
      (op == "Mul" || (at == 0 && *number != 0))) {
    noise.scale *= op == "Mul" ? *number : 1 / *number;
    return node.result(0, Imported(noise));
  }
  if (op != "Mul" || !other || !noise.keep ||
      std::fabs(*noise.keep * noise.scale - 1) > 1e-4)
    return unsupported();

  Value x = node.live(1 - at);
  if (!x)
    return failure();
  dropouts[&node.proto()] = 1 - at;
  // 1 - keep in float is not the ratio that was written: 0.2 became 0.19999999.
  float ratio = float(std::round((1 - *noise.keep) * 1e6) / 1e6);
  if (ratio == 0)
    return node.result(0, x);
  bool whole = ArrayRef(noise.shape) == lwcc::shapeOf(x);
  if (!whole &&
      broadcast(noise.shape, lwcc::shapeOf(x)) != Shape(lwcc::shapeOf(x)))
    return unsupported();
  Value kept = whole ? x : node.splat(1, noise.shape);
  Value y = node.create<train::DropoutOp>(
      kept.getType(), kept, scalars, APFloat(ratio),
      int64_t(train::streamOf(node.output())));
  // A mask that is shared by all elements of a sample (stochastic depth).
  return node.result(0, whole ? y : node.map("mul", {x, y}));
}
