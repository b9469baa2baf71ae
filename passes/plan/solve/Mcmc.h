//===- Mcmc.h - A Markov chain over plans -----------------------*- C++ -*-===//
//
// FlexFlow's search (Jia et al. 2019, 6): draw one layer and a new way to cut
// and place it; keep the change if the simulated step gets quicker, and with
// probability exp(beta (old - new)) if it gets slower. Layers that follow
// others are changed with them. What would not fit into the devices' memory is
// never kept; a start that does not fit shrinks until it does.
//
// The paper does not give beta; here a step that is 1 % slower than the start
// is kept once in twenty times. A chain ends after so many proposals, or when
// the second half of those so far found nothing better (the paper's rule, in
// proposals instead of time, so that equal inputs give equal plans), or at the
// deadline.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_MCMC_H
#define LWCC_PASSES_PLAN_SOLVE_MCMC_H

#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

#include <chrono>
#include <random>

namespace lwcc::plan {

class Chain {
public:
  using Clock = std::chrono::steady_clock;
  /// The deadline of all its runs is as far away as the problem allows.
  Chain(const Problem &problem, Simulator &simulator);

  /// Is told of each proposal, before it is kept or not.
  using Observer = llvm::function_ref<void(
      llvm::ArrayRef<Simulator::Change> changes, Ticks step)>;
  /// Follows a chain; whether it ended before the deadline.
  bool run(const Tilings &start, int64_t proposals, Observer observe = {});
  /// Every layer cut and placed at random.
  Tilings randomTilings();

  /// The quickest step that any run met, among those that fit. If none fits,
  /// the one that comes nearest.
  const Tilings &best() const { return bestTilings; }
  Ticks bestStep() const { return bestTicks; }
  bool fits() const { return bestMemory <= capacity; }
  int64_t groups() const { return static_cast<int64_t>(space.size()); }

private:
  struct Group {
    LayerGroup layers;
    std::vector<Tiling> tilings; ///< of the leader
  };
  int64_t below(int64_t count);
  /// A tiling of a group's leader, placed.
  Tiling draw(const Group &group);
  /// One layer, and what follows it, cut and placed at random.
  std::vector<Simulator::Change> randomChange(const Group &group);
  void note(const Tilings &tilings, Ticks step, int64_t memory);

  const Problem &problem;
  Simulator &simulator;
  const Clock::time_point deadline;
  const int64_t capacity;
  std::vector<Group> space;
  std::mt19937_64 random;
  Tilings bestTilings;
  Ticks bestTicks = 0;
  int64_t bestMemory = 0;
};

/// The warning of a plan whose search met its deadline.
std::string outOfTime(const Problem &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_MCMC_H
