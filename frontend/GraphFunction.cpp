//===- GraphFunction.cpp - The function that a graph becomes --------------===//
//
// The parts of GraphImporter around its nodes: the function's arguments, what
// it returns, and the parameters that it reads.
//
//===----------------------------------------------------------------------===//

#include "frontend/GraphImporter.h"
#include "frontend/Metadata.h"
#include "frontend/NodeImporter.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;
using onnx::NodeProto;

void GraphImporter::beginFunction() {
  MLIRContext *context = reporter.getContext();
  Location location = reporter.atFile();
  module = ModuleOp::create(location);
  builder.setInsertionPointToEnd(module->getBody());

  // A tensor of the file for a batch of another size.
  auto batchOf = [&](const onnx::ValueInfoProto &info) {
    Shape shape{batch};
    for (const auto &dim : drop_begin(info.type().tensor_type().shape().dim()))
      shape.push_back(dim.dim_value());
    return shape;
  };
  SmallVector<Type> types;
  SmallVector<StringRef> names;
  SmallVector<Role> roles;
  for (const onnx::ValueInfoProto *input : graph.inputs) {
    types.push_back(train::tensorOf(context, batchOf(*input)));
    names.push_back(input->name());
    roles.push_back(Role::input);
  }
  if (graph.labels) {
    Shape shape = batchOf(*graph.labels);
    if (*elementCount(shape) == batch) // a column of labels is a list
      shape.truncate(1);
    types.push_back(RankedTensorType::get(shape, builder.getI32Type()));
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
  builder.setInsertionPointToEnd(body);
  for (auto [i, input] : enumerate(graph.inputs)) {
    if (!admit(body->getArgument(i), location))
      return;
    define(input->name(), Value(body->getArgument(i)));
    if (OnnxGraph::takesIntegers(*input))
      whole.insert(input->name());
  }
  if (graph.labels) {
    labels = body->getArgument(graph.inputs.size());
    define(graph.labels->name(), labels);
  }
  scalars = body->getArguments().back();
}

Value GraphImporter::headOf(StringRef output) {
  const NodeProto *maker = graph.producers.lookup(output);
  if (!maker) {
    reporter.error() << "has the output '" << output
                     << "', which no node makes; there is nothing to train";
    return {};
  }
  const NodeProto &last = *maker;
  Value head = liveOf(*lookup(output), output, last);
  if (!head || !graph.loss.empty())
    return head;
  // Convolutional heads leave [n, classes, 1, 1].
  Shape shape(lwcc::shapeOf(head));
  if (shape.size() > 2 && all_of(ArrayRef(shape).drop_front(2),
                                 [](int64_t extent) { return extent == 1; })) {
    shape.truncate(2);
    head = train::ReshapeOp::create(
        builder, reporter.at(last),
        train::tensorOf(builder.getContext(), shape), head);
    train::setWork(head.getDefiningOp(), layerName(last), Phase::forward);
    std::string name = (output + ".flat").str();
    train::setNames(head.getDefiningOp(), {name});
  }
  if (!shape.empty() && shape[0] == batch)
    return head;
  auto diagnostic = reporter.error(last);
  diagnostic << "makes the model's output of shape " << printShape(shape)
             << "; a loss needs something for each sample: the batch has to be "
                "its first dimension";
  if (shape.empty())
    diagnostic << ". If this is a loss that the model computes, let it give "
                  "one for each sample (reduction='none'), and say "
                  "--loss=output";
  return {};
}

/// Names what was computed without gradients of parameters, where ONNX has
/// nothing that says so.
void GraphImporter::warnAboutLostNoGrad() {
  if (none_of(graph.nodes, [](auto *node) {
        return exportedCode(*node) == ExportedCode::ofFile;
      }))
    return;
  // Values through which a gradient of a parameter would flow.
  llvm::DenseSet<Value> trained;
  for (Operation &op : function.front()) {
    auto leaf = leafOfRead.find(&op);
    if (leaf != leafOfRead.end() ? leaf->second->role == Role::trainable
                                 : any_of(op.getOperands(), [&](Value operand) {
                                     return trained.contains(operand);
                                   }))
      trained.insert_range(op.getResults());
  }
  std::vector<std::string> names;
  for (const NodeProto *node : graph.nodes) {
    if (exportedCode(*node) != ExportedCode::made || node->output_size() == 0 ||
        whole.contains(node->output(0)))
      continue;
    const Imported *made = lookup(node->output(0));
    const Value *value = made ? made->as<Value>() : nullptr;
    if (value && trained.contains(*value))
      names.push_back(node->name());
  }
  if (!names.empty())
    reporter.warning()
        << "has " << names.size()
        << " nodes that seem to come from a torch.no_grad() block ("
        << firstOf(names)
        << "). ONNX cannot hold that, so gradients flow through them; write "
           ".detach() in the module, which is seen in files of the default "
           "exporter with optimize=False";
}

void GraphImporter::finishFunction() {
  SmallVector<Value> heads;
  for (StringRef output : graph.heads())
    heads.push_back(headOf(output));
  if (failed(reporter.result()))
    return;
  SmallVector<Value> results;
  if (!graph.loss.empty()) {
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
  results.append(heads);
  writeBuffers();
  func::ReturnOp::create(builder, reporter.atFile(), results);
  bringChannelsSecond(heads);
  function.setFunctionType(builder.getFunctionType(
      function.front().getArgumentTypes(), ValueRange(results).getTypes()));
  restoreBatchNorms();

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

/// Writes the buffers that the module changes in each step. PyTorch computes
/// what they become without gradients, which files do not say.
void GraphImporter::writeBuffers() {
  SmallVector<Leaf *> changed;
  for (auto &[name, leaf] : leaves)
    if (!leaf.becomes.empty() && reads.contains(name))
      changed.push_back(&leaf);
  llvm::sort(changed, [](Leaf *a, Leaf *b) { return a->name < b->name; });
  SmallVector<std::string> lost;
  for (Leaf *leaf : changed) {
    auto read = reads.lookup(leaf->name).getDefiningOp<train::ReadOp>();
    const NodeProto *maker = graph.producers.lookup(leaf->becomes);
    auto known = values.find(leaf->becomes);
    const Value *made =
        known == values.end() ? nullptr : known->second.as<Value>();
    if (!maker || !made || made->getType() != read.getType()) {
      leaf->role = Role::constant;
      lost.push_back(leaf->name);
      continue;
    }
    Location location = reporter.at(*maker);
    auto work = [&](Operation *op) {
      train::setWork(op, layerName(*maker), Phase::forward);
      return op;
    };
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointAfterValue(*made);
    Operation *next = work(train::buildMap(builder, location, "detach", {*made},
                                           builder.getDictionaryAttr({})));
    std::string name = leaf->name + ".next";
    train::setNames(next, {name});
    Value(*made).replaceAllUsesExcept(next->getResult(0), next);
    builder.setInsertionPointToEnd(&function.front());
    work(train::WriteOp::create(builder, location, read.getParameter(),
                                next->getResult(0)));
  }
  if (!lost.empty())
    reporter.warning()
        << "does not say what " << lost.size()
        << " of its constants become, which the PyTorch module that it was "
           "made from changes in each step ("
        << firstOf(lost) << "): here they stay as they are";
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
