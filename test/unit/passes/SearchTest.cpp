//===- SearchTest.cpp - What strategies and searches find -----------------===//
//
// The fixed strategies on a small network; searches against all plans of a
// small space, against other strategies, and against what they promise of
// themselves.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Price.h"
#include "passes/plan/solve/Descent.h"
#include "passes/plan/solve/GroupSets.h"
#include "passes/plan/solve/Mcmc.h"
#include "test/unit/passes/LayeredGraphs.h"

#include "gtest/gtest.h"

#include <limits>

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;

namespace {

TEST(Solvers, dataSpreadsSamplesAsFarAsThereAreSome) {
  Plan plan = planBy("data", smallNet(), {1, 64});
  for (const LayerPlan &layer : plan.layers)
    EXPECT_EQ(layer.tiling.degrees, (Extents{8, 1, 1, 1, 1}));
  EXPECT_TRUE(check(plan, smallNet(), {1, 64}).empty());
}

TEST(Solvers, modelSpreadsChannelsAndGivesTheRestToWhoHasLeast) {
  Plan plan = planBy("model", smallNet(), {1, 7});
  EXPECT_EQ(plan.layers[0].tiling.degrees, (Extents{1, 6, 1, 1, 1}));
  EXPECT_EQ(plan.layers[2].tiling.degrees, (Extents{1, 7, 1, 1, 1}));
  EXPECT_EQ(plan.layers[3].tiling.places, (std::vector<Place>{{0, 6, 0}}));
  EXPECT_TRUE(check(plan, smallNet(), {1, 7}).empty());
}

TEST(Solvers, oneWeirdTrickCutsImagesBySamplesAndFullyConnectedByChannels) {
  Plan plan = planBy("owt", smallNet(), {1, 4});
  EXPECT_EQ(plan.layers[0].tiling.degrees, (Extents{4, 1, 1, 1, 1}));
  EXPECT_EQ(plan.layers[1].tiling.degrees, (Extents{4, 1, 1, 1, 1}));
  EXPECT_EQ(plan.layers[2].tiling.degrees, (Extents{1, 4, 1, 1, 1}));
  // Classes are not cut, samples are.
  EXPECT_EQ(plan.layers[3].tiling.degrees, (Extents{4, 1, 1, 1, 1}));
  EXPECT_TRUE(check(plan, smallNet(), {1, 4}).empty());
}

TEST(Solvers, singlePutsEverythingOnTheFirstGpuInTheModelsOrder) {
  Plan plan = planBy("single", smallNet(), {2, 8});
  ASSERT_EQ(plan.layers.size(), 4u);
  EXPECT_EQ(plan.layers[0], (LayerPlan{"conv1", Tiling{}}));
  EXPECT_EQ(plan.layers[2], (LayerPlan{"fc", Tiling{}}));
  EXPECT_EQ(findSolver("magic"), nullptr);
}

TEST(Mcmc, findsTheBestOfASmallSpaceAndKeepsToMemory) {
  LayerGraph graph = graphOf({{}, {0}, {1}, {2}}, 100 * perElement, true);
  Machine machine = machineOf(2);
  CostModel costs(machine, "fp32");
  Problem problem{graph, machine, costs};
  Simulator simulator(problem);
  // Everything that can be drawn with tiles in turn.
  std::vector<Tiling> all = equalTilings(graph.layers[0], machine);
  Ticks best = -1;
  Tilings tilings(4);
  for (size_t i = 0, count = all.size(); i < count * count * count * count;
       ++i) {
    for (size_t k = 0, rest = i; k < 4; ++k, rest /= count)
      tilings[k] = all[rest % count];
    Ticks step = simulator.simulate(tilings);
    best = best < 0 ? step : std::min(best, step);
  }
  Chain chain(problem, simulator);
  EXPECT_TRUE(chain.run(chain.randomTilings(), 5000));
  EXPECT_LE(chain.bestStep(), best);
  EXPECT_TRUE(chain.fits());

  simulator.simulate(chain.best());
  machine.device.memory = simulator.memory() - 1;
  Chain tight(problem, simulator);
  tight.run(Tilings(4), 5000);
  simulator.simulate(tight.best());
  EXPECT_LE(simulator.memory(), machine.device.memory);
}

/// A start, where descent ends must be no slower; it fits if the start does;
/// and no other tiling of one group, on devices in turn, may be quicker.
TEST(Descent, endsWhereNoGroupAloneCanBeCutBetter) {
  Draw below(29);
  for (int trial = 0; trial < 60; ++trial) {
    LayerGraph graph = randomGraph(below);
    Machine machine = machineOf(2 + below(5));
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs};
    Simulator simulator(problem);
    Chain random(problem, simulator);
    const Tilings start = random.randomTilings();
    const Ticks before = simulator.simulate(start);
    machine.device.memory = simulator.memory();
    Descent descent(problem, simulator);
    ASSERT_TRUE(descent.run(start, Descent::Clock::time_point::max()));
    const Tilings reached = simulator.tilings();
    const Ticks step = simulator.step();
    EXPECT_LE(step, before) << "trial " << trial;
    EXPECT_LE(simulator.memory(), machine.device.memory);
    Simulator full(problem);
    EXPECT_EQ(step, full.simulate(reached));
    for (const LayerGroup &group : groupsOf(graph))
      for (const Tiling &way :
           equalTilings(graph.layers[group[0]], problem.machine)) {
        Tilings other = reached;
        for (int layer : group)
          other[layer] = tilingInGroup(graph.layers[layer], way);
        const Ticks changed = full.simulate(other);
        if (full.memory() <= machine.device.memory) {
          EXPECT_GE(changed, step) << "trial " << trial;
        }
      }
    // The same again, from the same start.
    descent.run(start, Descent::Clock::time_point::max());
    EXPECT_EQ(simulator.tilings(), reached);
  }
}

