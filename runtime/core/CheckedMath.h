//===- CheckedMath.h - Sizes that may come from a file ----------*- C++ -*-===//
//
// Sums and products of sizes that were read from files. A result that is
// negative or does not fit 64 bits is reported as invalid; the caller decides
// what that means. The header has no dependencies, so that the compiler and the
// readers of the trainer both use it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_CHECKEDMATH_H
#define LWCC_RUNTIME_CORE_CHECKEDMATH_H

#include <cstdint>
#include <optional>

namespace lwcc::rt {

/// a * b; nothing where a factor is negative or the product does not fit.
inline std::optional<int64_t> checkedProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  if (a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product))
    return std::nullopt;
  return product;
}

/// first * every one of `factors`. Nothing where the product of all that are
/// not zero does not fit, so that the order of the factors does not matter: 0
/// is no way around the check for whoever multiplies only some of them.
template <typename Range>
  requires requires(const Range &range) { range.begin(); }
std::optional<int64_t> checkedProduct(int64_t first, const Range &factors) {
  std::optional<int64_t> product = 1;
  bool zero = false;
  auto multiply = [&](int64_t factor) {
    if (factor == 0)
      zero = true;
    else if (product)
      product = checkedProduct(*product, factor);
  };
  multiply(first);
  for (int64_t factor : factors)
    multiply(factor);
  if (product && zero)
    return 0;
  return product;
}

/// a + b; nothing where one is negative or the sum does not fit.
inline std::optional<int64_t> checkedSum(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum))
    return std::nullopt;
  return sum;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_CHECKEDMATH_H
