//===- MinSum.cpp - The cheapest choice under a sum of tables -------------===//

#include "passes/plan/minsum/MinSum.h"
#include "passes/plan/minsum/Bounds.h"
#include "passes/plan/minsum/DeadEnds.h"
#include "passes/plan/minsum/Factors.h"
#include "passes/plan/minsum/LeastOver.h"

#include <algorithm>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

double MinSum::costOf(const std::vector<int> &choice) const {
  double total = 0;
  for (const Factor &factor : factors)
    total += factor.costs[indexOf(factor, values, choice)];
  return total;
}

namespace {
/// A variable that is gone, and the factors that it was in: with them its value
/// is chosen once its neighbours' are known.
struct Elimination {
  int variable;
  std::vector<Factor> own;
};

class Solver {
public:
  Solver(MinSum problem, double limit)
      : values(std::move(problem.values)), factors(std::move(problem.factors)),
        limit(limit), neighbours(values.size()), fixed(values.size(), -1) {
    for (const Factor &factor : factors)
      join(factor.variables);
    for (int v = 0; v < static_cast<int>(values.size()); ++v)
      remaining.insert(v);
  }

  /// Without `cost`, which is the original problem's.
  MinSumSolution run() {
    while (!remaining.empty())
      eliminate(cheapest());
    MinSumSolution solution;
    solution.choice.assign(values.size(), 0);
    for (auto [v, value] : llvm::enumerate(fixed))
      if (value >= 0)
        solution.choice[v] = value;
    for (const Elimination &step : llvm::reverse(steps))
      solution.choice[step.variable] = bestOf(step, solution.choice);
    solution.width = width;
    return solution;
  }
  /// How much less the least cost may be, because variables were fixed.
  double mostLost() const { return lost; }

private:
  /// Makes neighbours of variables.
  void join(llvm::ArrayRef<int> variables) {
    for (int a : variables)
      for (int b : variables)
        if (a != b)
          neighbours[a].insert(b);
  }
  /// Takes a variable off the graph.
  void remove(int variable) {
    for (int neighbour : neighbours[variable])
      neighbours[neighbour].erase(variable);
    remaining.erase(variable);
  }
  /// How many sums are formed to eliminate a variable.
  double workOf(int variable) const {
    double result = values[variable];
    for (int v : neighbours[variable])
      result *= values[v];
    return result;
  }
  int cheapest() const;
  void eliminate(int variable);
  void add(Factor made);
  int bestOf(const Elimination &step, std::vector<int> choice) const;
  void fix(int variable);

  std::vector<int> values;
  std::vector<Factor> factors;
  double limit, lost = 0;
  std::set<int> remaining;
  std::vector<std::set<int>> neighbours; ///< among those remaining
  std::vector<int> fixed;                ///< its value, -1: not fixed
  std::vector<Elimination> steps;
  int width = 0;
};
} // namespace

/// The variable with the smallest table to be made, the first of those.
int Solver::cheapest() const {
  int best = -1;
  double least = infinity;
  for (int v : remaining)
    if (double work = workOf(v); work < least) {
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
    std::vector<double> low(count, infinity);
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
  remove(variable);
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

void Solver::eliminate(int variable) {
  std::vector<int> around(neighbours[variable].begin(),
                          neighbours[variable].end());
  if (workOf(variable) > limit) {
    // Never the variable itself: it would leave its neighbours as they are.
    fix(*llvm::max_element(
        around, [&](int a, int b) { return values[a] < values[b]; }));
    return;
  }
  width = std::max(width, static_cast<int>(around.size()));
  remove(variable);
  join(around);
  Elimination step{variable, {}};
  std::vector<Factor> others;
  for (Factor &factor : factors)
    (llvm::is_contained(factor.variables, variable) ? step.own : others)
        .push_back(std::move(factor));
  factors = std::move(others);
  if (!around.empty())
    add(leastOver(variable, around, step.own, values));
  steps.push_back(std::move(step));
}

/// Factors over the same variables are one (edge elimination).
void Solver::add(Factor made) {
  auto same = llvm::find_if(factors, [&](const Factor &factor) {
    return factor.variables == made.variables;
  });
  if (same == factors.end())
    factors.push_back(std::move(made));
  else
    for (size_t i = 0; i < made.costs.size(); ++i)
      same->costs[i] += made.costs[i];
}

/// What is best for an eliminated variable when the later ones are chosen.
int Solver::bestOf(const Elimination &step, std::vector<int> choice) const {
  int best = 0;
  double least = infinity;
  for (int x = 0; x < values[step.variable]; ++x) {
    choice[step.variable] = x;
    double sum = 0;
    for (const Factor &factor : step.own)
      sum += factor.costs[indexOf(factor, values, choice)];
    if (sum < least) {
      least = sum;
      best = x;
    }
  }
  return best;
}

/// Of what was kept, only this.
static void keep(std::vector<std::vector<int>> &kept,
                 const std::vector<std::vector<int>> &ofThese) {
  for (auto [values, left] : llvm::zip_equal(kept, ofThese)) {
    std::vector<int> both;
    for (int value : left)
      both.push_back(values[value]);
    values = std::move(both);
  }
}

MinSumSolution lwcc::plan::solve(const MinSum &problem, double limit) {
  MinSum smaller = problem;
  std::vector<std::vector<int>> kept = dropByBound(smaller);
  keep(kept, dropDeadEnds(smaller));
  Solver solver(std::move(smaller), limit);
  MinSumSolution solution = solver.run();
  for (auto [v, value] : llvm::enumerate(solution.choice))
    value = kept[v][value];
  solution.cost = problem.costOf(solution.choice);
  solution.bound = solution.cost - solver.mostLost();
  return solution;
}
