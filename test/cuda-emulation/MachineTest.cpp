//===- MachineTest.cpp - The order of runs and inputs on CUDA -------------===//
//
// The machine and the trainer's queue of steps on streams that a random
// scheduler runs (World.h): every step must see its own batch, labels and
// scalars from its first kernel to its last, on every device, and its loss must
// be there when its ticket is over. Then the waits between two streams are left
// out, for each two that there are, which must be seen to go wrong, or this
// test would prove nothing.
//
//===----------------------------------------------------------------------===//

#include "World.h"
#include "runtime/cuda/CudaMachine.h"
#include "runtime/train/loop/StepQueue.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::train;
using emulation::World;

namespace {

/// On every device one lane that computes; on the first one more.
class FakeProgram {
public:
  static constexpr int64_t imagesOfDevice = 2;

  explicit FakeProgram(int count) : devices(count) {
    program.batch = count * imagesOfDevice;
    program.machine.devices.resize(count);
    program.machine.events = count;
    program.inputs.push_back({{"x", {program.batch, 3, 72, 40}, {}}});
    program.labels = {"labels", {program.batch}, {}};
    for (int d = 0; d < count; ++d) {
      program.machine.lanes.push_back({d, "compute"});
      program.inputs[0].shards.push_back(
          {place(d, {imagesOfDevice, 3, 72, 40}, DType::f32, Layout::nhwc),
           {d * imagesOfDevice, 0, 0, 0}});
      program.labels.shards.push_back(
          {place(d, {imagesOfDevice}, DType::i32), {d * imagesOfDevice}});
      program.scalars.push_back(place(d, {64}, DType::u8));
      sums.push_back(place(d, {3}));
    }
    program.machine.lanes.push_back({0, "count"});
    program.loss_value = place(0, {});
    program.correct = place(0, {2});
    program.trainStep = [this](Machine &machine) { step(machine); };
  }

  /// What a step gives whose images, label and number these are, behind one
  /// with images of `before`.
  float lossOf(float image, float before, int32_t label, uint32_t step) const {
    return devices * (2 * image + before + label + step);
  }

  Program program;
  const bool *held = nullptr; ///< the first kernel of a step

private:
  TensorRef place(int device, std::vector<int64_t> dims,
                  DType type = DType::f32, Layout layout = Layout::dense) {
    int64_t &end = program.machine.devices[device].arenaBytes;
    TensorRef ref{device, end, type, std::move(dims), layout};
    int64_t bytes = sizeOf(type);
    for (int64_t extent : ref.dims)
      bytes *= extent;
    end += (bytes + 255) / 256 * 256;
    return ref;
  }

  static void kernel(Lane &on, std::function<void()> work,
                     const bool *held = nullptr) {
    cuda::CudaLane &lane = cuda::cudaLane(on);
    lane.append("kernel", {}, [&lane, work, held] {
      if (lane.isRunning())
        emulation::world().launch(lane.stream, work, held);
    });
  }

  /// The input is read by the first kernel and by the last, which is after all
  /// that others wait for; what that one reads is in the next step's loss.
  void step(Machine &machine) {
    for (int d = devices - 1; d >= 0; --d) {
      Lane &lane = machine.lane(d);
      Tensor x = program.inputs[0].shards[d].ref.on(machine);
      auto *labels = program.labels.shards[d].ref.on(machine).as<int32_t>();
      auto *scalars = program.scalars[d].on(machine).as<StepScalars>();
      auto *sum = sums[d].on(machine).as<float>();
      const float *first = x.as<float>(), *last = first + x.elements() - 1;
      kernel(lane, [=] { sum[0] = *first; }, held);
      kernel(lane, [=] {
        sum[1] = sum[0] + *last + sum[2] + labels[1] + scalars->step;
      });
      if (d > 0)
        machine.event(d).record(lane);
      else
        gather(machine);
      kernel(lane, [=] { sum[2] = *last; });
    }
  }

  void gather(Machine &machine) {
    Lane &lane = machine.lane(0), &counting = machine.lane(devices);
    for (int d = 1; d < devices; ++d)
      machine.event(d).wait(lane);
    auto *loss = program.loss_value.on(machine).as<float>();
    auto *correct = program.correct.on(machine).as<float>();
    auto *labels = program.labels.shards[0].ref.on(machine).as<int32_t>();
    kernel(lane, [=, this, &machine] {
      *loss = 0;
      for (const TensorRef &ref : sums)
        *loss += ref.on(machine).as<float>()[1];
    });
    machine.event(0).record(lane);
    kernel(counting, [=] { correct[0] = labels[0]; });
    machine.event(0).wait(counting);
    kernel(counting, [=] { correct[1] = *loss; });
  }

  const int devices;
  std::vector<TensorRef> sums;
};

/// A machine with everything that a training keeps on it.
class Training {
public:
  Training(unsigned seed, int devices, int gpus, const char *graphs)
      : world(seed, gpus), fake(devices) {
    // In turn, so that there are devices that share one.
    std::string physical;
    for (int d = 0; d < devices; ++d)
      physical += (d ? "," : "") + std::to_string(d % gpus);
    ::setenv("LWCC_DEVICES", physical.c_str(), 1);
    ::setenv("LWCC_GRAPH", graphs, 1);
    machine = Machine::create(fake.program.machine, {});
    ::unsetenv("LWCC_GRAPH");
    ::unsetenv("LWCC_DEVICES");
    for (int i = 0; i <= StepQueue::depth; ++i) {
      batches.push_back(std::make_unique<Batch>(*machine, fake.program));
      free.push_back(batches.back().get());
    }
    queue.emplace(*machine, fake.program);
  }

  void record() {
    sequence = machine->record("train_step",
                               [&] { fake.program.trainStep(*machine); });
  }

