//===- MinSum.h - The cheapest choice under a sum of tables -----*- C++ -*-===//
//
// Defines the nouns of this room. It knows nothing of layers and machines.
//
//   variable  something to be chosen; it has finitely many values
//   factor    a table of costs over a few variables, one cost for each
//             combination of their values
//   choice    a value for every variable; its cost is the sum of all factors
//   neighbour of a variable: one that is in a factor with it
//
// solve() finds a choice of least cost by variable elimination. To eliminate a
// variable is to replace its factors by one factor over its neighbours, which
// holds the least that the variable can add. The variable with the fewest
// neighbours goes first (order of least degree). OptCNN's node and edge
// elimination (Jia et al. 2018, 5.2, Algorithm 1) are the cases of two
// neighbours and of one. The solution is exact as long as the tables fit into
// the limit.
//
// Before that, two filters drop values: DeadEnds.h those that can never be
// best, Bounds.h those with which no choice is as cheap as a known one.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_MINSUM_H
#define LWCC_PASSES_PLAN_MINSUM_MINSUM_H

#include <cstdint>
#include <limits>
#include <vector>

namespace lwcc::plan {

/// The cost of what cannot be.
inline constexpr double infinity = std::numeric_limits<double>::infinity();

struct Factor {
  std::vector<int> variables; ///< different ones, in rising order
  std::vector<double> costs;  ///< row-major over their values
};

struct MinSum {
  std::vector<int> values; ///< how many values each variable has
  std::vector<Factor> factors;

  /// The sum of all factors at these values.
  double costOf(const std::vector<int> &choice) const;
};

struct MinSumSolution {
  std::vector<int> choice; ///< a value per variable
  double cost = 0;
  int width = 0; ///< most neighbours that a variable had when it went
  /// No choice costs less than this. Equals `cost` where the search was exact.
  double bound = 0;
};

/// `limit` is how many sums may be formed to eliminate one variable. Where that
/// is not enough, the neighbours with the most values are fixed at their
/// cheapest values, and `bound` tells how much cheaper an exact solution may
/// be. The same problem has the same solution on every run.
MinSumSolution solve(const MinSum &problem, double limit = 4e9);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_MINSUM_H
