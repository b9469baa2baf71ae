//===- ImportRecurrent.cpp - RNN, LSTM and GRU ----------------------------===//
//
// Recurrent layers, unrolled: the products of all steps with the input's
// weights are one, those with the state's are one a step. Data is [samples,
// steps, ...] within, whatever the node's layout, so that a layer is cut by
// samples.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/StringSwitch.h"

#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

namespace {
/// What a node is: extents, and how its gates are computed.
struct Recurrent {
  int64_t steps, samples, inputs, hidden, gates, directions;
  bool samplesFirst;             ///< layout
  bool resetBehind = false;      ///< GRU: linear_before_reset
  SmallVector<StringRef> curves; ///< functions of ir/train/Elementwise.h
};

/// The weights of one direction: w [gates * hidden, inputs], r [gates * hidden,
/// hidden], and both biases [gates * hidden] or null.
struct Cell {
  Value w, r, inputBias, stateBias;
  /// Of a GRU: the rows of r and of the state's bias that are the hidden
  /// gate's; r and stateBias are those of the other two.
  Value hiddenR, hiddenBias;
  ArrayRef<StringRef> curves;
};

/// h and, of an LSTM, c; both [samples, hidden].
struct State {
  Value h, c;
};
} // namespace

/// Longest sequence that is unrolled.
static constexpr int64_t mostSteps = 1024;

static FailureOr<Recurrent> readAttributes(NodeImporter &node) {
  StringRef direction = node.text("direction", "forward");
  if (!is_contained({"forward", "reverse", "bidirectional"}, direction))
    return node.fail("has the unknown direction '" + direction + "'");
  ArrayRef<int64_t> x = node.shape(0), w = node.shape(1), r = node.shape(2);
  Recurrent layer;
  layer.directions = direction == "bidirectional" ? 2 : 1;
  layer.gates = node.op() == "LSTM" ? 4 : node.op() == "GRU" ? 3 : 1;
  layer.samplesFirst = node.integer("layout", 0) != 0;
  layer.resetBehind = node.integer("linear_before_reset", 0) != 0;
  bool fits = x.size() == 3 && w.size() == 3 && r.size() == 3;
  int64_t rows = fits ? w[1] : 0;
  layer.hidden = fits ? r[2] : 0;
  if (!fits || w[0] != layer.directions || r[0] != layer.directions ||
      w[2] != x[2] || r[1] != rows || rows != layer.gates * layer.hidden ||
      node.integer("hidden_size", layer.hidden) != layer.hidden)
    return node.fail("has weights of shapes " + printShape(w) + " and " +
                     printShape(r) + ", which do not fit data of shape " +
                     printShape(x));
  layer.steps = x[layer.samplesFirst ? 1 : 0];
  layer.samples = x[layer.samplesFirst ? 0 : 1];
  layer.inputs = x[2];
  if (layer.steps > mostSteps)
    return node.fail("has sequences of " + Twine(layer.steps) +
                     " steps; at most " + Twine(mostSteps) + " are supported");
  if (node.has("clip") || node.integer("input_forget", 0) != 0 ||
      (node.op() == "LSTM" && node.hasInput(7)))
    return node.fail("clips its gates, couples them or has peepholes; that is "
                     "not supported");
  SmallVector<StringRef> names = node.texts("activations");
  SmallVector<StringRef> usual = {"Sigmoid", "Tanh", "Tanh"};
  size_t count = node.op() == "LSTM" ? 3 : node.op() == "GRU" ? 2 : 1;
  if (names.empty())
    for (int64_t i = 0; i < layer.directions; ++i)
      append_range(names, node.op() == "RNN"
                              ? ArrayRef(usual).take_back(1)
                              : ArrayRef(usual).take_front(count));
  for (StringRef name : names)
    layer.curves.push_back(llvm::StringSwitch<StringRef>(name.lower())
                               .Case("sigmoid", "sigmoid")
                               .Case("tanh", "tanh")
                               .Case("relu", "relu")
                               .Default(""));
  if (layer.curves.size() != count * layer.directions ||
      is_contained(layer.curves, ""))
    return node.fail("has activations other than Sigmoid, Tanh and Relu, or "
                     "not one for each of its functions");
  return layer;
}

