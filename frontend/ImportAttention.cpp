//===- ImportAttention.cpp - Attention ------------------------------------===//
//
// Scaled dot product attention is composed of two products, what is done to the
// scores between them, and softmax. Several heads of queries may share keys and
// values, which are repeated for them. Keys and values of steps before go ahead
// of the node's own.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include <cmath>
#include <limits>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

/// [n, tokens, heads * size] as [n, heads, tokens, size]; what has heads
/// already stays. Null after reporting.
static Value withHeads(NodeImporter &node, unsigned input,
                       StringRef attribute) {
  Value x = node.live(input);
  if (!x)
    return x;
  ArrayRef<int64_t> shape = shapeOf(x);
  if (shape.size() == 4)
    return x;
  const int64_t heads = node.integer(attribute, 0);
  if (shape.size() != 3 || heads < 1 || shape[2] % heads != 0) {
    (void)node.fail("has '" + node.input(input) + "' of shape " +
                    printShape(shape) +
                    "; needs [n, heads, tokens, size], or [n, tokens, heads * "
                    "size] and the attribute " +
                    attribute);
    return {};
  }
  return rewrite::transpose(
      node, node.reshape(x, {shape[0], shape[1], heads, shape[2] / heads}),
      {0, 2, 1, 3});
}

/// Scores of keys that a query must not see are as small as a float may be.
/// Query i sees the keys of steps before and its own first i + 1.
static Value hideLater(NodeImporter &node, Value scores, int64_t before) {
  const int64_t queries = shapeOf(scores)[2], keys = shapeOf(scores)[3];
  if (!rewrite::admitTable(node, queries, keys))
    return {};
  HostTensor seen = HostTensor::empty(HostTensor::Kind::real, {queries, keys});
  for (int64_t i = 0; i < queries; ++i)
    for (int64_t j = 0; j < keys; ++j)
      seen.reals.push_back(j <= i + before);
  Value mask = node.stored(std::move(seen));
  return mask ? node.map("where",
                         {mask, scores,
                          node.splat(-std::numeric_limits<float>::infinity())})
              : Value();
}

/// Keys or values with those of steps before, input `past`, in front of them,
/// which are the node's output `present`, too. Null after reporting.
static Value withPast(NodeImporter &node, Value x, unsigned past,
                      unsigned present) {
  if (x && node.hasInput(past)) {
    Value before = node.live(past);
    if (!before)
      return {};
    Shape own(shapeOf(x)), earlier(shapeOf(before));
    const bool fits = earlier.size() == 4;
    if (fits)
      earlier[2] = own[2];
    if (!fits || earlier != own) {
      (void)node.fail("has '" + node.input(past) + "' of shape " +
                      printShape(shapeOf(before)) + " ahead of " +
                      printShape(own));
      return {};
    }
    x = rewrite::concat(node, {before, x}, 2);
  }
  if (x && node.isUsed(present) && failed(node.result(present, x)))
    return {};
  return x;
}

LogicalResult lwcc::importAttention(NodeImporter &node) {
  if (node.hasInput(6))
    return node.fail("has lengths of keys '" + node.input(6) +
                     "'; that is not supported, a mask is");
  if (node.isUsed(3))
    return node.fail("has output '" + node.output(3) +
                     "' of scores that is used; only what is attended may be");
  const bool joined = node.shape(0).size() == 3;
  Value q = withHeads(node, 0, "q_num_heads");
  Value k = withHeads(node, 1, "kv_num_heads");
  Value v = withHeads(node, 2, "kv_num_heads");
  const int64_t ownKeys = k ? shapeOf(k)[2] : 0;
  k = withPast(node, k, 4, 1);
  v = withPast(node, v, 5, 2);
  if (!q || !k || !v)
    return failure();
  const Shape sq(shapeOf(q)), sk(shapeOf(k)), sv(shapeOf(v));
  if (sq[0] != sk[0] || sq[0] != sv[0] || sk[1] != sv[1] || sq[1] % sk[1] ||
      sq[3] != sk[3] || sk[2] != sv[2])
    return node.fail("attends with queries " + printShape(sq) + ", keys " +
                     printShape(sk) + " and values " + printShape(sv) +
                     ", which do not fit each other");
  k = rewrite::repeat(node, k, 1, sq[1] / sk[1], /*whole=*/false);
  v = rewrite::repeat(node, v, 1, sq[1] / sk[1], /*whole=*/false);

  // The smaller operand is scaled, not the scores.
  const float scale =
      node.real("scale", 1 / std::sqrt(static_cast<float>(sq[3])));
  Value scores = node.create<train::MatMulOp>(
      node.tensorOf({sq[0], sq[1], sq[2], sk[2]}),
      node.map("scale", {q}, {{"alpha", scale}}), k, Value(), /*relu=*/false,
      /*transpose_a=*/false, /*transpose_b=*/true);
  if (const float cap = node.real("softcap", 0); cap != 0) {
    Value part = node.map("scale", {scores}, {{"alpha", 1 / cap}});
    scores = node.map("scale", {node.map("tanh", {part})}, {{"alpha", cap}});
  }
  if (node.integer("is_causal", 0)) {
    scores = hideLater(node, scores, sk[2] - ownKeys);
    if (!scores)
      return failure();
  }
  Value seen; // where a mask says what is seen: ones and zeros
  if (node.hasInput(3)) {
    Value mask = node.live(3);
    if (!mask)
      return failure();
    const Shape shape(shapeOf(scores));
    if (broadcast(shapeOf(mask), shape) != shape)
      return node.fail("has a mask of shape " + printShape(shapeOf(mask)) +
                       " for scores of shape " + printShape(shape));
    HostRef known = node.constant(3);
    if (node.isWhole(3) || (known && !known->isReal()))
      seen = mask;
    // A finite number: where nothing is seen the sum must not be zero.
    scores = seen ? node.map("where", {seen, scores, node.splat(-1e30)})
                  : node.map("add", {scores, mask});
  }
  Value parts =
      node.create<train::SoftmaxOp>(scores.getType(), scores, 3, false);
  // Who sees nothing gets zeros.
  if (seen)
    parts = node.map("mul", {parts, seen});
  Value y =
      node.create<train::MatMulOp>(node.tensorOf({sq[0], sq[1], sq[2], sv[3]}),
                                   parts, v, Value(), false, false, false);
  if (joined)
    y = node.reshape(rewrite::transpose(node, y, {0, 2, 1, 3}),
                     {sq[0], sq[2], sq[1] * sv[3]});
  return node.result(0, y);
}
