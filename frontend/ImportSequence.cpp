//===- ImportSequence.cpp - Sequences of tensors --------------------------===//
//
// A sequence is a list of values while compiling, and nothing in the program.
// So its length and the places in it have to be known.
//
//===----------------------------------------------------------------------===//

#include "frontend/ConstantFolder.h"
#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lwcc;
using namespace mlir;
using namespace llvm;

using Elements = std::vector<Imported>;

static LogicalResult give(NodeImporter &node, Elements elements) {
  if (!node.spendOnSequence(elements.size()))
    return failure();
  return node.result(
      0, Imported(Sequence(std::make_shared<Elements>(std::move(elements)))));
}

/// The sequence of input 0; null after reporting.
static const Elements *elementsOf(NodeImporter &node) {
  if (auto *sequence = node.raw(0).as<Sequence>())
    return sequence->get();
  (void)node.fail("reads '" + node.input(0) + "', which is no sequence");
  return nullptr;
}

/// The place that input i names, in [0, size), or at the end as `absent` says.
static FailureOr<int64_t> placeIn(NodeImporter &node, unsigned i, int64_t size,
                                  int64_t absent, int64_t limit) {
  FailureOr<double> position = node.scalar(i, "");
  if (failed(position))
    return failure();
  if (!node.hasInput(i))
    return absent;
  if (!(*position >= -size && *position < limit))
    return node.fail("names element " + llvm::formatv("{0:f0}", *position) +
                     " of a sequence of " + Twine(size));
  int64_t at = int64_t(*position);
  return at < 0 ? at + size : at;
}

LogicalResult lwcc::importSequenceAt(NodeImporter &node) {
  const Elements *elements = elementsOf(node);
  if (!elements)
    return failure();
  int64_t size = elements->size();
  FailureOr<int64_t> at = placeIn(node, 1, size, 0, size);
  return failed(at) ? failure() : node.result(0, Imported((*elements)[*at]));
}

LogicalResult lwcc::importSequenceEmpty(NodeImporter &node) {
  return give(node, {});
}

LogicalResult lwcc::importSequenceConstruct(NodeImporter &node) {
  Elements elements;
  for (unsigned i = 0; i < node.numInputs(); ++i)
    elements.push_back(node.raw(i));
  return give(node, std::move(elements));
}

LogicalResult lwcc::importSequenceInsert(NodeImporter &node) {
  const Elements *elements = elementsOf(node);
  if (!elements)
    return failure();
  int64_t size = elements->size();
  FailureOr<int64_t> at = placeIn(node, 2, size, size, size + 1);
  if (failed(at))
    return failure();
  Elements longer = *elements;
  longer.insert(longer.begin() + *at, node.raw(1));
  return give(node, std::move(longer));
}

LogicalResult lwcc::importSequenceErase(NodeImporter &node) {
  const Elements *elements = elementsOf(node);
  if (!elements)
    return failure();
  int64_t size = elements->size();
  if (size == 0)
    return node.fail("erases an element of a sequence of 0");
  FailureOr<int64_t> at = placeIn(node, 1, size, size - 1, size);
  if (failed(at))
    return failure();
  Elements shorter = *elements;
  shorter.erase(shorter.begin() + *at);
  return give(node, std::move(shorter));
}

LogicalResult lwcc::importSequenceLength(NodeImporter &node) {
  const Elements *elements = elementsOf(node);
  if (!elements)
    return failure();
  return node.result(0, Imported(std::make_shared<const HostTensor>(
                            HostTensor::scalar(int64_t(elements->size())))));
}

/// Joins the elements, along a new axis or one that they have.
LogicalResult lwcc::importConcatFromSequence(NodeImporter &node) {
  const Elements *elements = elementsOf(node);
  if (!elements)
    return failure();
  if (elements->empty())
    return node.fail("joins the elements of an empty sequence");
  bool along = node.integer("new_axis", 0) != 0;
  std::optional<Shape> first = elements->front().shape();
  if (!first)
    return node.fail("joins elements that are no tensors");
  FailureOr<int64_t> axis = node.axis(0, first->size() + along);
  if (failed(axis))
    return failure();
  auto withAxis = [&](Shape shape) {
    if (along)
      shape.insert(shape.begin() + *axis, 1);
    return shape;
  };
  // Each element alone is what is checked: the sizes may differ along the axis.
  SmallVector<const HostTensor *> known;
  int64_t total = 0; // of these
  for (const Imported &element : *elements) {
    std::optional<Shape> own = element.shape();
    Shape mine = *first, other = own.value_or(Shape());
    bool fits = own && mine.size() == other.size();
    if (fits && !along)
      mine[*axis] = other[*axis] = 0;
    if (!fits || mine != other)
      return node.fail("joins elements of shapes " + printShape(*first) +
                       " and " + printShape(own.value_or(Shape())) +
                       (along ? " along a new axis"
                              : " along axis " + std::to_string(*axis)));
    if (auto *host = element.as<HostRef>()) {
      known.push_back(host->get());
      total += (*host)->size();
    }
  }
  if (known.size() == elements->size() && total <= foldLimit) {
    if (!node.spend(2 * total)) // read and made
      return failure();
    SmallVector<HostTensor> hosts;
    hosts.reserve(known.size());
    for (const HostTensor *&host : known) {
      hosts.push_back(*host);
      hosts.back().shape = withAxis(host->shape);
      host = &hosts.back();
    }
    onnx::NodeProto concat = node.proto();
    concat.clear_attribute();
    auto *attribute = concat.add_attribute();
    attribute->set_name("axis");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(*axis);
    std::string error;
    if (auto joined = foldConcat(NodeView(concat, node.opset()), known, error))
      return node.result(
          0, Imported(std::make_shared<const HostTensor>(std::move(*joined))));
    if (!error.empty())
      return node.fail(error);
  }
  SmallVector<Value> values;
  for (auto [i, element] : enumerate(*elements)) {
    Value value = node.live(element, (node.input(0) + "." + Twine(i)).str());
    if (!value)
      return failure();
    values.push_back(node.reshape(value, withAxis(Shape(shapeOf(value)))));
  }
  return node.result(0, rewrite::concat(node, values, *axis));
}
