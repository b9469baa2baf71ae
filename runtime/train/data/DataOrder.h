//===- DataOrder.h - Which image comes when ---------------------*- C++ -*-===//
//
// The order of an epoch is a permutation that depends on the seed and the epoch
// only, so that a resumed training goes on with the samples that were left. It
// is the Fisher-Yates shuffle (Durstenfeld, CACM 7(7), 1964) from the last
// element down: element i is swapped with floor(r * (i + 1) / 2^32), where r is
// the next 32-bit output of Philox (core/Philox.h) with stream "data order",
// step = epoch, and blocks from 0.
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

inline std::vector<uint32_t> dataOrder(int64_t images, bool shuffle,
                                       uint64_t seed, int64_t epoch) {
  assert(images <= int64_t(1) << 32 && "image numbers are 32 bits");
  std::vector<uint32_t> order(images);
  std::iota(order.begin(), order.end(), 0u);
  if (!shuffle)
    return order;
  uint32_t stream = streamOf("data order");
  uint64_t drawn = 0;
  Philox4 bits = {};
  for (int64_t i = images - 1; i > 0; --i, ++drawn) {
    if (drawn % 4 == 0)
      bits = philox(seed, drawn / 4, stream, static_cast<uint32_t>(epoch));
    uint64_t other = uint64_t(bits.v[drawn % 4]) * uint64_t(i + 1) >> 32;
    std::swap(order[i], order[other]);
  }
  return order;
}

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_DATAORDER_H
