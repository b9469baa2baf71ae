//===- ImportDropout.cpp - Dropout, as a node and spelled out -------------===//
//
// Exporters write some dropouts (those in place, stochastic depth) as
// arithmetic on random numbers: x * (uniform < keep) / keep, x / keep *
// floor(uniform + keep), or a Bernoulli of keep. The importer follows such
// random numbers as values of their own kind (Noise, GraphImporter.h), and
// makes a dropout of the Mul that multiplies them with the data. Evaluation
// leaves it out. What else is done with random numbers: ImportRandom.cpp.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// Ignores the file's training_mode, which exporters do not always write: a
/// Dropout that is in the file drops in training.
LogicalResult lwcc::importDropout(NodeImporter &node) {
  if (node.isUsed(1))
    return node.fail("has its mask output used, which is not supported");
  FailureOr<double> given = node.scalar(1, "ratio");
  if (failed(given))
    return failure();
  float ratio = std::isnan(*given) ? 0.5f : float(*given);
  if (!(ratio >= 0 && ratio < 1))
    return node.fail("has the ratio " + std::to_string(ratio) +
                     "; it must be at least 0 and less than 1");
  Value x = node.live(0);
  if (!x || ratio == 0)
    return node.result(0, x);
  Value y = node.create<train::DropoutOp>(
      x.getType(), x, node.scalars(), APFloat(ratio),
      int64_t(train::streamOf(node.output())));
  return node.result(0, y);
}

std::optional<LogicalResult>
GraphImporter::importNoise(NodeImporter &node,
                           ArrayRef<const Imported *> inputs) {
  StringRef op = node.op();
  unsigned at = find_if(inputs,
                        [](const Imported *input) {
                          return input && input->as<Noise>();
                        }) -
                inputs.begin();
  if (inputs.size() > 2)
    return std::nullopt;
  Noise noise = *inputs[at]->as<Noise>();
  noise.isShared |= readers.lookup(node.input(at)) > 1;
  const Imported *other = inputs.size() == 2 ? inputs[1 - at] : nullptr;
  HostRef host = other ? hostOf(*other, true) : nullptr;
  std::optional<double> number;
  if (host && host->isSplat())
    number = host->at(0);

  bool less = op == "Less" || op == "LessOrEqual";
  bool greater = op == "Greater" || op == "GreaterOrEqual";
  // Zeros and ones are such of any type.
  const bool isMask = noise.keep && noise.scale == 1;
  if (op == "Cast" && !isMask &&
      elementKind(int32_t(node.integer("to", 0))) != HostTensor::Kind::real)
    return std::nullopt;
  if (op == "Identity" || op == "Cast" || (op == "CastLike" && at == 0))
    return node.result(0, Imported(noise));
  if (op == "CastLike") // of something to the noise's type
    return host ? std::optional(node.result(0, Imported(host))) : std::nullopt;
  if (noise.isShared && !noise.keep) // masks of it belong together
    return std::nullopt;
  auto isProbability = [](double keep) { return keep > 0 && keep <= 1; };
  if ((less || greater) && number && !noise.keep && noise.shift == 0) {
    noise.keep = less == (at == 0) ? *number : 1 - *number;
    if (!isProbability(*noise.keep))
      return std::nullopt;
    return node.result(0, Imported(noise));
  }
  if (op == "Add" && number && !noise.keep && noise.shift == 0) {
    noise.shift = *number;
    return node.result(0, Imported(noise));
  }
  if (op == "Floor" && !noise.keep) { // 1 with the probability of the shift
    noise.keep = noise.shift;
    if (!isProbability(*noise.keep))
      return std::nullopt;
    return node.result(0, Imported(noise));
  }
  if ((op == "Div" || op == "Mul") && number && noise.keep &&
      (op == "Mul" || (at == 0 && *number != 0))) {
    noise.scale *= op == "Mul" ? *number : 1 / *number;
    return node.result(0, Imported(noise));
  }
  if (op != "Mul" || !other || !noise.keep)
    return std::nullopt;
  // What is not divided by the probability here was divided before.
  const double product = *noise.keep * noise.scale;
  const bool isScaled = std::fabs(product - 1) <= 1e-4;
  if (!isScaled && noise.scale != 1)
    return std::nullopt;
  const float factor = isScaled ? 1.0f : float(product);

  const std::optional<Shape> shape = other->shape();
  if (!shape || broadcast(noise.shape, *shape) != *shape)
    return std::nullopt;
  Value x = node.live(1 - at);
  if (!x)
    return failure();
  dropouts[&node.proto()] = {1 - at, factor};
  const float ratio = ratioOf(noise);
  if (ratio == 0)
    return node.result(0, x);
  const bool whole = noise.shape == *shape;
  Value kept = whole ? x : node.splat(1, noise.shape);
  Value y = node.create<train::DropoutOp>(
      kept.getType(), kept, scalars, APFloat(ratio),
      int64_t(train::streamOf(noise.isShared ? noise.origin->output(0)
                                             : node.output())));
  if (factor != 1)
    y = node.map("scale", {y}, {{"alpha", factor}});
  // A mask that is shared by all elements of a sample (stochastic depth).
  return node.result(0, whole ? y : node.map("mul", {x, y}));
}
