//===- StepQueueTest.cpp - How many steps are under way -------------------===//

#include "runtime/train/loop/StepQueue.h"
#include "FakeMachine.h"
#include "FakeProgram.h"

#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

namespace {
/// Every step takes `step` on its clock.
class Timed : public FakeMachine {
public:
  using FakeMachine::FakeMachine;
  Clock::time_point wait(int64_t ticket) override {
    FakeMachine::wait(ticket);
    return now += step;
  }
  Clock::duration step = {};
  Clock::time_point now = Clock::time_point() + std::chrono::hours(1);
};

class StepQueueTest : public testing::Test {
protected:
  explicit StepQueueTest(bool lazy)
      : program(makeFakeProgram({4, 4, 2, 2})), machine(program.machine, lazy),
        batch(machine, program), queue(machine, program) {
    sequence =
        machine.record("train_step", [&] { program.trainStep(machine); });
  }
  /// As the trainer does; how many are under way when it is told to wait.
  int start() {
    int started = 0;
    for (; !queue.mustRetire(); ++started)
      queue.launch(sequence, batch, {});
    return started;
  }
  /// How many start in place of one that took this long.
  int startedAfter(Clock::duration step) {
    machine.step = step;
    queue.retire();
    return start();
  }
  Program program;
  Timed machine;
  Batch batch;
  StepQueue queue;
  Sequence *sequence = nullptr;
};

class StepQueueLazily : public StepQueueTest {
protected:
  StepQueueLazily() : StepQueueTest(true) {}
};

/// A machine that has read when readAsync returns.
class StepQueueEagerly : public StepQueueTest {
protected:
  StepQueueEagerly() : StepQueueTest(false) {}
};
} // namespace

TEST_F(StepQueueLazily, AThirdStepStartsWhileStepsAreShort) {
  EXPECT_EQ(start(), 2);
  EXPECT_EQ(startedAfter(std::chrono::seconds(1)), 1);
  EXPECT_EQ(startedAfter(std::chrono::milliseconds(1)), 2);
  EXPECT_EQ(startedAfter(std::chrono::milliseconds(1)), 1);
  EXPECT_EQ(startedAfter(std::chrono::seconds(1)), 0); // two are under way
  EXPECT_EQ(startedAfter(std::chrono::seconds(1)), 1);
}

TEST_F(StepQueueEagerly, AStepThatIsOverIsRetired) {
  EXPECT_EQ(start(), 1);
  EXPECT_EQ(startedAfter(std::chrono::milliseconds(1)), 1);
}