TEST(Descent, shrinksWhatDoesNotFit) {
  LayerGraph graph = graphOf({{}, {0}, {1}, {2}}, 100 * perElement, true);
  Machine machine = machineOf(2);
  CostModel costs(machine, "fp32");
  Problem problem{graph, machine, costs};
  Simulator simulator(problem);
  simulator.simulate(Tilings(4)); // all on one of two devices
  machine.device.memory = simulator.memory() - 1;
  Descent(problem, simulator)
      .run(Tilings(4), Descent::Clock::time_point::max());
  EXPECT_LE(simulator.memory(), machine.device.memory);
}

TEST(Space, hasAnyNumberOfPartsOnFewDevicesAndDivisorsOnMany) {
  LayerGraph::Layer layer;
  layer.extents = {5, 6, 4, 4, 9};
  auto degreesFor = [&](int64_t devices) {
    std::vector<Extents> all;
    for (const Tiling &tiling : equalTilings(layer, machineOf(devices))) {
      EXPECT_LE(tiling.tiles(), devices);
      const Extents &degrees = tiling.degrees;
      for (size_t d = 0; d < degrees.size(); ++d)
        EXPECT_LE(degrees[d], layer.extents[d]);
      EXPECT_TRUE(degrees[4] == 1 || degrees[2] * degrees[3] == 1);
      EXPECT_FALSE(llvm::is_contained(all, degrees));
      all.push_back(degrees);
    }
    EXPECT_EQ(all.front(), (Extents{1, 1, 1, 1, 1}));
    return all;
  };
  std::vector<Extents> seven = degreesFor(7);
  for (const Extents &degrees :
       {Extents{2, 3, 1, 1, 1}, Extents{5, 1, 1, 1, 1}, Extents{1, 6, 1, 1, 1},
        Extents{1, 1, 1, 1, 7}, Extents{1, 1, 2, 3, 1}})
    EXPECT_TRUE(llvm::is_contained(seven, degrees));
  // On nine: what divides it, and samples or channels spread as far as they go.
  std::vector<Extents> nine = degreesFor(9);
  for (const Extents &degrees :
       {Extents{3, 3, 1, 1, 1}, Extents{5, 1, 1, 1, 1}, Extents{1, 6, 1, 1, 1},
        Extents{1, 1, 1, 1, 9}})
    EXPECT_TRUE(llvm::is_contained(nine, degrees));
  EXPECT_FALSE(llvm::is_contained(nine, Extents{2, 3, 1, 1, 1}));
}

