//===- SimulatorTest.cpp - How long a step takes under a plan -------------===//
//
// On graphs made by hand, whose steps can be told by counting, and on random
// graphs: there delta mode must agree with full mode under any change.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Price.h"
#include "passes/plan/solve/Descent.h"
#include "passes/plan/solve/Mcmc.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;
using tiling::Box;

namespace {

constexpr int64_t manySamples = 24, channels = 12;

/// Layers over [samples, channels], each of which reads what some others make.
/// Forward a tile moves `bytes` per sample and channel, backward twice as many;
/// all but the first have a weight per channel pair.
LayerGraph graphOf(const std::vector<std::vector<int>> &inputs, double bytes,
                   bool weights, int64_t samples = manySamples) {
  LayerGraph graph;
  int count = static_cast<int>(inputs.size());
  for (int i = 0; i < count; ++i) {
    LayerGraph::Layer layer;
    layer.name = "l" + std::to_string(i);
    layer.signature = layer.name;
    layer.extents = {samples, channels, 1, 1, 1};
    layer.hasParameters = weights && i > 0;
    if (layer.hasParameters)
      layer.params.push_back({4, 4, "sgd"});
    layer.producer = i > 0 ? inputs[i][0] : -1;
    graph.layers.push_back(layer);
  }
  auto tensor = [&](int producer, Phase made, int consumer, Phase needed) {
    int number = static_cast<int>(graph.tensors.size());
    graph.tensors.push_back({"t", producer, made, {consumer}, {needed}});
    graph.layers[producer].made.push_back(number);
    graph.layers[consumer].read.push_back(number);
  };
  for (int i = 1; i < count; ++i)
    for (int from : inputs[i]) {
      tensor(from, Phase::forward, i, Phase::forward);
      tensor(i, Phase::backward, from, Phase::backward);
    }
  std::vector<LayerGraph::Layer> layers = graph.layers;
  std::vector<Tensor> tensors = graph.tensors;
  graph.tiles = [=](int layer, const Tiling &tiling) {
    LayerTiles tiles;
    const LayerGraph::Layer &known = layers[layer];
    int64_t count = tiling.tiles();
    auto regions = [&](size_t n) {
      return std::vector<LayerTiles::Regions>(n, LayerTiles::Regions(count));
    };
    tiles.work.resize(count);
    tiles.made = regions(known.made.size());
    tiles.read = regions(known.read.size());
    tiles.params = regions(known.params.size());
    for (int64_t t = 0; t < count; ++t) {
      Box part = {
          tiling::partOf(samples, tiling.degrees[0], t / tiling.degrees[1]),
          tiling::partOf(channels, tiling.degrees[1], t % tiling.degrees[1])};
      double size = tiling::volume(part) * bytes;
      tiles.work[t] = {{Phase::forward, 0, size}, {Phase::backward, 0, size}};
      if (known.hasParameters)
        tiles.work[t].push_back({Phase::weight, 0, size});
      Box rows = {part[0], {0, channels}};
      for (size_t i = 0; i < known.made.size(); ++i)
        // A gradient of the input has all channels, in terms.
        tiles.made[i][t] =
            tensors[known.made[i]].made == Phase::forward ? part : rows;
      for (size_t i = 0; i < known.read.size(); ++i)
        tiles.read[i][t] =
            tensors[known.read[i]].made == Phase::forward ? rows : part;
      for (LayerTiles::Regions &params : tiles.params)
        params[t] = Box{part[1], {0, channels}};
    }
    return tiles;
  };
  return graph;
}

/// Kernels move 10 GB/s without a launch time, links 1 GB/s after 1 us.
Machine machineOf(int64_t gpus, int64_t nodes = 1) {
  Machine machine;
  machine.nodes = nodes;
  machine.gpus = gpus;
  machine.device = {1e12, 1e12, 10e9, int64_t(1) << 30, 0};
  machine.link = {1e9, 1e-6};
  machine.network = {5e8, 2e-6};
  return machine;
}

Tiling cut(const Machine &machine, int64_t n, int64_t c, int64_t first = 0) {
  Tiling tiling;
  tiling.degrees = {n, c, 1, 1, 1};
  tiling.places.clear();
  for (int64_t i = 0; i < n * c; ++i)
    tiling.places.push_back(machine.place(first + i));
  return tiling;
}

constexpr Ticks microsecond = 1000000;
/// That a layer's forward or backward pass takes on one device.
constexpr double perElement = 1e10 * 1e-5 / (manySamples * channels);

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

/// Whole numbers from 0 to below n.
class Draw {
public:
  explicit Draw(unsigned seed) : random(seed) {}
  int64_t operator()(int64_t n) {
    return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
  }

private:
  std::mt19937 random;
};

/// A chain with some branches.
LayerGraph randomGraph(Draw &below, int64_t samples = manySamples) {
  int layers = 3 + static_cast<int>(below(12));
  std::vector<std::vector<int>> inputs(1);
  for (int i = 1; i < layers; ++i) {
    inputs.push_back({i - 1});
    if (i > 1 && below(3) == 0)
      inputs[i].push_back(static_cast<int>(below(i - 1)));
  }
  return graphOf(inputs, perElement, below(2), samples);
}

TEST(Simulator, deltaModeAgreesWithFullModeUnderAnyChange) {
  Draw below(11);
  for (int trial = 0; trial < 60; ++trial) {
    LayerGraph graph = randomGraph(below);
    auto layers = static_cast<int64_t>(graph.layers.size());
    Machine machine = machineOf(1 + below(3), 1 + below(2));
    if (below(2))
      machine.uplink = {1 + below(2), {8e8, 3e-6}};
    machine.transferSlowdown = 0.25 * static_cast<double>(below(3));
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs};
    auto draw = [&] {
      int64_t n = 1 + below(machine.devices());
      int64_t c = 1 + below(machine.devices() / n);
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

TEST(Layerwise, isNeverBehindDataOrOneWeirdTrickInItsOwnSum) {
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
    for (llvm::StringRef name : {"data", "owt"})
      EXPECT_LE(found, sumOf(findSolver(name)->solve(problem)) * (1 + 1e-9))
          << name.str() << ", trial " << trial;
  }
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
    EXPECT_TRUE(isCutAlong(graph, chosen, along));
    Ticks best = simulator.simulate(chosen);
    for (const Solver &solver : solvers()) {
      Plan made = solver.solve(problem);
      Tilings other = tilingsOf(graph, made);
      // The simulator knows nothing of orders of micro-batches.
      if (solver.name != "mcmc" && made.order.empty() &&
          isCutAlong(graph, other, along)) {
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
    EXPECT_EQ(asked[0], tilingsOf(graph, findSolver("data")->solve(problem)));
    // None is asked about twice.
    for (size_t i = 0; i < asked.size(); ++i)
      for (size_t j = 0; j < i; ++j)
        EXPECT_FALSE(asked[i] == asked[j] && orders[i] == orders[j]) << i;
    // What does not fit is not asked about.
    Simulator simulator(problem);
    simulator.simulate(asked[0]);
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