/// How many steps each sample has, [samples, 1], where they are not all the
/// same: of the data, or stored. Null if all samples have all steps. Fails
/// after reporting.
static FailureOr<Value> readLengths(NodeImporter &node,
                                    const Recurrent &layer) {
  if (!node.hasInput(4))
    return Value();
  HostRef known = node.isWhole(4) ? HostRef() : node.constant(4);
  if (!node.isWhole(4) && (!known || known->isReal()))
    return node.fail("needs integers as the lengths of its sequences, '" +
                     node.input(4) + "'");
  if (node.shape(4) != ArrayRef<int64_t>{layer.samples})
    return node.fail("has lengths of shape " + printShape(node.shape(4)) +
                     " for " + Twine(layer.samples) + " sequences");
  Value lengths;
  if (!known) {
    lengths = node.live(4);
  } else {
    for (int64_t length : known->integers)
      if (length < 0 || length > layer.steps)
        return node.fail("has a sequence of length " + Twine(length) + " in " +
                         Twine(layer.steps) + " steps");
    if (all_of(known->integers,
               [&](int64_t length) { return length == layer.steps; }))
      return Value();
    HostTensor floats =
        HostTensor::empty(HostTensor::Kind::real, {layer.samples});
    floats.reals.assign(known->integers.begin(), known->integers.end());
    lengths = node.stored(std::move(floats));
  }
  if (!lengths)
    return failure();
  return node.reshape(lengths, {layer.samples, 1});
}

/// Data [samples, steps, inputs] with zeros behind the lengths of its
/// sequences: what stands there, be it NaN, reaches nothing, in gradients
/// neither.
static Value withoutPadding(NodeImporter &node, const Recurrent &layer, Value x,
                            Value lengths) {
  HostTensor numbers =
      HostTensor::empty(HostTensor::Kind::real, {1, layer.steps, 1});
  append_range(numbers.reals, seq<int64_t>(0, layer.steps));
  Value steps = node.stored(std::move(numbers));
  if (!steps)
    return steps;
  Value ends = node.reshape(lengths, {layer.samples, 1, 1});
  Value within = node.map("less", {steps, ends});
  return node.map("where", {within, x, node.splat(0)});
}

/// Entry i along the first axis, without it.
static Value entry(NodeImporter &node, Value x, int64_t i) {
  Shape shape(shapeOf(x).drop_front());
  return node.reshape(rewrite::slice(node, x, 0, i, 1), shape);
}

/// Columns [first, first + count) of a matrix.
static Value columns(NodeImporter &node, Value x, int64_t first,
                     int64_t count) {
  return rewrite::slice(node, x, shapeOf(x).size() - 1, first, count);
}

/// x * transposed w + bias, of x [.., inputs].
static Value product(NodeImporter &node, Value x, Value w, Value bias) {
  Shape shape(shapeOf(x));
  shape.back() = shapeOf(w)[0];
  return node.create<train::MatMulOp>(node.tensorOf(shape), x, w, bias, false,
                                      false, true);
}

static State stepOfRnn(NodeImporter &node, const Recurrent &, const Cell &cell,
                       Value x, State s) {
  Value sum = node.map("add", {x, product(node, s.h, cell.r, cell.stateBias)});
  return {node.map(cell.curves[0], {sum}), {}};
}

