//===- SoftmaxRow.h - Exponentials of one row -------------------*- C++ -*-===//
//
// What softmax and the losses of class scores need of a row: its largest
// element, the sum of the exponentials below that, and with these the row's
// probabilities or their logarithms. Elements are float, the sum is double.
// Elements are computed in vectors, for which a row whose elements are not next
// to one another is gathered; a row's bits depend on its length alone.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_SOFTMAXROW_H
#define LWCC_RUNTIME_CPU_SOFTMAXROW_H

#include <cstdint>
#include <vector>

namespace lwcc::rt {

struct SoftmaxRow {
  /// Elements x[0], x[step], ...
  SoftmaxRow(const float *x, int64_t step, int64_t length);
  SoftmaxRow(const SoftmaxRow &) = delete; // x may point into it
  SoftmaxRow &operator=(const SoftmaxRow &) = delete;

  /// Writes the row's probabilities, or their logarithms. `to` may be the row.
  void probabilities(float *to, int64_t toStep) const;
  void logProbabilities(float *to, int64_t toStep) const;

  const float *x; ///< elements next to one another
  int64_t length;
  float largest;
  double sum; ///< of e^(x - largest)

private:
  std::vector<float> gathered; ///< where elements are not
};

/// What a row's probabilities are made with: e^(x - largest) * inverse.
struct SoftmaxScale {
  float largest, inverse;
};

/// Writes the probabilities of a row, which may be the row. Elements are next
/// to one another; each exponential is computed once.
SoftmaxScale softmaxRow(float *to, const float *x, int64_t length);
/// The same where the scale is known.
void softmaxRow(float *to, const float *x, int64_t length, SoftmaxScale scale);

/// The gradient of a row's input, given that of its probabilities `y`.
/// Everything at a distance of its step; `dx` may be `dy`.
void softmaxRowGradient(float *dx, int64_t dxStep, const float *dy,
                        int64_t dyStep, const float *y, int64_t yStep,
                        int64_t length);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_SOFTMAXROW_H
