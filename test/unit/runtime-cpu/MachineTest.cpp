//===- MachineTest.cpp - Lanes, events, runs and faults ---------*- C++ -*-===//
//
// Lanes on several devices that hand values over through events; replay, order
// of runs, copies in order with runs, observation, and what a fault does. With
// one thread per lane no OpenMP is used, so ThreadSanitizer can check all this.
//
//===----------------------------------------------------------------------===//
#include "Workbench.h"
#include "runtime/core/Error.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Map.h"
#include "test/unit/NoThreads.h"

#include <thread>

using namespace lwcc::rt;

namespace {

struct Increment {
  static constexpr int inputs = 1;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0) {
    return x0 + 1.0f;
  }
};

struct Add {
  static constexpr int inputs = 2;
  static constexpr bool indexed = false;
  LWCC_HD static float at(const StepScalars &, uint64_t, float x0, float x1) {
    return x0 + x1;
  }
};

std::unique_ptr<Machine> machineOf(int devices, int lanesPerDevice, int events,
                                   int threads) {
  MachineSpec spec;
  for (int d = 0; d < devices; ++d) {
    spec.devices.push_back({int64_t(1) << 20});
    for (int l = 0; l < lanesPerDevice; ++l)
      spec.lanes.push_back({d, "lane"});
  }
  spec.events = events;
  MachineOptions options;
  options.threads = threads;
  return Machine::create(spec, options);
}

Tensor at(Machine &machine, int device, int64_t offset, const Dims &dims) {
  return Tensor(machine.arena(device) + offset, DType::f32, dims.data(),
                static_cast<int>(dims.size()), Layout::dense);
}

TEST(MachineTest, ArenasAreAlignedAndZeroed) {
  auto machine = machineOf(3, 1, 0, 1);
  for (int d = 0; d < 3; ++d) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(machine->arena(d)) % 256, 0u);
    for (int64_t i = 0; i < int64_t(1) << 20; i += 997)
      ASSERT_EQ(machine->arena(d)[i], 0);
    EXPECT_EQ(machine->bytesHeld(d), int64_t(1) << 20);
  }
  EXPECT_NE(machine->describe().find("oneDNN 3"), std::string::npos);
}

#ifndef __SANITIZE_THREAD__
TEST(MachineTest, LanesDivideTheThreadsOfTheirDeviceByWidth) {
  auto threads = [](int all, int devices, std::vector<int> widths) {
    MachineSpec spec;
    for (int d = 0; d < devices; ++d) {
      spec.devices.push_back({1024});
      for (int width : widths)
        spec.lanes.push_back({d, "lane", LaneUse::compute, width});
      spec.lanes.push_back({d, "copies", LaneUse::copies});
    }
    MachineOptions options;
    options.threads = all;
    auto machine = Machine::create(spec, options);
    std::vector<int> found;
    for (size_t i = 0; i < spec.lanes.size(); ++i)
      found.push_back(machine->threads(static_cast<int>(i)));
    return found;
  };
  using Threads = std::vector<int>;
  EXPECT_EQ(threads(3, 1, {2, 1}), (Threads{2, 1, 2}));
  EXPECT_EQ(threads(6, 1, {2, 1}), (Threads{4, 2, 4}));
  EXPECT_EQ(threads(6, 2, {2, 1}), (Threads{2, 1, 2, 2, 1, 2}));
  EXPECT_EQ(threads(7, 1, {1, 3}), (Threads{2, 5, 2}));
  EXPECT_EQ(threads(1, 1, {2, 1}), (Threads{1, 1, 1})); // each has one
  // Without widths: in equal parts, larger ones first.
  EXPECT_EQ(threads(7, 1, {1, 1, 1, 1, 1}), (Threads{2, 2, 1, 1, 1, 2}));
}
#endif

TEST(MachineTest, TooLittleMemoryIsAnError) {
  MachineSpec spec;
  spec.devices = {{int64_t(1) << 50}};
  spec.lanes = {{0, "main"}};
  try {
    Machine::create(spec, {});
    FAIL() << "expected an error";
  } catch (const Error &e) {
    EXPECT_NE(std::string(e.what()).find("1024.0 TiB"), std::string::npos);
  }
}

