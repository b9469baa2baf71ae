//===- SoftmaxRow.cpp - Exponentials of one row ---------------------------===//
//
// Sums and maxima have a fixed number of parts, side by side, that are combined
// in order: as many as the widest vectors take at once.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/SoftmaxRow.h"
#include "runtime/core/Exponentials.h"
#include "runtime/core/HostDevice.h"
#include "runtime/cpu/Parallel.h"

#include <cmath>
#include <limits>

namespace lwcc::rt {

static constexpr int parts = 16;

/// NaN is found by whoever adds the exponentials.
LWCC_CLONES static float largestOf(const float *x, int64_t n) {
  float most[parts];
  for (float &each : most)
    each = -std::numeric_limits<float>::infinity();
  int64_t i = 0;
  for (; i + parts <= n; i += parts)
    LWCC_NEIGHBOURS
  for (int p = 0; p < parts; ++p)
    most[p] = most[p] < x[i + p] ? x[i + p] : most[p];
  for (; i < n; ++i)
    most[0] = most[0] < x[i] ? x[i] : most[0];
  float largest = most[0];
  for (float each : most)
    largest = largest < each ? each : largest;
  return largest;
}

/// Gives each exponential to keep(i, e), and returns their sum.
template <typename Keep>
static inline double exponentials(const float *x, int64_t n, float largest,
                                  const Keep &keep) {
  double sums[parts] = {};
  int64_t i = 0;
  for (; i + parts <= n; i += parts) {
    float each[parts];
    LWCC_NEIGHBOURS
    for (int p = 0; p < parts; ++p) {
      each[p] = branchless::exp(x[i + p] - largest);
      keep(i + p, each[p]);
    }
    LWCC_NEIGHBOURS
    for (int p = 0; p < parts; ++p)
      sums[p] += each[p];
  }
  double sum = 0;
  for (double part : sums)
    sum += part;
  for (; i < n; ++i) {
    const float e = branchless::exp(x[i] - largest);
    keep(i, e);
    sum += e;
  }
  return sum;
}

LWCC_CLONES static double sumOfExponentials(const float *x, int64_t n,
                                            float largest) {
  return exponentials(x, n, largest, [](int64_t, float) {});
}

LWCC_CLONES static double writeExponentials(float *to, const float *x,
                                            int64_t n, float largest) {
  return exponentials(x, n, largest, [to](int64_t i, float e) { to[i] = e; });
}

LWCC_CLONES static void multiply(float *x, int64_t n, float factor) {
  for (int64_t i = 0; i < n; ++i)
    x[i] *= factor;
}

LWCC_CLONES static void writeProbabilities(float *to, const float *x, int64_t n,
                                           float largest, float inverse) {
  LWCC_NEIGHBOURS
  for (int64_t i = 0; i < n; ++i)
    to[i] = branchless::exp(x[i] - largest) * inverse;
}

LWCC_CLONES static void writeLogarithms(float *to, const float *x, int64_t n,
                                        float largest, float logSum) {
  LWCC_NEIGHBOURS
  for (int64_t i = 0; i < n; ++i)
    to[i] = x[i] - largest - logSum;
}

SoftmaxRow::SoftmaxRow(const float *x, int64_t step, int64_t length)
    : x(x), length(length) {
  if (step != 1) {
    gathered.resize(length);
    for (int64_t i = 0; i < length; ++i)
      gathered[i] = x[i * step];
    this->x = gathered.data();
  }
  largest = largestOf(this->x, length);
  sum = sumOfExponentials(this->x, length, largest);
}

/// Calls write(elements next to one another), which go where they should.
template <typename Write>
static void scatter(float *to, int64_t step, int64_t length,
                    const Write &write) {
  if (step == 1)
    return write(to);
  std::vector<float> row(length);
  write(row.data());
  for (int64_t i = 0; i < length; ++i)
    to[i * step] = row[i];
}

void SoftmaxRow::probabilities(float *to, int64_t toStep) const {
  const auto inverse = static_cast<float>(1.0 / sum);
  scatter(to, toStep, length, [&](float *row) {
    writeProbabilities(row, x, length, largest, inverse);
  });
}

void SoftmaxRow::logProbabilities(float *to, int64_t toStep) const {
  const auto logSum = static_cast<float>(std::log(sum));
  scatter(to, toStep, length, [&](float *row) {
    writeLogarithms(row, x, length, largest, logSum);
  });
}

SoftmaxScale softmaxRow(float *to, const float *x, int64_t length) {
  const float largest = largestOf(x, length);
  const double sum = writeExponentials(to, x, length, largest);
  const auto inverse = static_cast<float>(1.0 / sum);
  multiply(to, length, inverse);
  return {largest, inverse};
}

void softmaxRow(float *to, const float *x, int64_t length, SoftmaxScale scale) {
  writeProbabilities(to, x, length, scale.largest, scale.inverse);
}

LWCC_CLONES static double sumOfProducts(const float *a, const float *b,
                                        int64_t n) {
  double sums[parts] = {};
  int64_t i = 0;
  for (; i + parts <= n; i += parts)
    LWCC_NEIGHBOURS
  for (int p = 0; p < parts; ++p)
    sums[p] += static_cast<double>(a[i + p]) * b[i + p];
  double sum = 0;
  for (double part : sums)
    sum += part;
  for (; i < n; ++i)
    sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

LWCC_CLONES static void writeGradient(float *dx, const float *dy,
                                      const float *y, int64_t n, float sum) {
  LWCC_NEIGHBOURS
  for (int64_t i = 0; i < n; ++i)
    dx[i] = y[i] * (dy[i] - sum);
}

void softmaxRowGradient(float *dx, int64_t dxStep, const float *dy,
                        int64_t dyStep, const float *y, int64_t yStep,
                        int64_t length) {
  if (dxStep == 1 && dyStep == 1 && yStep == 1)
    return writeGradient(dx, dy, y, length,
                         static_cast<float>(sumOfProducts(dy, y, length)));
  double sum = 0;
  for (int64_t i = 0; i < length; ++i)
    sum += static_cast<double>(dy[i * dyStep]) * y[i * yStep];
  for (int64_t i = 0; i < length; ++i)
    dx[i * dxStep] = y[i * yStep] * (dy[i * dyStep] - static_cast<float>(sum));
}

} // namespace lwcc::rt