  /// Step `number`, from 0, on images and labels of that number.
  void launch(int number, bool traced = false) {
    const Program &program = fake.program;
    Batch *batch = free.back(); // the one that was released last
    free.pop_back();
    batch->index = number;
    image.assign(3 * 72 * 40, static_cast<float>(number));
    int32_t label = number % 10;
    for (int64_t i = 0; i < program.batch; ++i) {
      batch->inputs[0].put(i, image.data());
      batch->labels.put(i, &label);
    }
    StepScalars scalars;
    scalars.step = static_cast<uint32_t>(number + 1);
    queue->launch(sequence, *batch, scalars, false, traced);
  }

  void retire() {
    StepResult result = queue->retire();
    auto number = static_cast<int>(result.batch->index);
    float loss = fake.lossOf(number, std::max(number - 1, 0), number % 10,
                             static_cast<uint32_t>(number + 1));
    wrong += number != retired++ || result.loss != loss ||
             static_cast<int32_t>(result.first) != number % 10 ||
             static_cast<int32_t>(result.second) != static_cast<int32_t>(loss);
    free.push_back(result.batch);
  }

  World world; // first: the machine uses it to its end
  FakeProgram fake;
  std::unique_ptr<Machine> machine;
  std::optional<StepQueue> queue;
  int retired = 0, wrong = 0;

private:
  std::vector<std::unique_ptr<Batch>> batches;
  std::vector<Batch *> free;
  std::vector<float> image;
  Sequence *sequence = nullptr;
};

struct Case {
  int devices, gpus;
  const char *graphs; ///< LWCC_GRAPH
};
void PrintTo(const Case &c, std::ostream *os) {
  *os << c.devices << " devices on " << c.gpus << ", LWCC_GRAPH=" << c.graphs;
}

/// Trains as the trainer does. Whether something was wrong.
bool goesWrong(const Case &c, unsigned seed,
               const std::function<void(World &)> &change,
               std::set<World::Pair> *waits = nullptr) {
  try {
    Training training(seed, c.devices, c.gpus, c.graphs);
    change(training.world);
    training.record();
    constexpr int steps = 9;
    for (int number = 0; number < steps; ++number) {
      training.launch(number, seed % 4 == 0 && number == 5);
      while (training.queue->mustRetire())
        training.retire();
    }
    while (!training.queue->empty())
      training.retire();
    if (waits)
      waits->insert(training.world.waits.begin(), training.world.waits.end());
    training.machine->synchronize();
    return training.wrong > 0 || !training.world.findings.empty();
  } catch (const Error &) { // of the machine
    return true;
  }
}

class CudaMachineTest : public testing::TestWithParam<Case> {};

TEST_P(CudaMachineTest, EveryStepSeesItsOwnInputs) {
  for (unsigned seed = 0; seed < 300; ++seed)
    ASSERT_FALSE(goesWrong(GetParam(), seed, [](World &) {})) << seed;
}

TEST_P(CudaMachineTest, EveryWaitIsNeeded) {
  auto isSeen = [&](const std::function<void(World &)> &change) {
    for (unsigned seed = 0; seed < 300; ++seed)
      if (goesWrong(GetParam(), seed, change))
        return true;
    return false;
  };
  std::set<World::Pair> waits;
  goesWrong(GetParam(), 1, [](World &) {}, &waits);
  EXPECT_GE(waits.size(), 6u);
  for (World::Pair pair : waits)
    EXPECT_TRUE(isSeen([=](World &world) { world.omitted = pair; }))
        << "stream " << pair.first << " need not wait for " << pair.second;
  EXPECT_TRUE(isSeen([](World &world) { world.omitsHostWaits = true; }));
}

// The next inputs arrive while a run is at work, and starting runs does not
// wait for it.
TEST_P(CudaMachineTest, InputsArriveDuringTheRunBefore) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    bool held = true;
    Training training(seed, GetParam().devices, GetParam().gpus,
                      GetParam().graphs);
    training.fake.held = &held;
    training.record();
    training.world.bytesReceived = 0;
    for (int number = 0; number < StepQueue::depth; ++number)
      training.launch(number);
    ASSERT_TRUE(training.queue->mustRetire());
    training.world.settle();
    int64_t batch = elementsOf(training.fake.program.inputs[0]) * 4;
    EXPECT_EQ(training.world.bytesReceived / batch, StepQueue::depth);
    held = false;
    while (!training.queue->empty())
      training.retire();
    EXPECT_EQ(training.wrong, 0);
    EXPECT_TRUE(training.world.findings.empty());
  }
}

// To be woken takes as long as a short step: a step that is over, or soon is,
// costs no sleep.
TEST_P(CudaMachineTest, TheHostSleepsOnlyBehindALongStep) {
  bool held = false;
  Training training(1, GetParam().devices, GetParam().gpus, GetParam().graphs);
  training.fake.held = &held;
  training.record();
  training.launch(0);
  training.world.settle();
  int before = training.world.hostSleeps;
  training.retire();
  EXPECT_EQ(training.world.hostSleeps, before);
  held = true;
  EXPECT_EQ(training.wrong, 0);
  EXPECT_TRUE(training.world.findings.empty());
  training.launch(1); // this one never ends
  EXPECT_THROW(training.retire(), Error);
  EXPECT_EQ(training.world.hostSleeps, before + 1);
  EXPECT_EQ(training.world.findings.front(), "the host would wait for ever");
  held = false;
}

INSTANTIATE_TEST_SUITE_P(Devices, CudaMachineTest,
                         testing::Values(Case{1, 1, "0"}, Case{1, 1, "1"},
                                         Case{2, 2, "0"}, Case{3, 3, "1"},
                                         Case{3, 2, "0"}, Case{4, 1, "1"}));

} // namespace