TEST(GroupSets, areRowsAndBranchesEachOnce) {
  // 0, two branches of two and of three layers, and where they meet.
  LayerGraph graph = graphOf({{}, {0}, {1}, {0}, {3}, {4}, {2, 5}}, 1, false);
  std::vector<GroupSet> sets = groupSets(graph, groupsOf(graph));
  auto count = [&](const GroupSet &set) { return llvm::count(sets, set); };
  for (size_t i = 0; i < 7; ++i)
    EXPECT_EQ(count({i}), 1) << i;
  EXPECT_EQ(count({0, 1}), 1);
  EXPECT_EQ(count({3, 4, 5, 6}), 1);
  EXPECT_EQ(count({1, 2}), 1); // a branch, and a row
  EXPECT_EQ(count({3, 4, 5}), 1);
  EXPECT_EQ(count({1, 2, 3, 4, 5}), 1);
  EXPECT_EQ(sets.size(), 7u + 6u + 4u + 2u);
}

TEST(Searches, areNeverBehindWhereTheyStartAndKeepToWhatTheyMay) {
  Draw below(31);
  for (int trial = 0; trial < 10; ++trial) {
    LayerGraph graph = randomGraph(below);
    Machine machine = machineOf(2 + below(4));
    CostModel costs(machine, "fp32");
    const std::string along = below(2) ? "nc" : "n";
    Problem problem{graph, machine, costs, {100, 3, along}};
    Simulator simulator(problem);
    const Tilings data = tilingsOf(graph, findSolver("data")->solve(problem));
    const Ticks before = simulator.simulate(data);
    for (int round = 0; round < 2; ++round) { // the second with little memory
      for (llvm::StringRef name : {"descent", "mcmc"}) {
        const Plan made = findSolver(name)->solve(problem);
        EXPECT_TRUE(check(made, graph, machine).empty());
        const Tilings found = tilingsOf(graph, made);
        EXPECT_TRUE(isAllowed(problem, found));
        EXPECT_LE(simulator.simulate(found), before)
            << name.str() << ", trial " << trial;
        EXPECT_LE(simulator.memory(), machine.device.memory);
        // The same again.
        EXPECT_EQ(tilingsOf(graph, findSolver(name)->solve(problem)), found);
      }
      simulator.simulate(data);
      machine.device.memory = simulator.memory();
    }
  }
}

TEST(Layerwise, isNeverBehindFixedStrategiesInItsOwnSum) {
  Draw below(23);
  for (int trial = 0; trial < 200; ++trial) {
    LayerGraph graph = randomGraph(below, /*samples=*/1 + below(64));
    // Five, seven or thirteen devices divide few batches.
    Machine machine = machineOf(1 + below(13));
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs};
    auto sumOf = [&](const Plan &plan) {
      double sum = 0;
      for (const Seconds &layer :
           priceOf(graph, tilingsOf(graph, plan), machine, costs))
        sum += layer.total();
      return sum;
    };
    double found = sumOf(solveLayerwise(problem));
    for (llvm::StringRef name : {"data", "owt", "model", "single"})
      EXPECT_LE(found, sumOf(findSolver(name)->solve(problem)) * (1 + 1e-9))
          << name.str() << ", trial " << trial;
  }
}

TEST(Layerwise, givesAnExactPlanAgainWithoutAnotherSearch) {
  Draw below(29);
  LayerGraph graph = randomGraph(below);
  Machine machine = machineOf(4);
  CostModel costs(machine, "fp32");
  std::map<llvm::StringRef, ExactPlan> exactPlans;
  Problem problem{graph, machine, costs};
  problem.exactPlans = &exactPlans;
  const Plan found = solveLayerwise(problem);
  ASSERT_EQ(exactPlans.count("layerwise"), 1u);
  EXPECT_GT(exactPlans["layerwise"].seconds, 0);
  exactPlans["layerwise"].plan.warning = "this one";
  const Plan again = solveLayerwise(problem, /*limit=*/1);
  EXPECT_EQ(again.layers, found.layers);
  EXPECT_EQ(again.warning, "this one");
}

