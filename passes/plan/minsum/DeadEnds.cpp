//===- DeadEnds.cpp - Values that can never be best -----------------------===//

#include "passes/plan/minsum/DeadEnds.h"
#include "passes/plan/minsum/Factors.h"

#include <algorithm>
#include <numeric>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

/// Which values of a variable are dead ends. The candidates to replace others
/// are the few values that cost least when every neighbour suits them best.
static std::vector<bool> deadEnds(const MinSum &problem, int variable,
                                  const std::vector<int> &ownFactors) {
  constexpr size_t candidates = 6;
  size_t count = problem.values[variable];
  /// A factor's costs, a row per value, and where each row is least.
  struct Rows {
    size_t length;
    std::vector<double> costs;
    std::vector<size_t> kindest;
    const double *operator[](size_t x) const { return &costs[x * length]; }
  };
  std::vector<double> least(count, 0);
  std::vector<Rows> all;
  for (int f : ownFactors) {
    const Factor &factor = problem.factors[f];
    Strides s(factor, variable, problem.values);
    Rows &rows = all.emplace_back();
    rows.length = s.outer * s.inner;
    rows.costs.reserve(factor.costs.size());
    for (size_t x = 0; x < count; ++x) {
      for (size_t o = 0; o < s.outer; ++o) {
        const double *from = &factor.costs[(o * s.own + x) * s.inner];
        rows.costs.insert(rows.costs.end(), from, from + s.inner);
      }
      const double *row = rows[x];
      rows.kindest.push_back(std::min_element(row, row + rows.length) - row);
      least[x] += row[rows.kindest[x]];
    }
  }
  std::vector<int> best(count);
  std::iota(best.begin(), best.end(), 0);
  std::stable_sort(best.begin(), best.end(),
                   [&](int a, int b) { return least[a] < least[b]; });
  best.resize(std::min(candidates, count));

  std::vector<bool> dead(count, false);
  for (int good : best)
    for (int x = 0; !dead[good] && x < static_cast<int>(count); ++x) {
      if (x == good || dead[x])
        continue;
      // How much more than `x` the good value may cost. A lower bound is the
      // difference where `x` is cheapest; it mostly rules the pair out already.
      double more = 0;
      for (const Rows &rows : all)
        more += rows[good][rows.kindest[x]] - rows[x][rows.kindest[x]];
      if (more > 0)
        continue;
      more = 0;
      for (const Rows &rows : all) {
        const double *a = rows[good], *b = rows[x];
        double worst = -infinity;
        for (size_t i = 0; i < rows.length; ++i)
          worst = std::max(worst, a[i] - b[i]);
        more += worst;
      }
      dead[x] = more < 0 || (more == 0 && good < x);
    }
  return dead;
}

std::vector<std::vector<int>> lwcc::plan::dropDeadEnds(MinSum &problem) {
  std::vector<std::vector<int>> kept(problem.values.size());
  std::set<int> open;
  for (auto [v, values] : llvm::enumerate(kept)) {
    values.resize(problem.values[v]);
    std::iota(values.begin(), values.end(), 0);
    open.insert(static_cast<int>(v));
  }
  std::vector<std::vector<int>> ownFactors = factorsOf(problem);
  // Dropping a value may turn values of the neighbours into dead ends.
  while (!open.empty()) {
    int v = *open.begin();
    open.erase(open.begin());
    std::vector<bool> dead = deadEnds(problem, v, ownFactors[v]);
    if (!llvm::is_contained(dead, true))
      continue;
    dropValues(problem, v, dead, ownFactors[v]);
    std::vector<int> left;
    for (auto [x, value] : llvm::enumerate(kept[v]))
      if (!dead[x])
        left.push_back(value);
    kept[v] = std::move(left);
    for (int f : ownFactors[v])
      open.insert(problem.factors[f].variables.begin(),
                  problem.factors[f].variables.end());
  }
  return kept;
}