#ifndef __SANITIZE_THREAD__
/// What a machine says to a user who may have one thread.
[[noreturn]] void makeMachineWithoutThreads(int devices, int threads) {
  lwcc::forbidThreads();
  try {
    machineOf(devices, 1, 0, threads);
  } catch (const Error &e) {
    std::fprintf(stderr, "%s\n", e.what());
    _exit(1);
  }
  _exit(0);
}

TEST(MachineDeathTest, ThreadsThatCannotStartAreAnError) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(makeMachineWithoutThreads(1, 1), testing::ExitedWithCode(1),
              "cannot start 1 thread: .*take fewer --threads");
  EXPECT_EXIT(makeMachineWithoutThreads(1, 3), testing::ExitedWithCode(1),
              "cannot start 3 threads: .*take fewer --threads");
  EXPECT_EXIT(makeMachineWithoutThreads(3, 3), testing::ExitedWithCode(1),
              "cannot start 3 threads: .*take fewer --threads");
}
#endif

/// A ring: every lane adds 1 to what it gets from the one before, on another
/// device; the last one's value is the first one's in the next run.
TEST(MachineTest, EventsOrderLanesAcrossDevicesInEveryRun) {
  constexpr int lanes = 4, runs = 200;
  auto machine = machineOf(lanes, 1, lanes, lanes);
  auto value = [&](int lane) { return at(*machine, lane, 0, {64}); };
  Sequence *step = machine->record("step", [&] {
    for (int l = 0; l < lanes; ++l) {
      Lane &lane = machine->lane(l);
      if (l > 0)
        machine->event(l - 1).wait(lane);
      map<Increment>(lane, value(l), {value((l + lanes - 1) % lanes)});
      machine->event(l).record(lane);
    }
  });
  for (int r = 0; r < runs; ++r)
    machine->run(step);
  Floats last(64);
  machine->read(value(lanes - 1), lanes - 1, last.data());
  EXPECT_EQ(last, Floats(64, float(lanes * runs)));
}

/// Two lanes work side by side and meet; without barriers between runs the
/// next run's first half would overwrite what the second lane still reads.
TEST(MachineTest, RunsFollowEachOther) {
  auto machine = machineOf(1, 2, 1, 2);
  Tensor a = at(*machine, 0, 0, {5000}), b = at(*machine, 0, 65536, {5000});
  Sequence *step = machine->record("step", [&] {
    map<Increment>(machine->lane(0), a, {a});
    machine->event(0).record(machine->lane(0));
    machine->event(0).wait(machine->lane(1));
    map<Add>(machine->lane(1), b, {b, a});
  });
  constexpr int runs = 100;
  for (int r = 0; r < runs; ++r)
    machine->run(step);
  Floats sum(5000);
  machine->read(b, 0, sum.data());
  EXPECT_EQ(sum, Floats(5000, runs * (runs + 1) / 2.0f));
}

TEST(MachineTest, CopiesAreInOrderWithRuns) {
  auto machine = machineOf(2, 1, 0, 2);
  Tensor x = at(*machine, 1, 0, {100});
  Sequence *step = machine->record(
      "step", [&] { map<Increment>(machine->lane(1), x, {x}); });
  std::vector<float *> in, out;
  std::vector<int64_t> tickets;
  for (int i = 0; i < 20; ++i) {
    in.push_back(static_cast<float *>(machine->hostAlloc(400)));
    out.push_back(static_cast<float *>(machine->hostAlloc(400)));
    std::fill_n(in[i], 100, 10.0f * i);
    machine->writeAsync(x, 1, in[i]);
    machine->run(step);
    tickets.push_back(machine->readAsync(x, 1, out[i]));
  }
  for (int i = 0; i < 20; ++i) {
    machine->wait(tickets[i]);
    EXPECT_EQ(out[i][99], 10.0f * i + 1);
  }
}

TEST(MachineTest, HostMemoryIsLogicalOrder) {
  auto machine = machineOf(1, 1, 0, 2);
  Tensor x(machine->arena(0), DType::f32, {2, 3, 4, 5}, Layout::nhwc);
  Floats values = randomValues(120, 1), back(120);
  machine->write(x, 0, values.data());
  // Element (1, 2, 3, 4) is the last in both orders, (0, 1, 0, 0) is not.
  EXPECT_EQ(x.as<float>()[1], values[20]);
  machine->read(x, 0, back.data());
  EXPECT_EQ(back, values);
}

