//===- StageProblemTest.cpp - Stages against all cuts there are -----------===//

#include "passes/plan/solve/StageProblem.h"
#include "passes/plan/solve/SeriesParallel.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

constexpr double never = std::numeric_limits<double>::infinity();
using Random = std::mt19937;

int64_t number(Random &random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

/// A random model: its shape is made as a tree, of which the solver is not
/// told.
struct Shape {
  std::vector<int> blocks;     ///< of all that is in it
  std::vector<Shape> members;  ///< of a series
  std::vector<Shape> branches; ///< or of branches
};

/// Makes a series of at most `most` blocks, which begins behind `from` (or with
/// the model's input, -1) and ends in one block, and its edges.
Shape makeSeries(Random &random, int most, int &blocks, int from,
                 std::vector<std::pair<int, int>> &edges) {
  Shape series;
  auto addBlock = [&](const std::vector<int> &before) {
    Shape block;
    block.blocks = {blocks};
    for (int each : before)
      if (each >= 0)
        edges.push_back({each, blocks});
    series.members.push_back(block);
    series.blocks.push_back(blocks);
    return blocks++;
  };
  int last = addBlock({from});
  for (int left = most - 1; left > 0;) {
    if (left >= 3 && number(random, 0, 1)) {
      Shape split;
      std::vector<int> ends;
      int used = 0;
      const int count = static_cast<int>(number(random, 2, left >= 4 ? 3 : 2));
      for (int b = 0; b < count; ++b) {
        int room = left - 1 - used - (count - 1 - b);
        int size = static_cast<int>(number(random, 1, std::max(1, room)));
        int before = blocks;
        split.branches.push_back(makeSeries(random, size, blocks, last, edges));
        used += blocks - before;
        ends.push_back(blocks - 1);
      }
      for (const Shape &branch : split.branches)
        split.blocks.insert(split.blocks.end(), branch.blocks.begin(),
                            branch.blocks.end());
      series.blocks.insert(series.blocks.end(), split.blocks.begin(),
                           split.blocks.end());
      series.members.push_back(split);
      left -= used;
      last = addBlock(ends);
      --left;
    } else {
      last = addBlock({last});
      --left;
    }
  }
  return series;
}

struct Model {
  StageProblem problem;
  Shape shape;
};

Model makeModel(Random &random, bool branches) {
  Model model;
  StageProblem &problem = model.problem;
  std::vector<std::pair<int, int>> edges;
  int blocks = 0;
  const int size = static_cast<int>(number(random, 1, branches ? 8 : 10));
  if (branches) {
    model.shape = makeSeries(random, size, blocks, -1, edges);
  } else {
    for (; blocks < size; ++blocks) {
      Shape block;
      block.blocks = {blocks};
      model.shape.members.push_back(block);
      model.shape.blocks.push_back(blocks);
      if (blocks > 0)
        edges.push_back({blocks - 1, blocks});
    }
    // Connections that skip blocks of the chain.
    for (int64_t skips = number(random, 0, 2); skips > 0 && size > 2; --skips) {
      int from = static_cast<int>(number(random, 0, size - 3));
      edges.push_back(
          {from, static_cast<int>(number(random, from + 2, size - 1))});
    }
  }
  problem.devices = number(random, 1, branches ? 4 : 5);
  problem.mostReplicas = number(random, 1, problem.devices);
  problem.batches = int64_t(1) << number(random, 0, 4);
  problem.bandwidth = static_cast<double>(number(random, 1, 20));
  problem.latency = number(random, 0, 4) / 8.0;
  problem.splits = number(random, 0, 3) > 0;
  problem.leastStages =
      number(random, 1, std::min<int64_t>(2, problem.devices));
  for (int b = 0; b < blocks; ++b) {
    StageProblem::Block &block = problem.blocks.emplace_back();
    StageTimes alone{number(random, 0, 40) / 4.0, number(random, 0, 40) / 4.0,
                     number(random, 0, 40) / 4.0};
    for (int64_t d = 1; d <= problem.devices; ++d) {
      double scale = (1 + number(random, 0, 2) / 4.0) / d;
      block.times.push_back(d == 1 ? alone
                                   : StageTimes{alone.forward * scale,
                                                alone.backward * scale,
                                                alone.weight * scale});
    }
    block.activations = static_cast<double>(number(random, 0, 9));
    block.held = static_cast<double>(number(random, 0, 20));
    block.exchanged = static_cast<double>(number(random, 0, 60));
  }
  std::vector<std::vector<int>> consumers(blocks);
  for (auto [from, to] : edges)
    if (!std::count(consumers[from].begin(), consumers[from].end(), to))
      consumers[from].push_back(to);
  for (int b = 0; b < blocks; ++b)
    if (!consumers[b].empty())
      problem.tensors.push_back(
          {b, consumers[b], static_cast<double>(number(random, 0, 30))});
  switch (number(random, 0, 2)) {
  case 0:
    problem.stashes = [m = problem.batches](int64_t) { return double(m); };
    break;
  default:
    problem.stashes = [m = problem.batches](int64_t depth) {
      return double(std::min(m, depth));
    };
  }
  problem.memory =
      number(random, 0, 2) ? 1e9 : static_cast<double>(number(random, 30, 150));
  return model;
}

/// All cuts, told from the beginning of the model to its end.
class AllCuts {
public:
  explicit AllCuts(const Model &model) : problem(model.problem) {
    piecesOf(model.shape, [&](const Piece &piece) { price(piece); });
  }
  double least = never;

private:
  const StageProblem &problem;
  /// A cut of a series: one behind the other stages, or branches beside each
  /// other.
  struct Piece {
    struct Member {
      std::vector<int> blocks; ///< a stage's, on so many devices
      int64_t devices = 0;
      std::vector<Piece> branches; ///< or these
    };
    std::vector<Member> members;
    int64_t devices = 0;
  };
  using Visit = std::function<void(const Piece &)>;

  void piecesOf(const Shape &series, const Visit &visit) {
    Piece piece;
    extend(series, 0, piece, visit);
  }
  void extend(const Shape &series, size_t at, Piece &piece,
              const Visit &visit) {
    if (piece.devices > problem.devices)
      return;
    if (at == series.members.size())
      return visit(piece);
    std::vector<int> blocks;
    for (size_t end = at; end < series.members.size(); ++end) {
      const std::vector<int> &more = series.members[end].blocks;
      blocks.insert(blocks.end(), more.begin(), more.end());
      for (int64_t d = problem.unit; d <= problem.mostReplicas;
           d += problem.unit) {
        piece.members.push_back({blocks, d, {}});
        piece.devices += d;
        extend(series, end + 1, piece, visit);
        piece.devices -= d;
        piece.members.pop_back();
      }
    }
    if (problem.splits && !series.members[at].branches.empty()) {
      Piece::Member member;
      splitInto(series, at, member, piece, visit);
    }
  }
  void splitInto(const Shape &series, size_t at, const Piece::Member &member,
                 Piece &piece, const Visit &visit) {
    const std::vector<Shape> &branches = series.members[at].branches;
    if (member.branches.size() == branches.size()) {
      piece.members.push_back(member);
      extend(series, at + 1, piece, visit);
      piece.members.pop_back();
      return;
    }
    piecesOf(branches[member.branches.size()], [&](const Piece &branch) {
      Piece::Member more = member;
      more.branches.push_back(branch);
      piece.devices += branch.devices;
      if (piece.devices <= problem.devices)
        splitInto(series, at, more, piece, visit);
      piece.devices -= branch.devices;
    });
  }

  struct Sum {
    int64_t depth = 0;
    double through = 0, left = 0;
  };
  void price(const Piece &piece) {
    busiest = 0;
    fits = true;
    Sum sum = priceOf(piece, {});
    if (fits && sum.depth >= problem.leastStages)
      least = std::min(least, sum.through + (problem.batches - 1) * busiest +
                                  sum.left);
  }
  Sum priceOf(const Piece &piece, Sum sum) {
    for (const auto &member : llvm::reverse(piece.members)) {
      if (member.branches.empty()) {
        sum = priceOf(member, sum);
        continue;
      }
      Sum all = sum;
      double longest = 0;
      for (const Piece &branch : member.branches) {
        Sum one = priceOf(branch, {sum.depth, 0, 0});
        all.depth = std::max(all.depth, one.depth);
        all.left = std::max(all.left, one.left);
        longest = std::max(longest, one.through);
      }
      all.through += longest;
      sum = all;
    }
    return sum;
  }
  Sum priceOf(const Piece::Member &stage, Sum sum) {
    std::set<int> here(stage.blocks.begin(), stage.blocks.end());
    double forward = 0, backward = 0, weight = 0, held = 0, stash = 0, in = 0,
           out = 0, parameters = 0;
    const double d = static_cast<double>(stage.devices);
    for (int b : here) {
      const StageProblem::Block &block = problem.blocks[b];
      const StageTimes &times = block.times[stage.devices / problem.unit - 1];
      forward += times.forward;
      backward += times.backward;
      weight += times.weight;
      held += block.held;
      stash += block.activations / d;
      parameters += block.exchanged;
    }
    for (const StageProblem::Tensor &tensor : problem.tensors) {
      bool reads = false, sends = false;
      for (int consumer : tensor.consumers)
        (here.count(consumer) ? reads : sends) = true;
      if (here.count(tensor.producer))
        out += sends ? tensor.bytes / d : 0;
      else
        in += reads ? tensor.bytes / d : 0;
    }
    double arrival = in > 0 ? problem.latency + in / problem.bandwidth : 0;
    double sync = d > 1 && parameters > 0
                      ? 2 * problem.latency +
                            2 * (d - 1) / d * parameters / problem.bandwidth
                      : 0;
    ++sum.depth;
    sum.through += forward + backward + weight + 2 * arrival;
    sum.left = std::max(sync, sum.left - (backward + weight + arrival));
    busiest = std::max(
        {busiest, forward + backward + weight, (in + out) / problem.bandwidth});
    fits &= held + problem.stashes(sum.depth) * (stash + in) <= problem.memory;
    return sum;
  }
  double busiest = 0;
  bool fits = true;
};

/// Checks that stages have each block once and stand behind those that they
/// read.
void expectAPipeline(const StageProblem &problem, const StageCut &cut) {
  std::vector<int> stageOf(problem.blocks.size(), -1);
  int64_t devices = 0;
  for (size_t s = 0; s < cut.stages.size(); ++s) {
    devices += cut.stages[s].devices;
    for (int block : cut.stages[s].blocks) {
      EXPECT_EQ(stageOf[block], -1);
      stageOf[block] = static_cast<int>(s);
    }
  }
  EXPECT_LE(devices, problem.devices);
  for (const StageProblem::Tensor &tensor : problem.tensors)
    for (int consumer : tensor.consumers)
      EXPECT_LE(stageOf[tensor.producer], stageOf[consumer]);
  EXPECT_EQ(std::count(stageOf.begin(), stageOf.end(), -1), 0);
}

/// `unit`: so many times the devices, which are taken by so many.
void compare(bool branches, int trials, int64_t unit = 1) {
  int found = 0, split = 0;
  double behind = 1;
  for (int seed = 0; seed < trials; ++seed) {
    Random random(seed);
    SCOPED_TRACE("seed " + std::to_string(seed));
    Model model = makeModel(random, branches);
    model.problem.unit = unit;
    model.problem.devices *= unit;
    model.problem.mostReplicas *= unit;
    AllCuts all(model);
    std::optional<StageCut> cut = solveStages(model.problem);
    ASSERT_EQ(cut.has_value(), all.least < never);
    if (!cut)
      continue;
    ++found;
    ASSERT_NEAR(cut->cost, all.least, 1e-9 * all.least);
    expectAPipeline(model.problem, *cut);
    // Given up at once, the search is coarse: legal, and not far behind.
    std::optional<StageCut> coarse = solveStages(model.problem, /*limit=*/-1);
    ASSERT_TRUE(coarse);
    expectAPipeline(model.problem, *coarse);
    behind = std::max(behind, coarse->cost / all.least);
    split += cut->stages.size() > 1;
  }
  // The generator makes problems of all kinds.
  EXPECT_GT(found, trials / 2);
  EXPECT_GT(split, trials / 4);
  EXPECT_LT(found, trials);
  EXPECT_LT(behind, 1.25);
}

TEST(StageProblem, chainsHaveTheLeastCostOfAllCuts) { compare(false, 500); }
TEST(StageProblem, branchesHaveTheLeastCostOfAllCuts) { compare(true, 500); }
TEST(StageProblem, unitsOfDevicesHaveTheLeastCostOfAllCuts) {
  compare(false, 200, 2);
  compare(true, 200, 3);
}

TEST(StageProblem, exactlySoManyStagesIfAsked) {
  for (int seed = 0; seed < 50; ++seed) {
    Random random(seed);
    Model model = makeModel(random, false);
    model.problem.memory = 1e9;
    for (int64_t stages = 1; stages <= model.problem.devices; ++stages) {
      model.problem.leastStages = model.problem.mostStages = stages;
      std::optional<StageCut> cut = solveStages(model.problem);
      ASSERT_EQ(cut.has_value(),
                stages <= int64_t(model.problem.blocks.size()));
      EXPECT_EQ(cut ? int64_t(cut->stages.size()) : stages, stages);
    }
  }
}

TEST(SeriesParallel, edgesThatSkipPartNothing) {
  // A residual block, an inception block, and what is not series-parallel.
  Series series = seriesOf(10, {{0, 1},
                                {1, 2},
                                {0, 2},
                                {2, 3},
                                {2, 4},
                                {4, 5},
                                {3, 6},
                                {5, 6},
                                {2, 6},
                                {6, 7},
                                {6, 8},
                                {7, 8},
                                {8, 9}});
  ASSERT_EQ(series.members.size(), 8u);
  EXPECT_EQ(series.members[3].blocks, (std::vector<int>{3, 4, 5}));
  ASSERT_EQ(series.members[3].branches.size(), 2u);
  EXPECT_EQ(series.members[3].branches[1].members.size(), 2u);
}

} // namespace
