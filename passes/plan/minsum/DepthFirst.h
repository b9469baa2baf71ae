//===- DepthFirst.h - The search that OptCNN compares with ------*- C++ -*-===//
//
// Depth-first search over all choices (the baseline of Jia et al. 2018, Table
// 3), here with branch and bound: what cannot become cheaper than the best
// choice known is not gone into. It finds what solve() of MinSum.h finds, by
// nothing but the definition of the sum: to check that, and to compare times.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_DEPTHFIRST_H
#define LWCC_PASSES_PLAN_MINSUM_DEPTHFIRST_H

#include "passes/plan/minsum/MinSum.h"

namespace lwcc::plan {

struct DepthFirstSolution {
  std::vector<int>
      choice; ///< the cheapest that was found, a value per variable
  double cost = 0;
  double visited = 0; ///< how many values were tried
  /// Whether all choices were looked at; else a cheaper one may exist.
  bool finished = false;
};

/// Variables are chosen in order, their values are tried in order. Gives up
/// when `limit` values were tried, but not before it has one choice.
DepthFirstSolution searchDepthFirst(const MinSum &problem, double limit);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_DEPTHFIRST_H
