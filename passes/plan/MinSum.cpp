//===- MinSum.cpp - The cheapest choice under a sum of tables -------------===//

#include "passes/plan/MinSum.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>
#include <set>

using namespace lwcc::plan;

double MinSum::costOf(const std::vector<int> &choice) const {
  double total = 0;
  for (const Factor &factor : factors) {
    size_t at = 0;
    for (int variable : factor.variables)
      at = at * values[variable] + choice[variable];
    total += factor.costs[at];
  }
  return total;
}

namespace {
/// How the costs of a factor are laid out along one of its variables.
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

/// What is chosen for a variable once its neighbours are known.
struct Elimination {
  int variable;
  std::vector<int> neighbours;
  std::vector<int> best; ///< row-major over the neighbours' values
};

class Solver {
public:
  Solver(const MinSum &problem, double limit)
      : values(problem.values), factors(problem.factors), limit(limit),
        fixed(problem.values.size(), -1) {
    for (int v = 0; v < static_cast<int>(values.size()); ++v) {
      remaining.insert(v);
      kept.emplace_back(values[v]);
      std::iota(kept[v].begin(), kept[v].end(), 0);
    }
  }

  MinSumSolution run(const MinSum &problem) {
    prune();
    while (!remaining.empty())
      eliminate(cheapest());
    MinSumSolution solution;
    solution.choice.assign(values.size(), 0);
    for (auto [v, value] : llvm::enumerate(fixed))
      if (value >= 0)
        solution.choice[v] = value;
    for (const Elimination &step : llvm::reverse(steps)) {
      size_t at = 0;
      for (int n : step.neighbours)
        at = at * values[n] + solution.choice[n];
      solution.choice[step.variable] = step.best[at];
    }
    for (auto [v, value] : llvm::enumerate(solution.choice))
      value = kept[v][value];
    solution.cost = problem.costOf(solution.choice);
    solution.width = width;
    solution.bound = solution.cost - lost;
    return solution;
  }

private:
  std::vector<int> neighboursOf(int variable) const {
    std::set<int> found;
    for (const Factor &factor : factors)
      if (llvm::is_contained(factor.variables, variable))
        found.insert(factor.variables.begin(), factor.variables.end());
    found.erase(variable);
    return {found.begin(), found.end()};
  }
  double product(const std::vector<int> &variables) const {
    double result = 1;
    for (int v : variables)
      result *= values[v];
    return result;
  }
  void prune();
  std::vector<bool> deadEnds(int variable,
                             const std::vector<int> &ownFactors) const;
  void keep(int variable, const std::vector<bool> &dead,
            const std::vector<int> &ownFactors);
  int cheapest() const;
  void eliminate(int variable);
  void fix(int variable);

