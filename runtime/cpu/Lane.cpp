//===- Lane.cpp - The CPU backend's lanes and events ------------*- C++ -*-===//
//
// See Lane.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Lane.h"

#include <algorithm>

namespace lwcc::rt {

void CpuLane::layer(const char *name, const char *phase) {
  currentLayer = name;
  currentPhase = phase;
}

void CpuLane::append(const char *op, const Tensors &results,
                     std::function<void()> run, const Tensors &read) {
  Entry entry;
  entry.op = op;
  entry.results = results;
  entry.run = std::move(run);
  for (const Tensor &x : read)
    if (int from = deviceOf(x.data); from != device) {
      entry.received.push_back({from, device, x.bytes()});
      entry.read.push_back(x);
    }
  append(std::move(entry));
}

void CpuLane::append(Entry entry) {
  assert(recording && "operators are called inside Machine::record");
  entry.lane = this;
  entry.layer = currentLayer;
  entry.phase = currentPhase;
  if (entry.kind == Entry::work)
    entry.number = recording->operators++;
  recording->perLane[index].push_back(
      static_cast<int>(recording->entries.size()));
  recording->entries.push_back(std::move(entry));
}

void CpuLane::needWorkspace(int64_t bytes) { needed = std::max(needed, bytes); }

void CpuLane::beginRecording(Sequence &sequence) {
  recording = &sequence;
  currentLayer.clear();
  currentPhase.clear();
}

void CpuLane::endRecording(bool isLocal) {
  recording = nullptr;
  if (isLocal && needed > memory.bytes()) {
    memory = Arena(); // the old one first: never hold both
    memory = Arena(needed);
  }
}

void CpuEvent::record(Lane &lane) {
  Entry entry;
  entry.kind = Entry::record;
  entry.event = this;
  cpuLane(lane).append(std::move(entry));
}

void CpuEvent::wait(Lane &lane) {
  Entry entry;
  entry.kind = Entry::wait;
  entry.event = this;
  cpuLane(lane).append(std::move(entry));
}

} // namespace lwcc::rt
