//===- Exponentials.h - exp, tanh and erf without branches ------*- C++ -*-===//
//
// For the CPU, where the C library's functions take an element at a time: these
// are inlined into loops, which compilers then vectorize. They are made of
// sums, products and comparisons alone, so that an element has the same bits in
// vectors of any width, and in every program that does not contract products
// and sums. A vector library's functions have not.
//
// Errors are at most 1 unit in the last place for exp, 2 for tanh and 3 for
// erf. Infinities, zeros and NaN are as in the C library. Coefficients are of
// polynomials with the least relative error over their range.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_EXPONENTIALS_H
#define LWCC_RUNTIME_CORE_EXPONENTIALS_H

#include "runtime/core/HostDevice.h"

#include <bit>
#include <cstdint>

namespace lwcc::rt::branchless {

/// 2^n, -126 <= n <= 127.
LWCC_HD float powerOfTwo(int32_t n) {
  return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}

/// 2^n e^r, with n the integer next to x / ln 2.
LWCC_HD float exp(float x) {
  // Beyond, it is 0 or infinite. NaN fails both comparisons, and stays.
  x = x < -105.0f ? -105.0f : x;
  x = x > 89.0f ? 89.0f : x;
  // Numbers of this size are integers: adding it rounds.
  constexpr float large = 12582912.0f; // 1.5 * 2^23
  const float rounded = x * 1.44269504f + large;
  const float n = rounded - large;
  // ln 2 in two parts; the first has so few bits that n times it is exact.
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 0.0013814189f;
  p = p * r + 0.00836891402f;
  p = p * r + 0.0416684076f;
  p = p * r + 0.166665196f;
  p = p * r + 0.49999994f;
  p = p * (r * r) + r + 1.0f;
  // In two steps, since 2^n may be beyond what a float holds.
  const int32_t whole =
      std::bit_cast<int32_t>(rounded) - std::bit_cast<int32_t>(large);
  const int32_t half = whole >> 1;
  return p * powerOfTwo(half) * powerOfTwo(whole - half);
}

/// `magnitude` with the sign of x.
LWCC_HD float withSignOf(float magnitude, float x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) |
                              (std::bit_cast<uint32_t>(x) & 0x80000000u));
}

LWCC_HD float magnitudeOf(float x) {
  return std::bit_cast<float>(std::bit_cast<uint32_t>(x) & 0x7fffffffu);
}

/// A polynomial near 0, else 1 - 2 / (e^2x + 1).
LWCC_HD float tanh(float x) {
  const float a = magnitudeOf(x), t = a * a;
  float p = -0.00571703678f;
  p = p * t + 0.0206505787f;
  p = p * t - 0.0537434965f;
  p = p * t + 0.133314908f;
  p = p * t - 0.333332837f;
  const float small = a + a * (t * p);
  const float other = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return withSignOf(a < 0.625f ? small : other, x);
}

/// A polynomial near 0, else 1 - e^-q(x), with q a polynomial.
LWCC_HD float erf(float x) {
  float a = magnitudeOf(x);
  a = a > 4.2f ? 4.2f : a; // 1 beyond
  const float t = a * a;
  float p = 7.85385782e-05f;
  p = p * t - 0.000801019254f;
  p = p * t + 0.00518832775f;
  p = p * t - 0.026853811f;
  p = p * t + 0.112835854f;
  p = p * t - 0.37612626f;
  p = p * t + 0.128379166f;
  const float small = a + a * p;
  float q = -9.10549431e-08f;
  q = q * a + 2.29955967e-05f;
  q = q * a - 0.000449398474f;
  q = q * a + 0.00423237029f;
  q = q * a - 0.0252670199f;
  q = q * a + 0.108496509f;
  q = q * a + 0.633156538f;
  q = q * a + 1.12960732f;
  q = q * a - 0.000193706292f;
  const float other = 1.0f - exp(-q);
  return withSignOf(a < 1.0f ? small : other, x);
}

} // namespace lwcc::rt::branchless

#endif // LWCC_RUNTIME_CORE_EXPONENTIALS_H
