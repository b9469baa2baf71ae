//===- SimulatorTest.cpp - How long a step takes under a plan -------------===//
//
// On graphs made by hand, whose steps can be told by counting, and on random
// graphs: there delta mode must agree with full mode under any change.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/Space.h"
#include "test/unit/passes/LayeredGraphs.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;

namespace {

TEST(Simulator, aChainOnOneDeviceTakesAsLongAsItsKernels) {
  LayerGraph graph = graphOf({{}, {0}, {1}}, perElement, /*weights=*/false);
  Machine machine = machineOf(1);
  CostModel costs(machine, "fp32");
  Problem problem{graph, machine, costs};
  Simulator simulator(problem);
  EXPECT_EQ(simulator.simulate(Tilings(3)), 60 * microsecond);
  EXPECT_EQ(simulator.bytes(), 0);
}

TEST(Simulator, branchesOnTwoDevicesRunSideBySideAndWaitForEachOther) {
  LayerGraph graph =
      graphOf({{}, {0}, {0}, {1, 2}}, perElement, /*weights=*/false);
  Machine machine = machineOf(2);
  CostModel costs(machine, "fp32");
  Problem problem{graph, machine, costs};
  Simulator simulator(problem);
  Tilings tilings(4);
  EXPECT_EQ(simulator.simulate(tilings), 80 * microsecond);
  // To the other device and back, 1152 bytes each time: 2.152 us. The branch
  // that stays runs meanwhile, forward and backward.
  Tiling other = cut(machine, 1, 1, 1);
  Ticks transfer = 2152000;
  EXPECT_EQ(simulator.propose({{{2, other}}}), 60 * microsecond + 4 * transfer);
  simulator.accept();
  EXPECT_EQ(simulator.step(), 60 * microsecond + 4 * transfer);
  EXPECT_EQ(simulator.bytes(), 4 * 1152);
  EXPECT_EQ(simulator.simulate(simulator.tilings()), simulator.step());
}

TEST(Simulator, transfersSlowKernelsBesideThemDown) {
  LayerGraph graph = graphOf({{}, {0}, {1}}, perElement, /*weights=*/true);
  Machine machine = machineOf(2);
  Tilings tilings(3, cut(machine, 2, 1));
  Ticks steps[2];
  for (int slow : {0, 1}) {
    machine.transferSlowdown = slow;
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs};
    steps[slow] = Simulator(problem).simulate(tilings);
  }
  // Gradients of the last layer are reduced while the others are computed.
  EXPECT_GT(steps[1], steps[0]);
}

TEST(Simulator, devicesAtASwitchShareItsUplink) {
  LayerGraph graph = graphOf({{}, {0}}, perElement, /*weights=*/false);
  Machine machine = machineOf(4);
  Tilings tilings = {cut(machine, 2, 1), cut(machine, 2, 1, 2)};
  auto step = [&] {
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs};
    return Simulator(problem).simulate(tilings);
  };
  // 576 bytes from 0 to 2 and as many from 1 to 3, and back.
  EXPECT_EQ(step(), 20 * microsecond + 2 * 1576000);
  machine.uplink = {2, {1e9, 1e-6}};
  EXPECT_EQ(step(), 20 * microsecond + 2 * 2152000);
}

TEST(Simulator, deltaModeAgreesWithFullModeUnderAnyChange) {
  Draw below(11);
  for (int trial = 0; trial < 60; ++trial) {
    LayerGraph graph = randomGraph(below);
    auto layers = static_cast<int64_t>(graph.layers.size());
    // Some with more devices than a word has bits.
    Machine machine = trial % 10 ? machineOf(1 + below(3), 1 + below(2))
                                 : machineOf(17 + below(20), 4 + below(3));
    if (below(2))
      machine.uplink = {1 + below(2), {8e8, 3e-6}};
    machine.transferSlowdown = 0.25 * static_cast<double>(below(3));
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs};
    auto draw = [&] {
      int64_t n = 1 + below(std::min(machine.devices(), manySamples));
      int64_t c = 1 + below(std::min(machine.devices() / n, channels));
      return cut(machine, n, c, below(machine.devices()));
    };
    Tilings tilings;
    for (int64_t i = 0; i < layers; ++i)
      tilings.push_back(draw());
    Simulator delta(problem);
    delta.simulate(tilings);
    for (int step = 0; step < 100; ++step) {
      std::vector<Simulator::Change> changes = {
          {static_cast<int>(below(layers)), draw()}};
      if (int other = static_cast<int>(below(layers));
          other != changes[0].layer)
        changes.push_back({other, draw()});
      Ticks proposed = delta.propose(changes);
      Tilings changed = delta.tilings();
      for (const Simulator::Change &change : changes)
        changed[change.layer] = change.tiling;
      Simulator full(problem);
      ASSERT_EQ(proposed, full.simulate(changed))
          << "trial " << trial << ", step " << step;
      ASSERT_EQ(delta.proposedMemory(), full.memory());
      if (below(2))
        delta.accept();
    }
  }
}

} // namespace
