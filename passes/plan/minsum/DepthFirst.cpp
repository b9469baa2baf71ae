//===- DepthFirst.cpp - The search that OptCNN compares with --------------===//

#include "passes/plan/minsum/DepthFirst.h"
#include "passes/plan/minsum/Factors.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::plan;

namespace {
class Search {
public:
  Search(const MinSum &problem, double limit)
      : problem(problem), limit(limit), added(problem.values.size()),
        rest(problem.values.size() + 1, 0), choice(problem.values.size(), 0) {
    double constant = 0;
    for (const Factor &factor : problem.factors)
      if (factor.variables.empty())
        constant += factor.costs[0];
      else
        added[factor.variables.back()].push_back(&factor);
    for (size_t v = added.size(); v-- > 0;)
      rest[v] = rest[v + 1] + leastOf(v);
    best.cost = infinity;
    best.finished = true;
    go(0, constant);
  }

  DepthFirstSolution best;

private:
  /// What a variable adds at the least, whatever the others are.
  double leastOf(size_t variable) const {
    std::vector<double> sums(problem.values[variable], 0);
    for (const Factor *factor : added[variable])
      for (size_t x = 0; x < sums.size(); ++x) {
        double least = infinity; // the variable is the factor's last one
        for (size_t i = x; i < factor->costs.size(); i += sums.size())
          least = std::min(least, factor->costs[i]);
        sums[x] += least;
      }
    return *llvm::min_element(sums);
  }

  /// All values of a variable, where those before it cost `sum`.
  void go(size_t variable, double sum) {
    if (variable == choice.size()) {
      best.choice = choice;
      best.cost = sum;
      return;
    }
    for (int &x = choice[variable] = 0; x < problem.values[variable]; ++x) {
      if (best.visited >= limit && best.cost < infinity) {
        best.finished = false;
        return;
      }
      ++best.visited;
      double with = sum;
      for (const Factor *factor : added[variable])
        with += factor->costs[indexOf(*factor, problem.values, choice)];
      if (with + rest[variable + 1] < best.cost)
        go(variable + 1, with);
    }
  }

  const MinSum &problem;
  double limit;
  std::vector<std::vector<const Factor *>> added; ///< by their last variable
  std::vector<double> rest; ///< what a variable and those after it add at least
  std::vector<int> choice;
};
} // namespace

DepthFirstSolution lwcc::plan::searchDepthFirst(const MinSum &problem,
                                                double limit) {
  DepthFirstSolution found = Search(problem, limit).best;
  found.cost = problem.costOf(found.choice);
  return found;
}