  std::vector<int> values;
  std::vector<Factor> factors;
  double limit, lost = 0;
  std::set<int> remaining;
  std::vector<int> fixed; ///< its value, -1: not fixed
  /// Of each variable: which of the problem's values are left.
  std::vector<std::vector<int>> kept;
  std::vector<Elimination> steps;
  int width = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Dead ends
//===----------------------------------------------------------------------===//

void Solver::prune() {
  std::vector<std::vector<int>> ownFactors(values.size());
  for (auto [f, factor] : llvm::enumerate(factors))
    for (int v : factor.variables)
      ownFactors[v].push_back(static_cast<int>(f));
  // What one variable loses may make dead ends of its neighbours' values.
  std::set<int> open = remaining;
  while (!open.empty()) {
    int v = *open.begin();
    open.erase(open.begin());
    std::vector<bool> dead = deadEnds(v, ownFactors[v]);
    if (!llvm::is_contained(dead, true))
      continue;
    keep(v, dead, ownFactors[v]);
    for (int f : ownFactors[v])
      open.insert(factors[f].variables.begin(), factors[f].variables.end());
  }
}

/// Compares each value with the few that cost least where the neighbours are
/// kindest to them.
std::vector<bool> Solver::deadEnds(int variable,
                                   const std::vector<int> &ownFactors) const {
  constexpr size_t candidates = 6;
  size_t count = values[variable];
  std::vector<double> least(count, 0);
  std::vector<Factor> rows; // the variable's values lie one behind the other
  for (int f : ownFactors) {
    const Factor &factor = factors[f];
    Strides s(factor, variable, values);
    Factor &row = rows.emplace_back();
    row.costs.resize(factor.costs.size());
    for (size_t x = 0; x < count; ++x) {
      double *to = row.costs.data() + x * s.outer * s.inner;
      for (size_t o = 0; o < s.outer; ++o)
        for (size_t i = 0; i < s.inner; ++i)
          *to++ = factor.costs[(o * s.own + x) * s.inner + i];
      const double *from = row.costs.data() + x * s.outer * s.inner;
      least[x] += *std::min_element(from, from + s.outer * s.inner);
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
      // How much more than `x` the good one may cost.
      double more = 0;
      for (const Factor &row : rows) {
        size_t others = row.costs.size() / count;
        const double *a = row.costs.data() + good * others;
        const double *b = row.costs.data() + x * others;
        double worst = -std::numeric_limits<double>::infinity();
        for (size_t i = 0; i < others; ++i)
          worst = std::max(worst, a[i] - b[i]);
        more += worst;
      }
      dead[x] = more < 0 || (more == 0 && good < x);
    }
  return dead;
}

void Solver::keep(int variable, const std::vector<bool> &dead,
                  const std::vector<int> &ownFactors) {
  for (int f : ownFactors) {
    Factor &factor = factors[f];
    Strides s(factor, variable, values);
    std::vector<double> costs;
    for (size_t o = 0; o < s.outer; ++o)
      for (size_t x = 0; x < s.own; ++x)
        if (!dead[x]) {
          const double *from = factor.costs.data() + (o * s.own + x) * s.inner;
          costs.insert(costs.end(), from, from + s.inner);
        }
    factor.costs = std::move(costs);
  }
  std::vector<int> left;
  for (auto [x, value] : llvm::enumerate(kept[variable]))
    if (!dead[x])
      left.push_back(value);
  kept[variable] = std::move(left);
  values[variable] = static_cast<int>(kept[variable].size());
}

//===----------------------------------------------------------------------===//
// Elimination
//===----------------------------------------------------------------------===//

/// The variable with the smallest table to be made, the first of those.
int Solver::cheapest() const {
  int best = -1;
  double least = std::numeric_limits<double>::infinity();
  for (int v : remaining)
    if (double work = product(neighboursOf(v)) * values[v]; work < least) {
      least = work;
      best = v;
    }
  return best;
}

/// Chooses the value of a variable by what it costs at best, whatever the
/// others do, and notes what another value could have saved.
void Solver::fix(int variable) {
  size_t count = values[variable];
  std::vector<double> least(count, 0), most(count, 0);
  for (const Factor &factor : factors) {
    if (!llvm::is_contained(factor.variables, variable))
      continue;
    Strides s(factor, variable, values);
    std::vector<double> low(count, std::numeric_limits<double>::infinity());
    std::vector<double> high(count, 0);
    for (auto [i, cost] : llvm::enumerate(factor.costs)) {
      size_t value = i / s.inner % count;
      low[value] = std::min(low[value], cost);
      high[value] = std::max(high[value], cost);
    }
    for (size_t value = 0; value < count; ++value) {
      least[value] += low[value];
      most[value] += high[value];
    }
  }
  auto choice = std::min_element(most.begin(), most.end()) - most.begin();
  lost += most[choice] - *std::min_element(least.begin(), least.end());
  fixed[variable] = static_cast<int>(choice);
  remaining.erase(variable);
  for (Factor &factor : factors) {
    auto at = llvm::find(factor.variables, variable);
    if (at == factor.variables.end())
      continue;
    Strides s(factor, variable, values);
    std::vector<double> costs;
    for (size_t o = 0; o < s.outer; ++o) {
      const double *from = factor.costs.data() + (o * s.own + choice) * s.inner;
      costs.insert(costs.end(), from, from + s.inner);
    }
    factor.costs = std::move(costs);
    factor.variables.erase(at);
  }
}

/// The factor with `variable` as its last one, so that its values lie together.
static Factor withLast(const Factor &factor, int variable,
                       const std::vector<int> &values) {
  Strides s(factor, variable, values);
  Factor result;
  result.variables = factor.variables;
  result.variables.erase(llvm::find(result.variables, variable));
  result.variables.push_back(variable);
  result.costs.resize(factor.costs.size());
  for (size_t o = 0; o < s.outer; ++o)
    for (size_t x = 0; x < s.own; ++x)
      for (size_t i = 0; i < s.inner; ++i)
        result.costs[(o * s.inner + i) * s.own + x] =
            factor.costs[(o * s.own + x) * s.inner + i];
  return result;
}

void Solver::eliminate(int variable) {
  std::vector<int> neighbours = neighboursOf(variable);
  if (product(neighbours) * values[variable] > limit) {
    // Never the variable itself: it would leave its neighbours as they are.
    fix(*llvm::max_element(
        neighbours, [&](int a, int b) { return values[a] < values[b]; }));
    return;
  }
  width = std::max(width, static_cast<int>(neighbours.size()));
  std::vector<Factor> own, others;
  for (Factor &factor : factors)
    if (llvm::is_contained(factor.variables, variable))
      own.push_back(withLast(factor, variable, values));
    else
      others.push_back(std::move(factor));

  size_t count = values[variable],
         results = static_cast<size_t>(product(neighbours));
  Factor made{neighbours, std::vector<double>(results)};
  Elimination step{variable, neighbours, std::vector<int>(results)};
  std::vector<int> at(neighbours.size(), 0);
  std::vector<double> sums(count);
  for (size_t result = 0; result < results; ++result) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (const Factor &factor : own) {
      size_t row = 0;
      for (int v : llvm::ArrayRef(factor.variables).drop_back())
        row = row * values[v] +
              at[llvm::find(neighbours, v) - neighbours.begin()];
      const double *costs = factor.costs.data() + row * count;
      for (size_t x = 0; x < count; ++x)
        sums[x] += costs[x];
    }
    auto best = std::min_element(sums.begin(), sums.end());
    made.costs[result] = *best;
    step.best[result] = static_cast<int>(best - sums.begin());
    for (size_t d = neighbours.size(); d-- > 0;) {
      if (++at[d] < values[neighbours[d]])
        break;
      at[d] = 0;
    }
  }
  // Factors over the same variables are one (edge elimination).
  auto same = llvm::find_if(others, [&](const Factor &factor) {
    return factor.variables == made.variables;
  });
  if (same != others.end())
    for (size_t i = 0; i < results; ++i)
      same->costs[i] += made.costs[i];
  else if (!neighbours.empty())
    others.push_back(std::move(made));
  factors = std::move(others);
  steps.push_back(std::move(step));
  remaining.erase(variable);
}

MinSumSolution lwcc::plan::solve(const MinSum &problem, double limit) {
  return Solver(problem, limit).run(problem);
}
