//===- PictureCache.h - Decoded pictures that stay in memory ----*- C++ -*-===//
//
// A training sees every picture once an epoch. From the second epoch on those
// need not be decoded again whose pixels were kept. Which are kept: those that
// are read first, as long as there is memory. None is given up for another,
// since each of them is read again an epoch later.
//
// Pixels are kept as they are decoded. What a training sees of them, which may
// change from epoch to epoch, is made of them anew (Transform.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_PICTURECACHE_H
#define LWCC_RUNTIME_TRAIN_DATA_PICTURECACHE_H

#include "runtime/train/data/DataSource.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lwcc::rt::train {

/// Memory that is only taken, never given back, until it is destroyed.
class PictureMemory {
public:
  /// At most `limit` bytes. Below 0: as long as half of the machine's memory
  /// stays available, to whomever.
  explicit PictureMemory(int64_t limit) : limit(limit) {}

  /// Room for so many bytes; null when there is none, from then on. Any thread
  /// may call it.
  char *take(int64_t bytes);

private:
  bool mayTake(int64_t bytes) const;

  const int64_t limit;
  std::mutex mutex;
  // Guarded by mutex.
  std::vector<std::unique_ptr<char[]>> blocks;
  char *next = nullptr; ///< in the last block
  int64_t left = 0;     ///< bytes there
  int64_t taken = 0;    ///< bytes of all blocks
  bool isFull = false;
};

/// The same samples, of a source of pictures; those that were read are kept in
/// `memory`, which others may use, too.
std::unique_ptr<DataSource> keepDecoded(std::unique_ptr<DataSource> pictures,
                                        std::shared_ptr<PictureMemory> memory);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_PICTURECACHE_H
