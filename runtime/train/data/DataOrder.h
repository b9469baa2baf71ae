//===- DataOrder.h - Which image comes when ---------------------*- C++ -*-===//
//
// The order of an epoch is a permutation that depends on the seed and the epoch
// only, so that a resumed training goes on with the samples that were left. A
// permutation is the Fisher-Yates shuffle (Durstenfeld, CACM 7(7), 1964) from
// the last element down: element i is swapped with floor(r * (i + 1) / 2^32),
// where r is the next 32-bit output of Philox (core/Philox.h), with blocks from
// 0; that of an epoch has the stream "data order" and the epoch as its step.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_DATAORDER_H
#define LWCC_RUNTIME_TRAIN_DATA_DATAORDER_H

#include "runtime/core/Philox.h"

#include <cassert>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// The numbers below `images`, in their order.
inline std::vector<uint32_t> imageNumbers(int64_t images) {
  assert(images <= int64_t(1) << 32 && "image numbers are 32 bits");
  std::vector<uint32_t> numbers(images);
  std::iota(numbers.begin(), numbers.end(), 0u);
  return numbers;
}

inline std::vector<uint32_t> permutation(int64_t images, uint64_t seed,
                                         const char *streamName,
                                         uint32_t step) {
  std::vector<uint32_t> order = imageNumbers(images);
  uint32_t stream = streamOf(streamName);
  uint64_t drawn = 0;
  Philox4 bits = {};
  for (int64_t i = images - 1; i > 0; --i, ++drawn) {
    if (drawn % 4 == 0)
      bits = philox(seed, drawn / 4, stream, step);
    uint64_t other = uint64_t(bits.v[drawn % 4]) * uint64_t(i + 1) >> 32;
    std::swap(order[i], order[other]);
  }
  return order;
}

inline std::vector<uint32_t> dataOrder(int64_t images, bool shuffle,
                                       uint64_t seed, int64_t epoch) {
  return shuffle ? permutation(images, seed, "data order",
                               static_cast<uint32_t>(epoch))
                 : imageNumbers(images);
}

/// How many batches an epoch has. A last one that is not full counts if it is
/// kept.
inline int64_t batchesOf(int64_t images, int64_t batch, bool keepsLast) {
  return (images + (keepsLast ? batch - 1 : 0)) / batch;
}

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_DATAORDER_H
