//===- KeepTest.cpp - Layers whose cuts are given -------------------------===//
//
// What --keep may say and what it means; every strategy keeps to it, whatever
// layers, and the layer-wise search finds the cheapest of the plans that do.
//
//===----------------------------------------------------------------------===//
#include "passes/plan/solve/Keep.h"
#include "LayeredGraphs.h"
#include "passes/plan/minsum/DepthFirst.h"
#include "passes/plan/solve/CostTables.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;

TEST(Keep, isAnExpressionAndDegrees) {
  Keep keep;
  EXPECT_EQ(parseKeep("a=b=n2c3", keep), "");
  EXPECT_EQ(keep.pattern, "a=b");
  EXPECT_EQ(keep.degrees, (Extents{2, 3, 1, 1, 1}));
  EXPECT_EQ(parseKeep("^fc$=k12", keep), "");
  EXPECT_EQ(keep.degrees, (Extents{1, 1, 1, 1, 12}));
  for (const char *bad :
       {"", "=", "fc", "fc=", "=n2", "fc=2", "fc=n", "fc=n0", "fc=n-1",
        "fc=n2n2", "fc=x2", "fc=n2,c2", "(=n2", "fc=n99999999999999999999"})
    EXPECT_NE(parseKeep(bad, keep), "") << bad;
}

TEST(Keep, findsTheGroupsOfTheLayersThatAreNamed) {
  LayerGraph graph = smallNet();
  graph.layers[1].leader = 0;
  KeptDegrees kept;
  EXPECT_TRUE(
      findKept({"relu=h2", "fc=c4"}, graph, machineOf(4), kept).empty());
  // relu is cut with conv1.
  EXPECT_EQ(kept, (KeptDegrees{{0, {1, 1, 2, 1, 1}}, {2, {1, 4, 1, 1, 1}}}));
}

TEST(Keep, saysAllThatIsWrong) {
  LayerGraph graph = smallNet();
  graph.layers[1].leader = 0;
  KeptDegrees kept;
  std::vector<std::string> mistakes =
      findKept({"conv9=n2", "fc=h2", "conv=n2", "relu=n4", "loss=n8"}, graph,
               machineOf(4), kept);
  ASSERT_EQ(mistakes.size(), 4u);
  EXPECT_EQ(mistakes[0], "--keep=conv9=n2: no layer has such a name; the first "
                         "ones are 'conv1', 'relu', 'fc', --explain lists all");
  EXPECT_EQ(mistakes[1],
            "--keep=fc=h2: layer 'fc' has an extent of only 1 along h");
  EXPECT_EQ(mistakes[2], "--keep=relu=n4: layer 'conv1', which 'relu' is cut "
                         "with, is cut otherwise by --keep=conv=n2");
  EXPECT_EQ(mistakes[3], "--keep=loss=n8: more parts than the 4 devices");
}

TEST(Keep, isKeptByEveryStrategy) {
  Draw below(51);
  for (int trial = 0; trial < 12; ++trial) {
    LayerGraph graph = randomGraph(below);
    Machine machine = machineOf(2 + below(5));
    CostModel costs(machine, "fp32");
    Problem problem{graph, machine, costs, {100, 3, below(2) ? "nc" : "n"}};
    for (auto [i, layer] : llvm::enumerate(graph.layers)) {
      std::vector<Tiling> ways = equalTilings(layer, machine);
      if (layer.leader < 0 && below(3) == 0)
        problem.search.kept[static_cast<int>(i)] =
            ways[below(static_cast<int>(ways.size()))].degrees;
    }
    for (const Solver &solver : solvers()) {
      if (solver.inMicroBatches) // refused by the command line
        continue;
      const Plan made = solver.solve(problem);
      EXPECT_TRUE(check(made, graph, machine).empty()) << solver.name.str();
      for (const auto &[leader, degrees] : problem.search.kept)
        EXPECT_EQ(made.layers[leader].tiling.degrees, degrees)
            << solver.name.str() << ", trial " << trial;
      if (solver.searches) {
        EXPECT_TRUE(isAllowed(problem, tilingsOf(graph, made)))
            << solver.name.str() << ", trial " << trial;
      }
    }
    CostTables tables(problem);
    DepthFirstSolution all = searchDepthFirst(tables.sum(), /*limit=*/1e8);
    if (all.finished) {
      EXPECT_NEAR(solve(tables.sum(), 1e9).cost, all.cost, 1e-9 * all.cost);
    }
  }
}
