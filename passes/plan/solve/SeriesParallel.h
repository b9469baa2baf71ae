//===- SeriesParallel.h - Series and branches of a graph --------*- C++ -*-===//
//
// Takes a graph apart into a series of blocks and of branches, whose branches
// are series again. Edges may skip members of a series. A piece in which no
// block stands before or behind all others, and which does not fall apart, is
// not series-parallel: it becomes a series in the given order.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SERIESPARALLEL_H
#define LWCC_PASSES_PLAN_SOLVE_SERIESPARALLEL_H

#include <utility>
#include <vector>

namespace lwcc::plan {

/// Members of a series in order; a member is a block, or branches.
struct Series {
  struct Member {
    std::vector<int> blocks;      ///< all of them, ascending
    std::vector<Series> branches; ///< at least two, or none
  };
  std::vector<Member> members;
};

/// `edges` go from smaller numbers to larger ones.
Series seriesOf(int blocks, const std::vector<std::pair<int, int>> &edges);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SERIESPARALLEL_H