/// Gates in ONNX's order: input, output, forget, cell.
static State stepOfLstm(NodeImporter &node, const Recurrent &layer,
                        const Cell &cell, Value x, State s) {
  Value sum = node.map("add", {x, product(node, s.h, cell.r, cell.stateBias)});
  auto gate = [&](int64_t i) {
    Value part = columns(node, sum, i * layer.hidden, layer.hidden);
    return node.map(cell.curves[i == 3 ? 1 : 0], {part});
  };
  Value kept = node.map("mul", {gate(2), s.c});
  Value c = node.map("add", {kept, node.map("mul", {gate(0), gate(3)})});
  Value h = node.map("mul", {gate(1), node.map(cell.curves[2], {c})});
  return {h, c};
}

/// Gates in ONNX's order: update, reset, hidden.
static State stepOfGru(NodeImporter &node, const Recurrent &layer,
                       const Cell &cell, Value x, State s) {
  int64_t size = layer.hidden;
  auto part = [&](Value value, int64_t i) {
    return columns(node, value, i * size, size);
  };
  Value both = node.map("add", {columns(node, x, 0, 2 * size),
                                product(node, s.h, cell.r, cell.stateBias)});
  Value gates = node.map(cell.curves[0], {both});
  Value update = part(gates, 0), reset = part(gates, 1);
  Value r = cell.hiddenR, bias = cell.hiddenBias;
  Value state = layer.resetBehind
                    ? node.map("mul", {reset, product(node, s.h, r, bias)})
                    : product(node, node.map("mul", {reset, s.h}), r, bias);
  Value fresh =
      node.map(cell.curves[1], {node.map("add", {part(x, 2), state})});
  // (1 - update) * fresh + update * h
  Value difference = node.map("sub", {s.h, fresh});
  Value h = node.map("add", {fresh, node.map("mul", {update, difference})});
  return {h, {}};
}

/// The initial state [directions, samples, hidden], or zeros.
static Value initialState(NodeImporter &node, const Recurrent &layer,
                          unsigned input, int64_t direction) {
  Shape shape = {layer.samples, layer.hidden};
  if (node.isZero(input))
    return node.splat(0, shape);
  Value all = node.live(input);
  if (!all)
    return {};
  Shape wanted = {layer.directions, layer.samples, layer.hidden};
  if (layer.samplesFirst)
    std::swap(wanted[0], wanted[1]);
  if (shapeOf(all) != ArrayRef<int64_t>(wanted)) {
    (void)node.fail("has an initial state of shape " +
                    printShape(shapeOf(all)) + " where " + printShape(wanted) +
                    " is needed");
    return {};
  }
  if (layer.samplesFirst)
    all = rewrite::transpose(node, all, {1, 0, 2});
  return entry(node, all, direction);
}

namespace {
/// What a layer makes, direction by direction.
struct Outputs {
  SmallVector<Value> all; ///< [samples, steps, 1, hidden]
  SmallVector<Value> lastH, lastC;
};
} // namespace

