//===- MinSum.h - The cheapest choice under a sum of tables -----*- C++ -*-===//
//
// Variables with finitely many values, and factors: tables of costs over a few
// variables each. solve() finds values whose total cost is least, by variable
// elimination along an order of least degree: a variable is replaced by a
// factor over its neighbours, which holds the least that it can add. OptCNN's
// node and edge elimination (Jia et al. 2018, 5.2, Alg. 1) are the cases of two
// and of one neighbour. Exact while the tables fit.
//
// Before that, values are dropped that can never be best (DeadEnds.h), and
// those with which no sum is as small as a known one (Bounds.h).
//
// Knows nothing of layers and machines.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_MINSUM_H
#define LWCC_PASSES_PLAN_MINSUM_MINSUM_H

#include <cstdint>
#include <vector>

namespace lwcc::plan {

struct Factor {
  std::vector<int> variables; ///< different ones, in rising order
  std::vector<double> costs;  ///< row-major over their values
};

struct MinSum {
  std::vector<int> values; ///< of each variable: how many
  std::vector<Factor> factors;

  /// The sum of all factors at these values.
  double costOf(const std::vector<int> &choice) const;
};

struct MinSumSolution {
  std::vector<int> choice; ///< a value per variable
  double cost = 0;
  int width = 0; ///< most neighbours of a variable when it was eliminated
  /// A sum that no choice goes below; the cost itself where it is exact.
  double bound = 0;
};

/// `limit` is how many sums may be formed to eliminate one variable. Where that
/// is not enough, the neighbours with most values are fixed at their cheapest
/// ones, and `bound` says what was lost at most. Same problem, same solution.
MinSumSolution solve(const MinSum &problem, double limit = 4e9);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_MINSUM_H
