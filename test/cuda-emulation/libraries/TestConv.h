//===- TestConv.h - Convolutions by their definition, for tests -*- C++ -*-===//
//
// All terms of a convolution, one after the other, over logical indices
// [n, c, h, w]: what the emulated cuDNN is compared with. Knows nothing of
// strides in memory.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_TESTCONV_H
#define LWCC_TEST_CUDAEMULATION_TESTCONV_H

#include "test/cuda-emulation/libraries/TestMemory.h"

#include <array>

namespace lwcc::emulation::test {

using Dims4 = std::array<int64_t, 4>;
using Doubles = std::vector<double>;

inline size_t elementsOf(const Dims4 &dims) {
  return static_cast<size_t>(dims[0] * dims[1] * dims[2] * dims[3]);
}

struct ConvCase {
  Dims4 x = {2, 4, 8, 8}, w = {6, 4, 3, 3}, y = {};
  Dims4 pad = {}; ///< top, left, bottom, right
  std::array<int64_t, 2> stride = {1, 1}, dilation = {1, 1};
  bool flips = false;

  /// Sets y by the window; false where it does not fit.
  bool close() {
    y = {x[0], w[0], 0, 0};
    for (size_t d = 0; d < 2; ++d) {
      int64_t room =
          x[2 + d] + pad[d] + pad[2 + d] - (w[2 + d] - 1) * dilation[d] - 1;
      if (room < 0)
        return false;
      y[2 + d] = room / stride[d] + 1;
    }
    return true;
  }

  /// Calls f(index into x, into w, into y) for every product.
  template <typename F>
  void forEachTerm(F f) const {
    const int64_t groups = x[1] / w[1], perGroup = w[0] / groups;
    size_t out = 0;
    for (int64_t n = 0; n < y[0]; ++n)
      for (int64_t k = 0; k < y[1]; ++k)
        for (int64_t p = 0; p < y[2]; ++p)
          for (int64_t q = 0; q < y[3]; ++q, ++out)
            for (int64_t c = 0; c < w[1]; ++c)
              for (int64_t r = 0; r < w[2]; ++r)
                for (int64_t s = 0; s < w[3]; ++s) {
                  int64_t h = p * stride[0] - pad[0] + r * dilation[0];
                  int64_t v = q * stride[1] - pad[1] + s * dilation[1];
                  if (h < 0 || h >= x[2] || v < 0 || v >= x[3])
                    continue;
                  int64_t channel = k / perGroup * w[1] + c;
                  int64_t row = flips ? w[2] - 1 - r : r,
                          column = flips ? w[3] - 1 - s : s;
                  f(static_cast<size_t>(
                        ((n * x[1] + channel) * x[2] + h) * x[3] + v),
                    static_cast<size_t>(((k * w[1] + c) * w[2] + row) * w[3] +
                                        column),
                    out);
                }
  }

  // Operands as floats over logical indices.
  Doubles forward(const Floats &xs, const Floats &ws) const {
    Doubles sums(elementsOf(y));
    forEachTerm([&](size_t i, size_t j, size_t o) {
      sums[o] += double(xs[i]) * double(ws[j]);
    });
    return sums;
  }
  Doubles gradInput(const Floats &ys, const Floats &ws) const {
    Doubles sums(elementsOf(x));
    forEachTerm([&](size_t i, size_t j, size_t o) {
      sums[i] += double(ys[o]) * double(ws[j]);
    });
    return sums;
  }
  Doubles gradWeight(const Floats &ys, const Floats &xs) const {
    Doubles sums(elementsOf(w));
    forEachTerm([&](size_t i, size_t j, size_t o) {
      sums[j] += double(ys[o]) * double(xs[i]);
    });
    return sums;
  }
};

/// Small, with every oddity now and then.
inline ConvCase randomConv(std::mt19937 &random) {
  for (;;) {
    ConvCase conv;
    const int64_t groups = random() % 3 ? 1 : between(random, 2, 3);
    const int64_t channels = between(random, 1, 5);
    conv.x = {between(random, 1, 3), groups * channels, between(random, 1, 9),
              between(random, 1, 9)};
    conv.w = {groups * between(random, 1, 4), channels, between(random, 1, 4),
              between(random, 1, 4)};
    for (int64_t &pad : conv.pad)
      pad = random() % 2 ? between(random, 0, 3) : 0;
    for (size_t d = 0; d < 2; ++d) {
      conv.stride[d] = random() % 2 ? between(random, 1, 3) : 1;
      conv.dilation[d] = random() % 3 ? 1 : between(random, 1, 3);
    }
    if (conv.close())
      return conv;
  }
}

/// Brings values over logical indices to where strides put them, `size` floats
/// in all; what lies between is NaN.
inline Floats scattered(const Floats &values, const Dims4 &dims,
                        const std::vector<int64_t> &strides) {
  auto [n, c, h, w] = dims;
  Floats memory(
      static_cast<size_t>((n - 1) * strides[0] + (c - 1) * strides[1] +
                          (h - 1) * strides[2] + (w - 1) * strides[3] + 1),
      __builtin_nanf(""));
  size_t at = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t k = 0; k < h; ++k)
        for (int64_t l = 0; l < w; ++l)
          memory[static_cast<size_t>(i * strides[0] + j * strides[1] +
                                     k * strides[2] + l * strides[3])] =
              values[at++];
  return memory;
}

/// The way back.
inline Floats gathered(const Floats &memory, const Dims4 &dims,
                       const std::vector<int64_t> &strides) {
  auto [n, c, h, w] = dims;
  Floats values;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < c; ++j)
      for (int64_t k = 0; k < h; ++k)
        for (int64_t l = 0; l < w; ++l)
          values.push_back(
              memory[static_cast<size_t>(i * strides[0] + j * strides[1] +
                                         k * strides[2] + l * strides[3])]);
  return values;
}

/// Strides in some order of the dimensions, with gaps now and then.
inline std::vector<int64_t> randomStrides(std::mt19937 &random,
                                          const Dims4 &dims) {
  std::vector<size_t> order = {0, 1, 2, 3};
  std::shuffle(order.begin(), order.end(), random);
  std::vector<int64_t> strides(4);
  int64_t next = 1;
  for (size_t d : order) {
    strides[d] = next + (random() % 4 ? 0 : between(random, 1, 3));
    next = strides[d] * dims[d];
  }
  return strides;
}

} // namespace lwcc::emulation::test

#endif // LWCC_TEST_CUDAEMULATION_TESTCONV_H