TEST(MachineTest, ObservedRunGivesTheSameAndNamesOperators) {
  auto machine = machineOf(2, 1, 1, 2);
  Tensor a = at(*machine, 0, 0, {10}), b = at(*machine, 1, 0, {10});
  Sequence *step = machine->record("step", [&] {
    machine->lane(0).layer("conv1", "forward");
    map<Increment>(machine->lane(0), a, {a});
    machine->event(0).record(machine->lane(0));
    machine->event(0).wait(machine->lane(1));
    machine->lane(1).layer("fc", "backward");
    map<Add>(machine->lane(1), b, {b, a});
  });
  std::vector<std::string> seen;
  machine->runObserved(step, [&](const char *layer, const char *phase,
                                 const char *op, const Tensor *results,
                                 int count) {
    ASSERT_EQ(count, 1);
    Floats value(10);
    machine->read(results[0], 0, value.data());
    seen.push_back(std::string(layer) + " " + phase + " " + op + " " +
                   std::to_string(int(value[0])));
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"conv1 forward map 1",
                                            "fc backward map 1"}));
  machine->run(step);
  Floats result(10);
  machine->read(b, 1, result.data());
  EXPECT_EQ(result[0], 3.0f); // 1, then 1 + 2
}

/// In every traced run each call has one call, in the order of appending; one
/// lane's calls follow each other, and what an event orders does not overlap.
TEST(MachineTest, TracedRunsTimeEveryCallOnOneClock) {
  constexpr int runs = 20;
  auto machine = machineOf(2, 2, 2, 4);
  auto x = [&](int device) { return at(*machine, device, 0, {50000}); };
  auto y = [&](int device) { return at(*machine, device, 262144, {50000}); };
  Sequence *step = machine->record("step", [&] {
    machine->lane(0).layer("conv1", "forward");
    machine->lane(2).layer("conv2", "backward");
    map<Increment>(machine->lane(0), x(0), {x(0)});
    map<Increment>(machine->lane(1), y(0), {y(0)}); // beside the others
    machine->event(0).record(machine->lane(0));
    machine->event(0).wait(machine->lane(2));
    transfer(machine->lane(2), {x(1)}, {x(0)});
    map<Increment>(machine->lane(2), x(1), {x(1)});
    machine->event(1).record(machine->lane(2));
    machine->event(1).wait(machine->lane(0));
    transfer(machine->lane(0), {x(0)}, {x(1)});
  });
  std::vector<const std::vector<TracedCall> *> traces;
  for (int r = 0; r < runs; ++r) {
    machine->run(step); // traced runs and others follow each other
    traces.push_back(&machine->runTraced(step));
  }
  Floats result(50000);
  machine->read(x(0), 0, result.data());
  EXPECT_EQ(result, Floats(50000, 4.0f * runs)); // two increments a run

  int64_t before = 0;
  for (const std::vector<TracedCall> *calls : traces) {
    std::vector<std::string> seen;
    for (const TracedCall &s : *calls)
      seen.push_back(std::to_string(s.lane) + " " + s.op + " " + s.layer + " " +
                     s.phase);
    ASSERT_EQ(seen, (std::vector<std::string>{"0 map conv1 forward", "1 map  ",
                                              "2 transfer conv2 backward",
                                              "2 map conv2 backward",
                                              "0 transfer conv1 forward"}));
    for (const TracedCall &s : *calls) {
      EXPECT_GE(s.begin, before) << "of the run before";
      EXPECT_GE(s.end, s.begin);
    }
    auto inOrder = [&](int first, int second) {
      EXPECT_LE((*calls)[first].end, (*calls)[second].begin)
          << first << " before " << second;
    };
    inOrder(0, 2); // event 0
    inOrder(2, 3); // one lane
    inOrder(3, 4); // event 1
    for (const TracedCall &s : *calls)
      before = std::max(before, s.end);
  }
}

