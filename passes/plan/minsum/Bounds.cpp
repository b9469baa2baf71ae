//===- Bounds.cpp - Values that cost too much -----------------------------===//

#include "passes/plan/minsum/Bounds.h"
#include "passes/plan/minsum/Factors.h"

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
class Bounder {
public:
  explicit Bounder(MinSum &problem);

  /// Visits all variables in order, or in reverse.
  void sweep(bool forward);
  /// Drops what the sweeps found.
  void drop();
  std::vector<std::vector<int>> kept;

private:
  /// The least of a factor's costs for each value of a variable.
  std::vector<double> leastOf(int factor, int variable) const;
  /// Adds to a factor's costs by the value of a variable.
  void add(int factor, int variable, const std::vector<double> &costs,
           double sign);
  int other(int factor, int variable) const;

  MinSum &problem;
  /// The same problem after the moves. Its first factors have one variable
  /// each, in order.
  MinSum moved;
  std::vector<std::vector<int>> pairsOf; ///< of each variable, in `moved`
  std::vector<double> least;             ///< of each factor of `moved`
  std::vector<std::vector<bool>> dead;
  std::vector<int> choice;
  double cheapest = infinity; ///< of all choices that were tried
};
} // namespace

Bounder::Bounder(MinSum &problem)
    : kept(problem.values.size()), problem(problem),
      pairsOf(problem.values.size()), choice(problem.values.size(), -1) {
  int count = static_cast<int>(problem.values.size());
  moved.values = problem.values;
  for (int v = 0; v < count; ++v) {
    kept[v].resize(problem.values[v]);
    std::iota(kept[v].begin(), kept[v].end(), 0);
    dead.emplace_back(problem.values[v], false);
    moved.factors.push_back({{v}, std::vector<double>(problem.values[v])});
  }
  for (const Factor &factor : problem.factors) {
    if (factor.variables.size() == 1) {
      add(factor.variables[0], factor.variables[0], factor.costs, 1);
      continue;
    }
    // Factors of more than two variables stay as they are. The bound counts the
    // least of their costs.
    for (int v : factor.variables)
      if (factor.variables.size() == 2)
        pairsOf[v].push_back(static_cast<int>(moved.factors.size()));
    moved.factors.push_back(factor);
  }
  for (const Factor &factor : moved.factors)
    least.push_back(*llvm::min_element(factor.costs));
}

std::vector<double> Bounder::leastOf(int factor, int variable) const {
  const Factor &table = moved.factors[factor];
  Strides s(table, variable, moved.values);
  std::vector<double> result(s.own, infinity);
  const double *cost = table.costs.data();
  if (s.inner > 1) {
    for (double &each : result) {
      each = *std::min_element(cost, cost + s.inner);
      cost += s.inner;
    }
    return result;
  }
  for (size_t o = 0; o < s.outer; ++o)
    for (double &each : result)
      each = std::min(each, *cost++);
  return result;
}

void Bounder::add(int factor, int variable, const std::vector<double> &costs,
                  double sign) {
  Factor &table = moved.factors[factor];
  Strides s(table, variable, moved.values);
  double *cost = table.costs.data();
  for (size_t o = 0; o < s.outer; ++o)
    for (double more : costs)
      for (size_t i = 0; i < s.inner; ++i)
        *cost++ += sign * more;
}

int Bounder::other(int factor, int variable) const {
  const std::vector<int> &both = moved.factors[factor].variables;
  return both[0] == variable ? both[1] : both[0];
}

/// Visits the variables in turn. First it moves costs to the variable's own
/// factor: for each value, the least that each pair factor costs with it. The
/// own factor then holds all that is known against each value. Then it hands
/// equal shares of that to the pair factors of variables that come later.
void Bounder::sweep(bool forward) {
  int count = static_cast<int>(problem.values.size());
  for (int i = 0; i < count; ++i) {
    int v = forward ? i : count - 1 - i;
    std::vector<double> &own = moved.factors[v].costs;
    std::vector<double> score = own;
    size_t later = 0;
    for (int f : pairsOf[v]) {
      int w = other(f, v);
      bool isLater = forward ? w > v : w < v;
      later += isLater;
      std::vector<double> costs = leastOf(f, v);
      for (size_t x = 0; x < own.size(); ++x) {
        own[x] += costs[x];
        if (isLater)
          score[x] += costs[x];
      }
      // `score` extends the choice made so far to this variable.
      const Factor &table = moved.factors[f];
      Strides s(table, v, moved.values);
      if (!isLater)
        for (size_t x = 0; x < own.size(); ++x)
          score[x] += table.costs[s.inner > 1 ? x * s.inner + choice[w]
                                              : choice[w] * s.own + x];
      add(f, v, costs, -1);
      least[f] = 0;
    }
    choice[v] = static_cast<int>(llvm::min_element(score) - score.begin());
    least[v] = *llvm::min_element(own);
    double all = std::accumulate(least.begin(), least.end(), 0.0);
    for (size_t x = 0; x < own.size(); ++x)
      // Sums of rounded numbers are not compared to the last bit.
      dead[v][x] = dead[v][x] || all - least[v] + own[x] >
                                     cheapest + 1e-9 * std::abs(cheapest);
    if (later == 0)
      continue;
    std::vector<double> part = own;
    for (double &cost : part)
      cost /= static_cast<double>(later);
    for (int f : pairsOf[v])
      if (int w = other(f, v); forward ? w > v : w < v) {
        add(f, v, part, 1);
        least[f] = *llvm::min_element(part);
      }
    std::fill(own.begin(), own.end(), 0.0);
    least[v] = 0;
  }
  cheapest = std::min(cheapest, problem.costOf(choice));
}

void Bounder::drop() {
  std::vector<std::vector<int>> inProblem = factorsOf(problem),
                                inMoved = factorsOf(moved);
  for (auto [v, values] : llvm::enumerate(kept)) {
    if (!llvm::is_contained(dead[v], true))
      continue;
    dropValues(problem, v, dead[v], inProblem[v]);
    dropValues(moved, v, dead[v], inMoved[v]);
    std::vector<int> left;
    for (auto [x, value] : llvm::enumerate(values))
      if (!dead[v][x])
        left.push_back(value);
    values = std::move(left);
    dead[v].assign(values.size(), false);
  }
}

std::vector<std::vector<int>> lwcc::plan::dropByBound(MinSum &problem) {
  constexpr int sweeps = 20;
  Bounder bounder(problem);
  for (int i = 0; i < sweeps; ++i) {
    bounder.sweep(/*forward=*/true);
    bounder.sweep(/*forward=*/false);
    bounder.drop();
  }
  return bounder.kept;
}
