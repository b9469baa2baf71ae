//===- LayeredDrawingTest.cpp - Where a graph's nodes are drawn -----------===//

#include "tools/report/LayeredDrawing.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace lwcc::report;

namespace {

constexpr Spacing spacing = {/*node=*/100, /*edge=*/10};

/// What holds of every drawing of a graph without cycles.
void check(int nodes, const std::vector<WeightedEdge> &edges) {
  const LayeredDrawing drawing = drawLayered(nodes, edges, spacing);
  ASSERT_EQ(drawing.x.size(), static_cast<size_t>(nodes));
  ASSERT_EQ(drawing.edges.size(), edges.size());
  std::map<int, std::vector<std::pair<double, double>>> taken; // of each rank
  for (int i = 0; i < nodes; ++i) {
    EXPECT_LT(drawing.rank[i], drawing.ranks);
    taken[drawing.rank[i]].push_back(
        {drawing.x[i] - spacing.node / 2, drawing.x[i] + spacing.node / 2});
  }
  for (size_t i = 0; i < edges.size(); ++i) {
    const DrawnEdge &edge = drawing.edges[i];
    EXPECT_EQ(edge.from, edges[i].from);
    EXPECT_EQ(edge.to, edges[i].to);
    const int rank = drawing.rank[edge.from];
    ASSERT_EQ(rank + 1 + static_cast<int>(edge.bends.size()),
              drawing.rank[edge.to]);
    for (size_t k = 0; k < edge.bends.size(); ++k)
      taken[rank + 1 + static_cast<int>(k)].push_back(
          {edge.bends[k] - spacing.edge / 2, edge.bends[k] + spacing.edge / 2});
  }
  for (auto &[rank, spans] : taken) {
    llvm::sort(spans);
    EXPECT_GE(spans.front().first, -1e-6);
    EXPECT_LE(spans.back().second, drawing.width + 1e-6);
    for (size_t i = 1; i < spans.size(); ++i)
      EXPECT_GE(spans[i].first, spans[i - 1].second - 1e-6) << rank;
  }
}

TEST(LayeredDrawing, ofAChainIsAStraightLine) {
  const LayeredDrawing drawing = drawLayered(3, {{0, 1}, {1, 2}}, spacing);
  EXPECT_EQ(drawing.rank, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(drawing.x, (std::vector<double>{50, 50, 50}));
  EXPECT_EQ(drawing.width, 100);
}

TEST(LayeredDrawing, putsWhatReadsBelowAndNothingOnEachOther) {
  std::mt19937 random(11);
  for (int trial = 0; trial < 100; ++trial) {
    const int nodes = 1 + static_cast<int>(random() % 30);
    std::vector<WeightedEdge> edges;
    for (int i = 1; i < nodes; ++i)
      for (unsigned k = random() % 3; k > 0; --k)
        edges.push_back(
            {static_cast<int>(random() % i), i, random() % 2 ? 1 : 0.01});
    check(nodes, edges);
  }
}

TEST(LayeredDrawing, keepsBranchesApart) {
  const LayeredDrawing drawing =
      drawLayered(6, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {3, 5}, {4, 5}}, spacing);
  EXPECT_EQ(drawing.x[1] < drawing.x[2], drawing.x[3] < drawing.x[4]);
}

TEST(LayeredDrawing, drawsCyclesAndNothing) {
  EXPECT_EQ(drawLayered(0, {}, spacing).ranks, 0);
  const LayeredDrawing drawing =
      drawLayered(3, {{0, 1}, {1, 2}, {2, 0}, {1, 1}}, spacing);
  EXPECT_EQ(drawing.rank, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(drawing.edges[2].bends.empty());
}

} // namespace
