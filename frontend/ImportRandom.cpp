//===- ImportRandom.cpp - Random numbers in the forward pass --------------===//
//
// Noise that a model adds, samples that it draws (a variational autoencoder, a
// Gumbel softmax), masks that are no dropout. They are maps without inputs,
// which draw from the stream of the node's name (runtime/core/Philox.h): other
// numbers in each step and for each element, the same under every plan. They
// are no parameters, and no gradient flows into them. Evaluation draws, too, as
// the file says. A node's own seed is ignored; the trainer's --seed counts.
//
// Uniform numbers may become a dropout (ImportDropout.cpp). They are drawn when
// something else reads them.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"

#include "ir/train/Expression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;
using onnx::NodeProto;

float lwcc::ratioOf(const Noise &mask) {
  // 1 - keep in float is not the ratio that was written: 0.2 became 0.19999999.
  return float(std::round((1 - *mask.keep) * 1e6) / 1e6);
}

static std::string literal(double value) { return floatLiteral(float(value)); }

/// A call of `function` for what a node draws.
static std::string drawn(StringRef function, const NodeProto &origin) {
  return formatv("{0}({1}u)", function, train::streamOf(origin.output(0)));
}

Value GraphImporter::draw(const NodeProto &origin, ArrayRef<int64_t> shape,
                          StringRef expression) {
  Value &known = draws[origin.output(0) + " " + expression.str()];
  if (known)
    return known;
  Location at = reporter.at(origin);
  auto map =
      train::buildMap(builder, at, train::tensorOf(builder.getContext(), shape),
                      cantFail(Expression::parse(expression)), {}, scalars);
  train::setWork(map, layerName(origin), Phase::forward);
  train::setNames(map, {origin.output(0)});
  if (!admit(map, at))
    return {};
  if (!is_contained(drawingNodes, layerName(origin)))
    drawingNodes.push_back(layerName(origin).str());
  return known = map;
}

void GraphImporter::noteNoise() {
  if (!drawingNodes.empty())
    reporter.note() << "draws random numbers anew in each step, and in "
                       "evaluation ("
                    << firstOf(drawingNodes) << ")";
}

Value GraphImporter::draw(const Noise &noise) {
  std::string text = drawn("random_uniform", *noise.origin);
  if (noise.keep)
    text += " >= " + literal(ratioOf(noise)) + " ? " + literal(noise.scale) +
            " : 0.0f";
  else if (noise.shift != 0)
    text += " + " + literal(noise.shift);
  return draw(*noise.origin, noise.shape, text);
}

LogicalResult GraphImporter::importRandom(NodeImporter &node,
                                          ArrayRef<const Imported *> inputs) {
  StringRef op = node.op();
  const NodeProto &proto = node.proto();
  if (op == "Bernoulli") { // what is drawn is less than the probability
    if (HostRef keep = hostOf(*inputs[0], true);
        keep && keep->isSplat() && keep->at(0) > 0 && keep->at(0) <= 1)
      return node.result(0, Imported(Noise{keep->shape, &proto, keep->at(0)}));
    Value probability = node.live(0);
    Value uniform = probability ? draw(proto, lwcc::shapeOf(probability),
                                       drawn("random_uniform", proto))
                                : Value();
    return uniform ? node.result(0, node.map("less", {uniform, probability}))
                   : failure();
  }
  std::optional<Shape> shape = op.ends_with("Like")
                                   ? inputs[0]->shape()
                                   : node.NodeView::integers("shape");
  if (!shape || !elementCount(*shape))
    return node.fail("does not say which shape its random numbers have");
  // A file of fixed batch that is compiled for another one.
  if (node.rebatch() && !op.ends_with("Like") && !shape->empty() &&
      shape->front() == node.rebatch())
    shape->front() = node.batch();
  auto linear = [&](double offset, double factor, StringRef function) {
    std::string text = drawn(function, proto);
    if (factor != 1)
      text += " * " + literal(factor);
    if (offset != 0)
      text += " + " + literal(offset);
    return node.result(0, draw(proto, *shape, text));
  };
  if (op.starts_with("RandomNormal"))
    return linear(node.real("mean", 0), node.real("scale", 1), "random_normal");
  const double low = node.real("low", 0), high = node.real("high", 1);
  if (low == 0 && high == 1)
    return node.result(0, Imported(Noise{*shape, &proto, std::nullopt}));
  return linear(low, high - low, "random_uniform");
}
