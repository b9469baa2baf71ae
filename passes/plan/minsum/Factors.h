//===- Factors.h - Walking through tables of costs --------------*- C++ -*-===//
//
// How the table of a factor lies in memory, for all solvers of this room:
// row-major over the values of its variables, the last variable fastest.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MINSUM_FACTORS_H
#define LWCC_PASSES_PLAN_MINSUM_FACTORS_H

#include "passes/plan/minsum/MinSum.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

namespace lwcc::plan {

/// The index of a choice's cost in a factor's table.
inline size_t indexOf(const Factor &factor, const std::vector<int> &values,
                      const std::vector<int> &choice) {
  size_t at = 0;
  for (int variable : factor.variables)
    at = at * values[variable] + choice[variable];
  return at;
}

/// Steps to the next choice of these variables, in row-major order.
inline void advance(std::vector<int> &choice, llvm::ArrayRef<int> variables,
                    const std::vector<int> &values) {
  for (int variable : llvm::reverse(variables)) {
    if (++choice[variable] < values[variable])
      return;
    choice[variable] = 0;
  }
}

/// A factor's table as [outer][own][inner], `own` being one of its variables.
struct Strides {
  size_t outer, own, inner;
  Strides(const Factor &factor, int variable, const std::vector<int> &values)
      : own(values[variable]), inner(1) {
    auto at = llvm::find(factor.variables, variable);
    for (++at; at != factor.variables.end(); ++at)
      inner *= values[*at];
    outer = factor.costs.size() / (own * inner);
  }
};

/// For each variable, the factors that it is in.
inline std::vector<std::vector<int>> factorsOf(const MinSum &problem) {
  std::vector<std::vector<int>> result(problem.values.size());
  for (auto [f, factor] : llvm::enumerate(problem.factors))
    for (int v : factor.variables)
      result[v].push_back(static_cast<int>(f));
  return result;
}

/// Removes the values of a variable that are `dead`. `own` are the factors that
/// the variable is in.
inline void dropValues(MinSum &problem, int variable,
                       const std::vector<bool> &dead, llvm::ArrayRef<int> own) {
  for (int f : own) {
    Factor &factor = problem.factors[f];
    Strides s(factor, variable, problem.values);
    std::vector<double> costs;
    for (size_t o = 0; o < s.outer; ++o)
      for (size_t x = 0; x < s.own; ++x)
        if (!dead[x]) {
          const double *from = factor.costs.data() + (o * s.own + x) * s.inner;
          costs.insert(costs.end(), from, from + s.inner);
        }
    factor.costs = std::move(costs);
  }
  problem.values[variable] = static_cast<int>(llvm::count(dead, false));
}

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MINSUM_FACTORS_H
