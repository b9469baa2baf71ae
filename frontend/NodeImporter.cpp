//===- NodeImporter.cpp - What an import function works with --------------===//

#include "frontend/NodeImporter.h"
#include "frontend/ShapeRules.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

ArrayRef<int64_t> lwcc::shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

NodeImporter::NodeImporter(GraphImporter &importer, const onnx::NodeProto &node,
                           const OnnxOp &row, ArrayRef<const Imported *> inputs)
    : NodeView(node, importer.graph.file->opset), importer(importer),
      opRow(row), inputs(inputs), location(importer.reporter.at(node)) {
  for (const Imported *input : inputs)
    shapeStorage.push_back(input ? input->shape().value_or(Shape()) : Shape());
}

LogicalResult NodeImporter::fail(const Twine &message) {
  auto diagnostic = importer.reporter.error(location);
  diagnostic << message;
  if (importer.rebatch)
    diagnostic << " (the file is written for a batch of " << importer.rebatch
               << "; if --batch=" << importer.batch
               << " is the cause, export with a dynamic batch or pass --batch="
               << importer.rebatch << ")";
  return failure();
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Value NodeImporter::live(unsigned i) {
  return importer.liveOf(*inputs[i], input(i), proto());
}

ArrayRef<int64_t> NodeImporter::shape(unsigned i) { return shapeStorage[i]; }

HostRef NodeImporter::constant(unsigned i) {
  return hasInput(i) ? importer.hostOf(*inputs[i], true) : nullptr;
}

FailureOr<std::optional<Shape>> NodeImporter::integers(unsigned i,
                                                       StringRef attribute) {
  if (!hasInput(i))
    return NodeView::integers(attribute);
  HostRef host = constant(i);
  if (host && !host->isReal())
    return std::optional(Shape(host->integers.begin(), host->integers.end()));
  return fail("needs integers known at compile time as its input '" + input(i) +
              "', but that depends on the data; export with fixed sizes");
}

FailureOr<double> NodeImporter::scalar(unsigned i, StringRef attribute) {
  if (!hasInput(i))
    return double(real(attribute, NAN));
  HostRef host = constant(i);
  if (host && host->size() == 1)
    return host->at(0);
  return fail("needs a number known at compile time as its input '" + input(i) +
              "'");
}

FailureOr<int64_t> NodeImporter::axis(int64_t absent, int64_t rank) {
  std::string error;
  std::optional<int64_t> axis =
      normalizeAxis(integer("axis", absent), rank, error);
  if (!axis)
    return fail(error);
  return *axis;
}

bool NodeImporter::isZero(unsigned i) const {
  if (!hasInput(i))
    return true;
  auto *host = raw(i).as<HostRef>();
  return host && (*host)->isReal() &&
         all_of((*host)->reals, [](float value) { return value == 0; });
}

/// The stored weight that a value is a transpose or reshape of.
static Operation *readBehind(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (isa<train::ReadOp>(op))
      return op;
    if (!isa<train::TransposeOp, train::ReshapeOp>(op))
      return nullptr;
    value = op->getOperand(0);
  }
  return nullptr;
}

void NodeImporter::setFresh(Value weight, StringRef kind, double a, double b) {
  Leaf *leaf = importer.leafOfRead.lookup(readBehind(weight));
  if (leaf && !leaf->fresh && leaf->role == Role::trainable)
    leaf->fresh = train::InitAttr::get(location->getContext(), kind, 0,
                                       APFloat(a), APFloat(b));
}

void NodeImporter::setFreshUniform(Value weight, int64_t fanIn) {
  double bound = 1 / std::sqrt(double(fanIn));
  setFresh(weight, "uniform", -bound, bound);
}

void NodeImporter::setFreshNormal(Value weight, double deviation) {
  setFresh(weight, "normal", 0, deviation);
}

