//===- ImportControl.cpp - What is known of branches and loops ------------===//
//
// An If, a Loop or a SequenceMap makes no ops. That what decides about it is
// known is noted for ControlFlow.h, which puts other nodes in its place; then
// the graph is imported again. Where it is not known, the file is refused.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"

using namespace lwcc;
using namespace mlir;

/// One truth or number that is known while compiling; none, reported, if it is
/// not.
static std::optional<int64_t> knownNumber(NodeImporter &node, unsigned i,
                                          llvm::StringRef what) {
  HostRef value = node.constant(i);
  if (value && !value->isReal() && value->size() == 1)
    return value->integers[0];
  (void)node.fail("has " + what + " '" + node.input(i) +
                  "' that depends on the data; only what is known while "
                  "compiling can be left out or repeated");
  return std::nullopt;
}

LogicalResult lwcc::importIf(NodeImporter &node) {
  if (std::optional<int64_t> condition = knownNumber(node, 0, "the condition"))
    node.decide(*condition != 0);
  return failure();
}

LogicalResult lwcc::importLoop(NodeImporter &node) {
  std::optional<int64_t> most, first = 1;
  if (node.hasInput(0) && !(most = knownNumber(node, 0, "the number of turns")))
    return failure();
  if (node.hasInput(1) && !(first = knownNumber(node, 1, "the condition")))
    return failure();
  std::string why;
  std::optional<int64_t> turns = turnsOf(node, most, *first != 0, why);
  if (!turns)
    return node.fail(why);
  node.decide(*turns);
  return failure();
}

LogicalResult lwcc::importSequenceMap(NodeImporter &node) {
  const auto *sequence = node.raw(0).as<Sequence>();
  const auto *body = node.attribute("body");
  if (!sequence)
    return node.fail("reads '" + node.input(0) + "', which is no sequence");
  if (!body || body->g().input_size() != int(node.numInputs()) ||
      body->g().output_size() < int(node.numOutputs()))
    return node.fail("has a body that does not fit its inputs and outputs: the "
                     "file is damaged");
  for (unsigned i = 1; i < node.numInputs(); ++i)
    if (node.hasInput(i) && node.raw(i).as<Sequence>())
      return node.fail("goes through several sequences at once, '" +
                       node.input(0) + "' and '" + node.input(i) +
                       "'; one is supported");
  node.decide(int64_t((*sequence)->size()));
  return failure();
}
