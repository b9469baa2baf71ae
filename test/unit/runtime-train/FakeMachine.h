//===- FakeMachine.h - A machine of plain host memory -----------*- C++ -*-===//
//
// A machine (rt::Machine) on plain host memory, so that runtime/train is tested
// without a backend. An operator is a function. A lazy machine delays runs and
// asynchronous copies until the trainer waits for them: the longest that a GPU
// may use the trainer's buffers.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_RUNTIMETRAIN_FAKEMACHINE_H
#define LWCC_TEST_RUNTIMETRAIN_FAKEMACHINE_H

#include "runtime/core/Machine.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace lwcc::rt {

/// An operator of a fake sequence.
struct FakeOp {
  std::string layer, phase, name;
  std::vector<Tensor> results;
  std::function<void()> compute;
  int lane = 0;
};

/// The type that Machine.h declares and the backend defines.
struct Sequence {
  std::vector<FakeOp> ops;
};

class FakeMachine : public Machine {
public:
  FakeMachine(const MachineSpec &spec, bool lazy);

  /// Appends an operator to the sequence that is being recorded.
  void append(FakeOp op) { recording->ops.push_back(std::move(op)); }

  Lane &lane(int) override { std::abort(); }
  Event &event(int) override { std::abort(); }
  char *arena(int device) override { return arenas[device].data(); }
  Sequence *record(const char *name,
                   const std::function<void()> &body) override;
  void run(Sequence *sequence) override;
  void synchronize() override;
  void runObserved(Sequence *sequence, const Observer &after) override;
  /// Runs with a clock on which each operator takes 1.5 us.
  const std::vector<TracedCall> &runTraced(Sequence *sequence) override;
  void read(Tensor source, int device, void *host) override;
  void write(Tensor target, int device, const void *host) override;
  void writeAsync(Tensor target, int device, const void *host) override;
  int64_t readAsync(Tensor source, int device, void *host) override;
  Clock::time_point wait(int64_t ticket) override;
  void *hostAlloc(int64_t bytes) override;
  std::vector<MovedBytes> movedBytes() override { return {}; }
  const char *target() const override { return "fake"; }
  int threads(int lane) const override { return lane + 1; }
  std::string describe() const override { return "a fake machine"; }
  int64_t bytesHeld(int device) const override {
    return static_cast<int64_t>(arenas[device].size());
  }

  int recordings = 0;

private:
  void start(std::function<void()> work);

  bool lazy;
  std::vector<std::vector<char>> arenas;
  std::deque<std::vector<char>> pinned;
  std::deque<Sequence> sequences;
  std::deque<std::vector<TracedCall>> traces;
  Sequence *recording = nullptr;
  std::deque<std::function<void()>> pending;
  int64_t started = 0, finished = 0, clock = 0;
};

} // namespace lwcc::rt

#endif // LWCC_TEST_RUNTIMETRAIN_FAKEMACHINE_H