TEST(Auto, leavesOutWhatCannotBeCompiled) {
  Draw below(7);
  LayerGraph graph = randomGraph(below);
  Machine machine = machineOf(3);
  CostModel costs(machine, "fp32");
  std::vector<Tilings> asked;
  auto programStep = [&](const Plan &plan) {
    asked.push_back(tilingsOf(graph, plan));
    return asked.size() == 2 ? 1.0 : std::numeric_limits<double>::infinity();
  };
  Problem problem{graph, machine, costs, {100, 3}, programStep};
  Tilings chosen = tilingsOf(graph, solveAuto(problem));
  ASSERT_GE(asked.size(), 2u);
  EXPECT_EQ(chosen, asked[1]);
}

TEST(Auto, isNeverSlowerThanStrategiesItTriesAndCutsOnlyWhatItMay) {
  Draw below(5);
  for (int trial = 0; trial < 20; ++trial) {
    LayerGraph graph = randomGraph(below);
    Machine machine = machineOf(1 + below(3), 1 + below(2));
    CostModel costs(machine, "fp32");
    const std::string along = below(2) ? "nc" : "n";
    Problem problem{graph, machine, costs, {100, 3, along}};
    Simulator simulator(problem);
    Tilings chosen = tilingsOf(graph, solveAuto(problem));
    EXPECT_TRUE(isAllowed(problem, chosen));
    Ticks best = simulator.simulate(chosen);
    for (const Solver &solver : solvers()) {
      Plan made = solver.solve(problem);
      Tilings other = tilingsOf(graph, made);
      // The simulator knows nothing of orders of micro-batches.
      if (solver.name != "mcmc" && solver.name != "descent" &&
          made.order.empty() && isAllowed(problem, other)) {
        EXPECT_LE(best, simulator.simulate(other))
            << solver.name.str() << ", trial " << trial;
      }
    }
  }
}

TEST(Auto, takesTheCandidateWhoseProgramTakesTheShortestStep) {
  Draw below(6);
  for (int trial = 0; trial < 20; ++trial) {
    LayerGraph graph = randomGraph(below);
    Machine machine = machineOf(1 + below(3), 1 + below(2));
    CostModel costs(machine, "fp32");
    std::vector<Tilings> asked;
    std::vector<std::vector<LaneOrder>> orders;
    const size_t shortest = below(4);
    auto programStep = [&](const Plan &plan) {
      asked.push_back(tilingsOf(graph, plan));
      orders.push_back(plan.order);
      return asked.size() - 1 == shortest ? 1.0 : 2.0;
    };
    Problem problem{graph, machine, costs, {100, 3}, programStep};
    Tilings chosen = tilingsOf(graph, solveAuto(problem));
    ASSERT_FALSE(asked.empty());
    EXPECT_EQ(chosen, asked[shortest < asked.size() ? shortest : 0]);
    // The quickest in simulation is asked about first.
    Simulator simulator(problem);
    const Ticks first = simulator.simulate(asked[0]);
    EXPECT_LE(first, simulator.simulate(
                         tilingsOf(graph, findSolver("data")->solve(problem))));
    // None is asked about twice.
    for (size_t i = 0; i < asked.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        EXPECT_FALSE(asked[i] == asked[j] && orders[i] == orders[j]) << i;
    // What does not fit is not asked about.
    simulator.simulate(tilingsOf(graph, findSolver("data")->solve(problem)));
    machine.device.memory = simulator.memory() - 1;
    asked.clear();
    solveAuto(problem);
    for (const Tilings &tilings : asked) {
      simulator.simulate(tilings);
      EXPECT_LE(simulator.memory(), machine.device.memory);
    }
  }
}

} // namespace
