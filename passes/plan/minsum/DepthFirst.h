//===- DepthFirst.h - The search that OptCNN compares with ------*- C++ -*-===//
//
// Depth-first search over all choices, with branch and bound: a partial choice
// that cannot become cheaper than the best known one is abandoned. It is the
// baseline of Jia et al. 2018 (Table 3). It finds what solve() of MinSum.h
// finds, by nothing but the definition of the sum; tests compare the two, and
// so does whoever wants their times.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_DEPTHFIRST_H
#define LWCC_PASSES_PLAN_MINSUM_DEPTHFIRST_H

#include "passes/plan/minsum/MinSum.h"

namespace lwcc::plan {

struct DepthFirstSolution {
  /// The cheapest that was found, a value per variable.
  std::vector<int> choice;
  double cost = 0;
  double visited = 0; ///< how many values were tried
  /// Whether every choice was tried or ruled out; else a cheaper one may exist.
  bool finished = false;
};

/// Tries the values of each variable in order, variable by variable. Gives up
/// after `limit` values, but not before it has one complete choice.
DepthFirstSolution searchDepthFirst(const MinSum &problem, double limit);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_DEPTHFIRST_H