/// One direction over data [samples, steps, inputs]. Behind the `lengths` of
/// their sequences states stay as they are, and what is made is zeros. A
/// sequence that is read backwards begins with the last step it has.
static LogicalResult run(NodeImporter &node, const Recurrent &layer, Value x,
                         Value lengths, int64_t direction, Outputs &out) {
  int64_t rows = layer.gates * layer.hidden;
  Value w = node.live(1), r = node.live(2), b;
  if (!node.isZero(3))
    b = node.live(3);
  if (!w || !r || (!node.isZero(3) && !b))
    return failure();
  node.setFreshUniform(w, layer.hidden);
  node.setFreshUniform(r, layer.hidden);
  Cell cell;
  cell.w = entry(node, w, direction);
  cell.r = entry(node, r, direction);
  if (b) {
    if (shapeOf(b) != ArrayRef<int64_t>{layer.directions, 2 * rows})
      return node.fail("has biases of shape " + printShape(shapeOf(b)));
    node.setFreshUniform(b, layer.hidden);
    Value own = entry(node, b, direction);
    cell.inputBias = rewrite::slice(node, own, 0, 0, rows);
    cell.stateBias = rewrite::slice(node, own, 0, rows, rows);
    // Keras has one bias, but for such a GRU. tf2onnx writes zeros for the
    // other: trained, they would double the rate of their sum.
    const bool hasBoth = node.integer("linear_before_reset", 0) != 0;
    if (node.producer() == "tf2onnx" && !hasBoth)
      cell.stateBias = node.map("detach", {cell.stateBias});
  }
  if (node.op() == "GRU") {
    int64_t others = 2 * layer.hidden;
    cell.hiddenR = rewrite::slice(node, cell.r, 0, others, layer.hidden);
    cell.r = rewrite::slice(node, cell.r, 0, 0, others);
    if (b) {
      cell.hiddenBias =
          rewrite::slice(node, cell.stateBias, 0, others, layer.hidden);
      cell.stateBias = rewrite::slice(node, cell.stateBias, 0, 0, others);
    }
  }
  size_t count = layer.curves.size() / layer.directions;
  cell.curves = ArrayRef(layer.curves).slice(direction * count, count);
  State state{initialState(node, layer, 5, direction), {}};
  if (node.op() == "LSTM")
    state.c = initialState(node, layer, 6, direction);
  if (!state.h || (node.op() == "LSTM" && !state.c))
    return failure();
  auto step = node.op() == "LSTM"  ? stepOfLstm
              : node.op() == "GRU" ? stepOfGru
                                   : stepOfRnn;
  Value projected = product(node, x, cell.w, cell.inputBias);
  bool backwards =
      direction == 1 || node.text("direction", "forward") == "reverse";
  SmallVector<Value> all(layer.steps);
  for (int64_t i = 0; i < layer.steps; ++i) {
    int64_t at = backwards ? layer.steps - 1 - i : i;
    Value own = node.reshape(rewrite::slice(node, projected, 1, at, 1),
                             {layer.samples, rows});
    State next = step(node, layer, cell, own, state);
    Value made = next.h;
    if (lengths) {
      Value within = node.map("less", {node.splat(double(at)), lengths});
      made = node.map("where", {within, next.h, node.splat(0)});
      next.h = node.map("where", {within, next.h, state.h});
      if (next.c)
        next.c = node.map("where", {within, next.c, state.c});
    }
    state = next;
    all[at] = node.reshape(made, {layer.samples, 1, 1, layer.hidden});
  }
  out.all.push_back(rewrite::concat(node, all, 1));
  Shape last = {layer.samples, 1, layer.hidden};
  out.lastH.push_back(node.reshape(state.h, last));
  if (state.c)
    out.lastC.push_back(node.reshape(state.c, last));
  return success();
}

LogicalResult lwcc::importRecurrent(NodeImporter &node) {
  FailureOr<Recurrent> layer = readAttributes(node);
  if (failed(layer))
    return failure();
  FailureOr<Value> lengths = readLengths(node, *layer);
  Value x = node.live(0);
  if (failed(lengths) || !x)
    return failure();
  if (!layer->samplesFirst)
    x = rewrite::transpose(node, x, {1, 0, 2});
  if (*lengths)
    x = withoutPadding(node, *layer, x, *lengths);
  if (!x)
    return failure();
  Outputs out;
  for (int64_t direction : seq<int64_t>(0, layer->directions))
    if (failed(run(node, *layer, x, *lengths, direction, out)))
      return failure();
  Value all = rewrite::concat(node, out.all, 2);
  if (!layer->samplesFirst)
    all = rewrite::transpose(node, all, {1, 2, 0, 3});
  if (failed(node.result(0, all)))
    return failure();
  const ArrayRef<Value> lasts[] = {out.lastH, out.lastC};
  for (auto [i, last] : enumerate(lasts)) {
    if (last.empty() || !node.isUsed(i + 1))
      continue;
    Value value = rewrite::concat(node, last, 1);
    if (!layer->samplesFirst)
      value = rewrite::transpose(node, value, {1, 0, 2});
    if (failed(node.result(i + 1, value)))
      return failure();
  }
  return success();
}
