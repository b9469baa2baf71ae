//===- GlobalTensors.cpp - Logical tensors on the host --------------------===//

#include "runtime/train/state/GlobalTensors.h"

#include "runtime/core/HostCopy.h"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <functional>

namespace lwcc::rt::train {

static int64_t product(const std::vector<int64_t> &dims, size_t from = 0) {
  int64_t elements = 1;
  for (size_t d = from; d < dims.size(); ++d)
    elements *= dims[d];
  return elements;
}

int64_t elementsOf(const GlobalTensor &tensor) { return product(tensor.dims); }

DType typeOf(const GlobalTensor &tensor) {
  assert(!tensor.shards.empty() && "a tensor that lies nowhere");
  return tensor.shards.front().ref.type;
}

int64_t bytesOf(const GlobalTensor &tensor) {
  return elementsOf(tensor) * sizeOf(typeOf(tensor));
}

/// Calls `copy(inGlobal, inShard, bytes)`, offsets in bytes, for every run of
/// the shard that is contiguous in both. Trailing dimensions that the shard
/// covers wholly are one run with the first that it does not.
static void
forEachRun(const GlobalTensor &tensor, const Shard &shard,
           const std::function<void(int64_t, int64_t, int64_t)> &copy) {
  const std::vector<int64_t> &dims = shard.ref.dims;
  assert(dims.size() == tensor.dims.size() &&
         shard.begin.size() == dims.size() && "a shard has the tensor's rank");
  if (product(dims) == 0)
    return;
  size_t inner = dims.size();
  while (inner > 0 && dims[inner - 1] == tensor.dims[inner - 1])
    --inner;
  // Dimensions before `outer` are walked; those from `outer` on are one run.
  size_t outer = inner > 0 ? inner - 1 : 0;
  int64_t size = sizeOf(shard.ref.type);
  int64_t run = product(dims, outer) * size;
  std::vector<int64_t> index(outer, 0);
  for (int64_t inShard = 0;; inShard += run) {
    int64_t inGlobal = 0;
    for (size_t d = 0; d < dims.size(); ++d)
      inGlobal = inGlobal * tensor.dims[d] + shard.begin[d] +
                 (d < outer ? index[d] : 0);
    copy(inGlobal * size, inShard, run);
    size_t d = outer;
    while (d > 0 && ++index[d - 1] == dims[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

/// Where a shard's elements start if they are contiguous in the whole tensor,
/// in bytes; else -1.
static int64_t contiguousOffset(const GlobalTensor &tensor,
                                const Shard &shard) {
  int64_t offset = 0, runs = 0;
  forEachRun(tensor, shard, [&](int64_t inGlobal, int64_t inShard, int64_t) {
    if (inShard == 0)
      offset = inGlobal;
    ++runs;
  });
  return runs <= 1 ? offset : -1;
}

static int64_t shardBytes(const Shard &shard) {
  return product(shard.ref.dims) * sizeOf(shard.ref.type);
}

void readGlobal(Machine &machine, const GlobalTensor &tensor, void *host) {
  char *whole = static_cast<char *>(host);
  std::vector<char> dense;
  for (size_t i = 0; i < tensor.shards.size(); ++i) {
    const Shard &shard = tensor.shards[i];
    bool replica = std::any_of(tensor.shards.begin(), tensor.shards.begin() + i,
                               [&](const Shard &earlier) {
                                 return earlier.begin == shard.begin &&
                                        earlier.ref.dims == shard.ref.dims;
                               });
    if (replica)
      continue;
    Tensor view = shard.ref.on(machine);
    if (int64_t offset = contiguousOffset(tensor, shard); offset >= 0) {
      machine.read(view, shard.ref.device, whole + offset);
      continue;
    }
    dense.resize(shardBytes(shard));
    machine.read(view, shard.ref.device, dense.data());
    forEachRun(tensor, shard, [&](int64_t to, int64_t from, int64_t bytes) {
      std::memcpy(whole + to, dense.data() + from, bytes);
    });
  }
}

void writeGlobal(Machine &machine, const GlobalTensor &tensor,
                 const void *host) {
  const char *whole = static_cast<const char *>(host);
  std::vector<char> dense;
  for (const Shard &shard : tensor.shards) {
    Tensor view = shard.ref.on(machine);
    if (int64_t offset = contiguousOffset(tensor, shard); offset >= 0) {
      machine.write(view, shard.ref.device, whole + offset);
      continue;
    }
    dense.resize(shardBytes(shard));
    forEachRun(tensor, shard, [&](int64_t from, int64_t to, int64_t bytes) {
      std::memcpy(dense.data() + to, whole + from, bytes);
    });
    machine.write(view, shard.ref.device, dense.data());
  }
}

/// The shard that holds the same elements, in the same order, and comes first.
static size_t firstReplica(const GlobalTensor &tensor, size_t shard) {
  auto same = [&](const Shard &other) {
    const Shard &mine = tensor.shards[shard];
    return other.begin == mine.begin && other.ref.dims == mine.ref.dims &&
           other.ref.layout == mine.ref.layout;
  };
  return std::find_if(tensor.shards.begin(), tensor.shards.end(), same) -
         tensor.shards.begin();
}

StagedTensor::StagedTensor(Machine &machine, const GlobalTensor &tensor)
    : tensor(&tensor) {
  for (size_t i = 0; i < tensor.shards.size(); ++i) {
    const Shard &shard = tensor.shards[i];
    machine.expectWrites(shard.ref.on(machine), shard.ref.device);
    size_t first = firstReplica(tensor, i);
    memory.push_back(
        first < i ? memory[first]
                  : static_cast<char *>(machine.hostAlloc(shardBytes(shard))));
  }
}

StagedTensor::Views StagedTensor::viewsOf(size_t number, int64_t index,
                                          void *elements) const {
  const Shard &shard = tensor->shards[number];
  std::vector<int64_t> whole = tensor->dims, part = shard.ref.dims,
                       inShard(part.size(), 0), inPart = shard.begin;
  inShard[0] = index - shard.begin[0];
  inPart[0] = 0;
  if (inShard[0] < 0 || inShard[0] >= part[0])
    return {};
  whole[0] = part[0] = 1;
  int rank = static_cast<int>(whole.size());
  Tensor stored(memory[number], shard.ref.type, shard.ref.dims.data(), rank,
                shard.ref.layout);
  Tensor rowMajor(elements, shard.ref.type, whole.data(), rank, Layout::dense);
  return {windowOf(stored, inShard.data(), part.data()),
          windowOf(rowMajor, inPart.data(), part.data())};
}

void StagedTensor::put(int64_t index, const void *elements) {
  for (size_t i = 0; i < memory.size(); ++i) {
    if (firstReplica(*tensor, i) != i)
      continue;
    if (Views at = viewsOf(i, index, const_cast<void *>(elements)); at.inShard)
      copyOnHost(at.inShard, at.inPart);
  }
}

void StagedTensor::get(int64_t index, void *elements) const {
  for (size_t i = 0; i < memory.size(); ++i)
    if (Views at = viewsOf(i, index, elements); at.inShard)
      copyOnHost(at.inPart, at.inShard);
}

void StagedTensor::writeAsync(Machine &machine) const {
  for (size_t i = 0; i < memory.size(); ++i) {
    const Shard &shard = tensor->shards[i];
    if (machine.isLocal(shard.ref.device))
      machine.writeAsync(shard.ref.on(machine), shard.ref.device, memory[i]);
  }
}

} // namespace lwcc::rt::train
