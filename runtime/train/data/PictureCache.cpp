//===- PictureCache.cpp - Decoded pictures that stay in memory ------------===//

#include "runtime/train/data/PictureCache.h"

#include "runtime/core/SystemMemory.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace lwcc::rt::train {

/// Memory is asked for in blocks, so that the system is asked rarely how much
/// it has.
static constexpr int64_t blockBytes = int64_t(64) << 20;

bool PictureMemory::mayTake(int64_t bytes) const {
  if (limit >= 0)
    return taken + bytes <= limit;
  const SystemMemory host = systemMemory();
  return host.available - bytes >= host.total / 2;
}

char *PictureMemory::take(int64_t bytes) {
  std::lock_guard lock(mutex);
  if (isFull)
    return nullptr;
  if (bytes > left) {
    int64_t size = std::max(blockBytes, bytes);
    if (limit >= 0)
      size = std::max(std::min(size, limit - taken), bytes);
    std::unique_ptr<char[]> block;
    if (mayTake(size))
      block.reset(new (std::nothrow) char[size]);
    if (!block) {
      isFull = true;
      return nullptr;
    }
    next = block.get();
    left = size;
    taken += size;
    blocks.push_back(std::move(block));
  }
  left -= bytes;
  return std::exchange(next, next + bytes);
}

namespace {
class PictureCache final : public DataSource {
public:
  PictureCache(std::unique_ptr<DataSource> source,
               std::shared_ptr<PictureMemory> memory)
      : source(std::move(source)), memory(std::move(memory)),
        kept(this->source->size()) {
    remark = this->source->remark;
    isOwnTarget = this->source->isOwnTarget;
  }

  int64_t size() const override { return source->size(); }
  SampleFormat format() const override { return source->format(); }
  int32_t label(int64_t index) const override { return source->label(index); }
  void labels(int64_t index, std::span<int32_t> out) const override {
    source->labels(index, out);
  }
  void targets(int64_t index, std::span<float> out) const override {
    source->targets(index, out);
  }
  std::string describe() const override { return source->describe(); }
  std::string nameOf(int64_t index) const override {
    return source->nameOf(index);
  }
  std::vector<std::string> classNames() const override {
    return source->classNames();
  }
  bool isDecoded() const override { return true; }

  void read(int64_t index, Sample &sample) const override {
    if (const char *picture = kept[index].load(std::memory_order_acquire)) {
      std::memcpy(&sample.format, picture, sizeof(SampleFormat));
      sample.data = picture + sizeof(SampleFormat);
      return;
    }
    source->read(index, sample);
    const int64_t bytes = sample.format.bytes();
    char *picture = memory->take(int64_t(sizeof(SampleFormat)) + bytes);
    if (!picture)
      return;
    std::memcpy(picture, &sample.format, sizeof(SampleFormat));
    std::memcpy(picture + sizeof(SampleFormat), sample.data, bytes);
    // Where two threads have read the same one, either copy serves.
    kept[index].store(picture, std::memory_order_release);
  }

private:
  std::unique_ptr<DataSource> source;
  std::shared_ptr<PictureMemory> memory;
  /// Of each sample, its format and then its pixels; null if it is not kept.
  mutable std::vector<std::atomic<const char *>> kept;
};
} // namespace

static_assert(std::is_trivially_copyable_v<SampleFormat>);

std::unique_ptr<DataSource> keepDecoded(std::unique_ptr<DataSource> pictures,
                                        std::shared_ptr<PictureMemory> memory) {
  return std::make_unique<PictureCache>(std::move(pictures), std::move(memory));
}

} // namespace lwcc::rt::train