/// Also where the work is none, or is another operator's.
TEST(MachineTest, EveryCallIsOneSpanOfItsName) {
  Workbench bench(1);
  Tensor dy = bench.tensor({2, 4, 3, 3}, Floats(72, 1.0f));
  Tensor x = bench.tensor({2, 3, 5, 5}, Floats(150, 1.0f));
  Tensor dbias = bench.tensor({4}), dw = bench.tensor({4, 3, 3, 3});
  Tensor none = bench.tensor({0, 4});
  Machine &machine = *bench.machine;
  Lane &lane = machine.lane(0);
  Sequence *step = machine.record("step", [&] {
    conv_grad_weight(lane, Tensor{}, dbias, dy, x, {});
    conv_grad_weight(lane, dw, Tensor{}, dy, x, {});
    sum(lane, none, {none, none});
    transfer(lane, {none}, {none});
  });
  const std::vector<TracedCall> &calls = machine.runTraced(step);
  machine.synchronize();
  std::vector<std::string> seen;
  for (const TracedCall &call : calls)
    seen.push_back(call.op);
  EXPECT_EQ(seen,
            (std::vector<std::string>{"conv_grad_weight", "conv_grad_weight",
                                      "sum", "transfer"}));
  EXPECT_EQ(bench.get(dbias), Floats(4, 18.0f));
}

/// A fault ends the run in every lane, also in those that wait for an event
/// that will never come, and the machine works again afterwards.
TEST(MachineTest, FaultsReachSynchronizeOnce) {
  auto machine = machineOf(1, 2, 1, 2);
  bool broken = true;
  int after = 0;
  Sequence *step = machine->record("step", [&] {
    CpuLane &first = cpuLane(machine->lane(0));
    first.layer("fc6", "forward");
    first.append("matmul", {}, [&] {
      if (broken)
        throw std::runtime_error("out of luck");
    });
    machine->event(0).record(first);
    machine->event(0).wait(machine->lane(1));
    cpuLane(machine->lane(1)).append("map", {}, [&] { ++after; });
  });
  machine->run(step);
  machine->run(step);
  try {
    machine->synchronize();
    FAIL() << "expected an error";
  } catch (const Error &e) {
    EXPECT_STREQ(e.what(), "fc6 (forward), matmul: out of luck");
  }
  EXPECT_EQ(after, 0);
  machine->synchronize();
  broken = false;
  machine->run(step);
  machine->synchronize();
  EXPECT_EQ(after, 1);
}

/// The same small training step, twice on machines of their own, and once with
/// another number of runs in flight: the same bits.
TEST(MachineTest, ReplayIsDeterministic) {
  auto train = [](bool wait) {
    Workbench bench(3);
    Tensor x = bench.tensor({8, 16, 14, 14}, randomValues(8 * 16 * 196, 1));
    Tensor w = bench.tensor({24, 16, 3, 3}, randomValues(24 * 16 * 9, 2));
    Tensor m = bench.tensor({24, 16, 3, 3}, Floats(24 * 16 * 9, 0.0f));
    Tensor y = bench.tensor({8, 24, 14, 14}), dw = bench.tensor({24, 16, 3, 3});
    Tensor loss = bench.tensor({}), scalars = bench.tensor({64}, DType::u8);
    StepScalars s;
    s.lr = 1e-3f;
    s.momentum = 0.9f;
    bench.machine->write(scalars, 0, &s);
    ConvParams params{.pad = {1, 1, 1, 1}};
    Lane &lane = bench.machine->lane(0);
    Sequence *step = bench.machine->record("step", [&] {
      conv(lane, y, x, w, Tensor{}, params);
      reduce(lane, loss, y, {.axes = {0, 1, 2, 3}, .mean = true});
      conv_grad_weight(lane, dw, Tensor{}, y, x, params);
      sgd(lane, w, m, w, m, scalars, loss, {dw}, {});
    });
    for (int i = 0; i < 5; ++i) {
      bench.machine->run(step);
      if (wait)
        bench.machine->synchronize();
    }
    return bench.get(w);
  };
  Floats first = train(true);
  EXPECT_EQ(train(false), first);
  EXPECT_EQ(train(false), first);
}

} // namespace