void NodeImporter::setFreshConstant(Value weight, double value) {
  Leaf *leaf = importer.leafOfRead.lookup(readBehind(weight));
  if (leaf && !leaf->fresh && leaf->role != Role::constant)
    leaf->fresh = train::InitAttr::get(location->getContext(), "constant", 0,
                                       APFloat(value), APFloat(0.0));
}

int64_t NodeImporter::fanInOf(Value value) const {
  auto product = value.getDefiningOp<train::MatMulOp>();
  if (!product || !readBehind(product.getB()))
    return 0;
  ArrayRef<int64_t> shape = shapeOf(product.getB());
  return shape[shape.size() - (product.getTransposeB() ? 1 : 2)];
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

void NodeImporter::adopt(Operation *op) {
  own.insert(op);
  for (Value value : op->getResults())
    refused = refused || !importer.admit(value, location);
  train::setWork(op, layerName(proto()), Phase::forward);
  std::string base = (output() + "." + op->getName().stripDialect()).str();
  SmallVector<std::string> names;
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    names.push_back(i == 0 ? base : base + "." + std::to_string(i));
  train::setNames(op, SmallVector<StringRef>(names.begin(), names.end()));
}

Value NodeImporter::map(StringRef fn, ValueRange operands,
                        ArrayRef<std::pair<StringRef, double>> params) {
  Shape shape;
  for (Value operand : operands) {
    std::optional<Shape> both = broadcast(shape, shapeOf(operand));
    if (!both) {
      (void)fail("cannot broadcast " + printShape(shape) + " and " +
                 printShape(shapeOf(operand)));
      return {};
    }
    shape = *both;
  }
  SmallVector<NamedAttribute> attributes;
  for (auto [name, value] : params)
    attributes.push_back(
        builder().getNamedAttr(name, builder().getF64FloatAttr(value)));
  auto op = train::buildMap(builder(), location, fn, operands,
                            builder().getDictionaryAttr(attributes));
  adopt(op);
  return op;
}

Value NodeImporter::splat(double value, ArrayRef<int64_t> shape) {
  auto type = tensorOf(shape);
  return create<train::ConstantOp>(type,
                                   DenseElementsAttr::get(type, float(value)));
}

Value NodeImporter::stored(HostTensor value) {
  assert(value.isReal() && "a program computes with floats");
  if (value.isSplat())
    return splat(value.reals[0], value.shape);
  std::string name = (output() + ".table").str();
  if (tables++)
    name += std::to_string(tables);
  Shape shape = value.shape;
  return importer.readParameter(
      name, shape, std::make_shared<const HostTensor>(std::move(value)),
      proto());
}

Imported NodeImporter::emptyTensor(ArrayRef<int64_t> shape) {
  auto kind = isWhole(0) ? HostTensor::Kind::integer : HostTensor::Kind::real;
  return std::make_shared<const HostTensor>(HostTensor::empty(kind, shape));
}

Value NodeImporter::reshape(Value value, ArrayRef<int64_t> shape) {
  if (shapeOf(value) == shape)
    return value;
  return create<train::ReshapeOp>(tensorOf(shape), value);
}

LogicalResult NodeImporter::reshapeTo(unsigned i,
                                      const std::optional<Shape> &shape,
                                      StringRef error) {
  if (!shape)
    return fail(error);
  Value x = live(i);
  return x ? result(0, reshape(x, *shape)) : failure();
}

LogicalResult NodeImporter::result(unsigned i, Value value) {
  if (!value || refused)
    return failure();
  if (Operation *op = value.getDefiningOp(); op && own.contains(op)) {
    auto names = llvm::to_vector(
        op->getAttrOfType<ArrayAttr>(train::namesAttr).getValue());
    names[cast<OpResult>(value).getResultNumber()] =
        builder().getStringAttr(output(i));
    op->setAttr(train::namesAttr, builder().getArrayAttr(names));
  }
  return result(i, Imported(value));
}

LogicalResult NodeImporter::result(unsigned i, Imported value) {
  if (refused)
    return failure();
  if (hasOutput(i))
    importer.define(output(i), std::move(value));
  return success();
}
