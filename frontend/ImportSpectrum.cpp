//===- ImportSpectrum.cpp - Discrete Fourier transforms -------------------===//
//
// DFT is a product with a matrix of cosines and sines along its axis, STFT a
// convolution in one dimension whose filters are that matrix's rows, times the
// window. Both have gradients, cuts and kernels like any other product. A fast
// transform takes fewer operations, but products run far closer to a
// processor's peak, and the transforms of networks have some hundred points.
//
// Complex numbers are pairs in the last dimension, as ONNX has them.
//
//===----------------------------------------------------------------------===//

#include "frontend/NodeImporter.h"
#include "frontend/Rewrites.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

using namespace lwcc;
using namespace mlir;
using namespace llvm;

namespace {
/// exp(sign * 2 pi i * row * column / points) for `rows` rows and the columns
/// [first, columns), each column times its factor.
struct Waves {
  int64_t points, rows, first = 0, columns;
  double sign;
  std::vector<double> factors; ///< of each column, from 0 on

  /// Of angles between 0 and pi/2 alone, so that what is 0 is exactly 0. FFTs
  /// make the highest frequency of a real signal real, too, and its phase 0 or
  /// pi: with rounding for an imaginary part it would be pi or -pi.
  double cosine(int64_t row, int64_t column) const {
    int64_t m = row * column % points;
    m = std::min(m, points - m);
    return 4 * m <= points ? ofFirstQuarter(m)
                           : -ofFirstQuarter(points / 2.0 - m);
  }
  double sine(int64_t row, int64_t column) const {
    const int64_t m = row * column % points;
    const double above = points / 4.0 - std::min(m, points - m);
    return (2 * m <= points ? sign : -sign) * ofFirstQuarter(std::abs(above));
  }
  /// Of all rows, by one of these functions.
  void add(std::vector<float> &to,
           double (Waves::*wave)(int64_t, int64_t) const,
           double sign = 1) const {
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t j = first; j < columns; ++j) // no zero is negative
        to.push_back(float(sign * factors[j] * (this->*wave)(row, j)) + 0.0f);
  }

private:
  /// cos(2 pi m / points) for 0 <= m <= points / 4.
  double ofFirstQuarter(double m) const {
    return 4 * m == double(points)
               ? 0
               : std::cos(2 * numbers::pi * m / double(points));
  }
};

/// What a DFT is: which waves, along which axis of what data.
struct Transform {
  int64_t axis, parts; ///< 2 parts: complex data
  bool toReal;         ///< the inverse of a real signal's transform
  Waves waves;
};
} // namespace

/// A whole number known at compile time, or `absent`.
static FailureOr<int64_t> readNumber(NodeImporter &node, unsigned input,
                                     int64_t absent) {
  FailureOr<std::optional<Shape>> given = node.integers(input, "");
  if (failed(given))
    return failure();
  if (!*given)
    return absent;
  if ((*given)->size() != 1)
    return node.fail("needs one number as its input '" + node.input(input) +
                     "'");
  return (*given)->front();
}

static FailureOr<Transform> readTransform(NodeImporter &node) {
  ArrayRef<int64_t> x = node.shape(0);
  const int64_t rank = x.size();
  if (rank < 2 || (x.back() != 1 && x.back() != 2))
    return node.fail("transforms data of shape " + printShape(x) +
                     ", whose last dimension is not 1 (real) or 2 (complex)");
  FailureOr<int64_t> axis = node.opset() < 20
                                ? FailureOr<int64_t>(node.integer("axis", 1))
                                : readNumber(node, 2, -2);
  if (failed(axis))
    return failure();
  Transform made;
  made.axis = *axis < 0 ? *axis + rank : *axis;
  made.parts = x.back();
  if (made.axis < 0 || made.axis >= rank - 1)
    return node.fail("transforms along axis " + Twine(*axis) +
                     " of data of shape " + printShape(x) +
                     ", whose last dimension is that of complex numbers");
  const bool inverse = node.integer("inverse", 0) != 0;
  const bool oneSided = node.integer("onesided", 0) != 0;
  made.toReal = inverse && oneSided;
  if (oneSided && made.parts != (inverse ? 2 : 1))
    return node.fail(inverse ? "makes a real signal of data that is not complex"
                             : "makes one side of a spectrum of complex data, "
                               "which has two");
  const int64_t extent = x[made.axis];
  FailureOr<int64_t> points =
      readNumber(node, 1, made.toReal ? 2 * (extent - 1) : extent);
  if (failed(points))
    return failure();
  if (*points < 1 || *points > (int64_t(1) << 24))
    return node.fail("transforms " + Twine(*points) + " points");
  const int64_t half = *points / 2 + 1;
  Waves &waves = made.waves;
  waves.points = *points;
  waves.rows = oneSided && !inverse ? half : *points;
  waves.columns = std::min(extent, made.toReal ? half : *points);
  waves.sign = inverse ? 1 : -1;
  waves.factors.assign(waves.columns, inverse ? 1.0 / double(*points) : 1.0);
  // The other side of a real signal's spectrum adds the same again.
  if (made.toReal)
    for (int64_t k = 1; k < waves.columns; ++k)
      if (2 * k != *points)
        waves.factors[k] *= 2;
  if (!rewrite::admitTable(node, 2 * waves.rows, waves.columns))
    return failure();
  return made;
}

