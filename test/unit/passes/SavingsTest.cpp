//===- SavingsTest.cpp - What each decision of a plan saves ---------------===//
//
// On random graphs under random tilings: what a decision saves is the
// difference to the step of the plan that was changed by hand.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/solve/Savings.h"
#include "passes/plan/solve/Mcmc.h"
#include "test/unit/passes/LayeredGraphs.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;

namespace {

/// A random plan of a random graph, and what asks for its savings.
struct Case {
  explicit Case(unsigned seed)
      : below(seed), graph(randomGraph(below)),
        machine(machineOf(2 + below(5))), costs(machine, "fp32"),
        problem{graph, machine, costs}, simulator(problem) {
    Chain random(problem, simulator);
    simulator.simulate(random.randomTilings());
    data = tilingsOf(graph, findSolver("data")->solve(problem));
  }
  Draw below;
  LayerGraph graph;
  Machine machine;
  CostModel costs;
  Problem problem;
  Simulator simulator;
  Tilings data;
};

/// The whole layer on the first device that it has.
Tiling single(const Tiling &tiling) {
  Tiling whole;
  whole.places = {tiling.places[0]};
  return whole;
}

/// How much longer the step is if a group is cut otherwise, walked as a whole.
Ticks longer(Case &it, const LayerGroup &group,
             llvm::function_ref<Tiling(int layer)> instead) {
  Tilings changed = it.simulator.tilings();
  for (int layer : group)
    changed[layer] = instead(layer);
  return Simulator(it.problem).simulate(changed) - it.simulator.step();
}

TEST(Savings, areTheDifferenceToTheChangedPlan) {
  size_t asData = 0, asSingle = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Case it(seed);
    const Tilings before = it.simulator.tilings();
    const Savings savings =
        savingsOf(it.problem, it.simulator, it.data, /*seconds=*/1000);
    EXPECT_EQ(it.simulator.tilings(), before);
    EXPECT_EQ(savings.leftOut, 0u);
    ASSERT_EQ(savings.decisions.size(), groupsOf(it.graph).size());
    for (const Decision &decision : savings.decisions) {
      EXPECT_EQ(decision.tiling, before[decision.first]);
      if (decision.asData) {
        ++asData;
        EXPECT_EQ(decision.asData->longer,
                  longer(it, decision.layers,
                         [&](int layer) { return it.data[layer]; }))
            << "seed " << seed;
      }
      if (decision.asSingle) {
        ++asSingle;
        EXPECT_EQ(decision.asSingle->longer,
                  longer(it, decision.layers,
                         [&](int layer) { return single(before[layer]); }))
            << "seed " << seed;
      }
    }
  }
  EXPECT_GT(asData, 50u);
  EXPECT_GT(asSingle, 50u);
}

TEST(Savings, ofWhatIsCutSoAnywayThereAreNone) {
  Case it(3);
  it.simulator.simulate(it.data);
  for (const Decision &decision :
       savingsOf(it.problem, it.simulator, it.data, 1000).decisions) {
    EXPECT_FALSE(decision.asData);
    EXPECT_TRUE(decision.asSingle);
  }
  it.simulator.simulate(Tilings(it.graph.layers.size()));
  for (const Decision &decision :
       savingsOf(it.problem, it.simulator, it.data, 1000).decisions) {
    EXPECT_TRUE(decision.asData);
    EXPECT_FALSE(decision.asSingle);
  }
}

TEST(Savings, withoutTimeAllAreLeftOut) {
  Case it(5);
  const Savings savings = savingsOf(it.problem, it.simulator, it.data, 0);
  EXPECT_TRUE(savings.decisions.empty());
  EXPECT_EQ(savings.leftOut, groupsOf(it.graph).size());
}

TEST(Savings, sayWhatWouldNotFit) {
  Case it(7);
  it.simulator.simulate(it.data);
  it.machine.device.memory = it.simulator.memory();
  for (const Decision &decision :
       savingsOf(it.problem, it.simulator, it.data, 1000).decisions) {
    Tilings changed = it.data;
    for (int layer : decision.layers)
      changed[layer] = single(it.data[layer]);
    Simulator full(it.problem);
    full.simulate(changed);
    EXPECT_EQ(decision.asSingle->fits,
              full.memory() <= it.machine.device.memory);
  }
}

} // namespace
