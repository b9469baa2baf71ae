//===- Mcmc.h - A Markov chain over plans -----------------------*- C++ -*-===//
//
// FlexFlow's search (Jia et al. 2019, 6): a Markov chain over plans. A proposal
// draws one group of layers and a new way to cut and place it, or several that
// belong together (GroupSets.h), which are cut alike or moved. The chain keeps
// it if the simulated step gets quicker, and with probability exp(beta (old -
// new)) if it gets slower. A proposal that does not fit into the devices'
// memory is never kept; a start that does not fit shrinks until it does.
//
// The paper does not give beta. Here a step that is 1 % slower than the start
// is kept once in twenty times. A chain ends after a number of proposals, at
// the deadline, or when the second half of the proposals so far found nothing
// better. The last is the paper's rule, counted in proposals instead of time,
// so that equal inputs give equal plans.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_MCMC_H
#define LWCC_PASSES_PLAN_SOLVE_MCMC_H

#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/GroupSets.h"
#include "passes/plan/solve/Solvers.h"

#include <chrono>
#include <random>

namespace lwcc::plan {

class Chain {
public:
  using Clock = std::chrono::steady_clock;
  /// The deadline of all runs together is `problem.search.seconds` from now.
  Chain(const Problem &problem, Simulator &simulator);

  /// Is told each proposal and its step, before it is known whether it is kept.
  using Observer = llvm::function_ref<void(
      llvm::ArrayRef<Simulator::Change> changes, Ticks step)>;
  /// Follows a chain. Returns whether it ended before the deadline.
  bool run(const Tilings &start, int64_t proposals, Observer observe = {});
  /// Follows further chains, each from the best so far with some groups
  /// changed at random, until `most` of them in a row have found nothing
  /// better. Returns whether they ended before the deadline.
  bool restart(int64_t proposals, int most);
  /// Every layer cut and placed at random.
  Tilings randomTilings();

  /// The tilings with the quickest step that any run met, among those that fit
  /// into memory. If none fits, those that need least.
  const Tilings &best() const { return bestTilings; }
  Ticks bestStep() const { return bestTicks; }
  bool fits() const { return bestMemory <= capacity; }
  Clock::time_point until() const { return deadline; }
  int64_t groups() const { return static_cast<int64_t>(space.size()); }

private:
  struct Group {
    LayerGroup layers;
    std::vector<Tiling> tilings; ///< of the leader
  };
  int64_t below(int64_t count);
  /// A random tiling of a group's leader, with random places.
  Tiling draw(const Group &group);
  /// The leader cut like this, and what follows it.
  std::vector<Simulator::Change> changesTo(const Group &group,
                                           const Tiling &leader) const;
  /// One group or several, cut and placed at random. Of what the simulator has.
  std::vector<Simulator::Change> randomChange();
  void note(const Tilings &tilings, Ticks step, int64_t memory);

  const Problem &problem;
  Simulator &simulator;
  const Clock::time_point deadline;
  const int64_t capacity;
  std::vector<Group> space;
  std::vector<GroupSet> sets;
  std::mt19937_64 random;
  Tilings bestTilings;
  Ticks bestTicks = 0;
  int64_t bestMemory = 0;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_MCMC_H
