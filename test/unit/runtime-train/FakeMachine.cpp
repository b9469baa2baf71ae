//===- FakeMachine.cpp - A machine of plain host memory -------------------===//

#include "FakeMachine.h"

#include <cstdlib>
#include <cstring>

namespace lwcc::rt {

FakeMachine::FakeMachine(const MachineSpec &spec, bool lazy) : lazy(lazy) {
  for (const DeviceSpec &device : spec.devices)
    arenas.emplace_back(device.arenaBytes);
}

/// Tests choose laziness by environment, since the trainer makes the machine.
std::unique_ptr<Machine> Machine::create(const MachineSpec &spec,
                                         const MachineOptions &) {
  return std::make_unique<FakeMachine>(spec, std::getenv("FAKE_LAZY"));
}

Sequence *FakeMachine::record(const char *, const std::function<void()> &body) {
  sequences.emplace_back();
  recording = &sequences.back();
  body();
  ++recordings;
  return recording;
}

void FakeMachine::start(std::function<void()> work) {
  ++started;
  pending.push_back(std::move(work));
  if (!lazy)
    synchronize();
}

void FakeMachine::synchronize() { wait(started); }

Clock::time_point FakeMachine::wait(int64_t ticket) {
  for (; finished < ticket; ++finished) {
    pending.front()();
    pending.pop_front();
  }
  return Clock::now();
}

void FakeMachine::run(Sequence *sequence) {
  start([=] {
    for (FakeOp &op : sequence->ops)
      op.compute();
  });
}

void FakeMachine::runObserved(Sequence *sequence, const Observer &after) {
  synchronize();
  for (FakeOp &op : sequence->ops) {
    op.compute();
    after(op.layer.c_str(), op.phase.c_str(), op.name.c_str(),
          op.results.data(), static_cast<int>(op.results.size()));
  }
}

const std::vector<TracedCall> &FakeMachine::runTraced(Sequence *sequence) {
  std::vector<TracedCall> &calls = traces.emplace_back();
  start([=, this, &calls] {
    for (FakeOp &op : sequence->ops) {
      op.compute();
      calls.push_back({op.lane, op.layer.c_str(), op.phase.c_str(),
                       op.name.c_str(), clock, clock + 1500});
      clock += 1500;
    }
  });
  return calls;
}

/// Between strided and dense row-major elements of up to four bytes.
static void copyElements(const Tensor &tensor, char *dense, bool toDense) {
  int64_t size = sizeOf(tensor.type);
  for (int64_t i = 0; i < tensor.elements(); ++i) {
    int64_t rest = i, offset = 0;
    for (int d = tensor.rank - 1; d >= 0; --d) {
      offset += rest % tensor.dim[d] * tensor.stride[d];
      rest /= tensor.dim[d];
    }
    char *element = static_cast<char *>(tensor.data) + offset * size;
    if (toDense)
      std::memcpy(dense + i * size, element, size);
    else
      std::memcpy(element, dense + i * size, size);
  }
}

void FakeMachine::read(Tensor source, int, void *host) {
  synchronize();
  copyElements(source, static_cast<char *>(host), true);
}

void FakeMachine::write(Tensor target, int, const void *host) {
  synchronize();
  copyElements(target, const_cast<char *>(static_cast<const char *>(host)),
               false);
}

void FakeMachine::writeAsync(Tensor target, int, const void *host) {
  start([=] { std::memcpy(target.data, host, target.bytes()); });
}

int64_t FakeMachine::readAsync(Tensor source, int, void *host) {
  start([=] { std::memcpy(host, source.data, source.bytes()); });
  return lazy ? started : 0;
}

void *FakeMachine::hostAlloc(int64_t bytes) {
  pinned.emplace_back(bytes);
  return pinned.back().data();
}

} // namespace lwcc::rt