LogicalResult lwcc::importDft(NodeImporter &node) {
  FailureOr<Transform> transform = readTransform(node);
  Value x = node.live(0);
  if (failed(transform) || !x)
    return failure();
  Waves &waves = transform->waves;
  const int64_t axis = transform->axis, last = shapeOf(x).size() - 1;
  Value sum;
  for (int64_t part = 0; part < transform->parts; ++part) {
    // A real signal's first number, and that of the highest frequency, are
    // real: what stands in their imaginary parts is not read.
    if (transform->toReal && part == 1) {
      waves.first = 1;
      if (2 * (waves.columns - 1) == waves.points)
        --waves.columns;
      if (waves.columns <= 1)
        break;
    }
    const int64_t columns = waves.columns - waves.first;
    std::vector<float> table; // of the real results, then the imaginary ones
    if (part == 0)
      waves.add(table, &Waves::cosine);
    else
      waves.add(table, &Waves::sine, -1);
    if (!transform->toReal && part == 0)
      waves.add(table, &Waves::sine);
    else if (!transform->toReal)
      waves.add(table, &Waves::cosine);
    Value numbers = rewrite::slice(
        node, rewrite::slice(node, x, axis, waves.first, columns), last, part,
        1);
    numbers = node.reshape(numbers, shapeOf(numbers).drop_back());
    const int64_t rows = int64_t(table.size()) / columns;
    Value y = rewrite::multiply(node, numbers, axis, rows, std::move(table));
    if (!y)
      return failure();
    sum = sum ? node.map("add", {sum, y}) : y;
  }
  Shape shape(shapeOf(sum));
  if (transform->toReal) {
    shape.push_back(1);
    return node.result(0, node.reshape(sum, shape));
  }
  // [.., 2 * rows, ..] becomes [.., rows, .., 2].
  shape[axis] = waves.rows;
  shape.insert(shape.begin() + axis, 2);
  Shape perm = to_vector(seq<int64_t>(0, shape.size()));
  perm.erase(perm.begin() + axis);
  perm.push_back(axis);
  return node.result(0,
                     rewrite::transpose(node, node.reshape(sum, shape), perm));
}

/// The factors of each frame's elements. Fails after reporting.
static FailureOr<std::vector<double>> readFrame(NodeImporter &node,
                                                int64_t extent) {
  const bool windowed = node.hasInput(2);
  HostRef window = node.constant(2);
  if (windowed && (!window || window->shape.size() != 1))
    return node.fail("needs a window of one dimension, known at compile time, "
                     "as its input '" +
                     node.input(2) + "'");
  FailureOr<int64_t> length =
      readNumber(node, 3, windowed ? window->size() : extent);
  if (failed(length))
    return failure();
  if (*length < 1 || *length > extent ||
      (windowed && *length != window->size()))
    return node.fail(
        "has frames of " + Twine(*length) + " elements of " + Twine(extent) +
        (windowed ? " and a window of " + Twine(window->size()) : Twine()));
  std::vector<double> factors(*length, 1.0);
  for (int64_t i = 0; windowed && i < *length; ++i)
    factors[i] = window->at(i);
  return factors;
}

LogicalResult lwcc::importStft(NodeImporter &node) {
  Shape x(node.shape(0));
  if (x.size() == 2)
    x.push_back(1);
  if (x.size() != 3 || x[2] != 1)
    return node.fail("has a signal of shape " + printShape(node.shape(0)) +
                     "; real signals are supported, [samples, length, 1]");
  FailureOr<int64_t> step = readNumber(node, 1, 1);
  FailureOr<std::vector<double>> frame = readFrame(node, x[1]);
  if (failed(step) || failed(frame))
    return failure();
  if (*step < 1)
    return node.fail("has frames every " + Twine(*step) + " elements");
  Waves waves;
  waves.points = waves.columns = frame->size();
  waves.rows =
      node.integer("onesided", 1) ? waves.points / 2 + 1 : waves.points;
  waves.sign = -1;
  waves.factors = std::move(*frame);
  if (!rewrite::admitTable(node, 2 * waves.rows, waves.columns))
    return failure();
  HostTensor table = HostTensor::empty(HostTensor::Kind::real,
                                       {2 * waves.rows, 1, 1, waves.columns});
  table.reals.clear();
  waves.add(table.reals, &Waves::cosine);
  waves.add(table.reals, &Waves::sine);
  Value signal = node.live(0), filters = node.stored(std::move(table));
  if (!signal || !filters)
    return failure();
  const int64_t frames = (x[1] - waves.columns) / *step + 1;
  auto type = node.tensorOf({x[0], 2 * waves.rows, 1, frames});
  Value y = node.create<train::ConvOp>(
      type, node.reshape(signal, {x[0], 1, 1, x[1]}), filters, Value(),
      ArrayRef<int64_t>{1, 1}, 1, ArrayRef<int64_t>{0, 0, 0, 0},
      ArrayRef<int64_t>{1, *step});
  y = node.reshape(y, {x[0], 2, waves.rows, frames});
  return node.result(0, rewrite::transpose(node, y, {0, 3, 2, 1}));
}
