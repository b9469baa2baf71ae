//===- Savings.h - What each decision of a plan saves -----------*- C++ -*-===//
//
// What a plan gains by the way in which it cuts each group of layers: how much
// longer the simulated step would be if that group alone were cut as data
// parallelism cuts it, or ran whole on one device, while all others stay. Gains
// do not add up, since each is asked for by itself.
//
// Does not decide which plan is taken (Solvers.h), nor how gains are shown.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SAVINGS_H
#define LWCC_PASSES_PLAN_SOLVE_SAVINGS_H

#include "passes/plan/price/Simulator.h"
#include "passes/plan/solve/Space.h"

#include <optional>

namespace lwcc::plan {

/// Another way to cut a group.
struct Alternative {
  Tiling tiling; ///< of the first layer that it changes
  Ticks longer;  ///< the step than with the plan; negative if it is shorter
  bool fits;     ///< into the memory of a device, as predicted
};

/// What a plan does with a group of layers, and could do instead.
struct Decision {
  LayerGroup layers; ///< the leader first
  Tiling tiling;     ///< of the first layer that data parallelism changes, or
                     ///< else of the leader
  int first;         ///< that layer
  std::optional<Alternative> asData;   ///< absent if it is cut so
  std::optional<Alternative> asSingle; ///< absent if it runs on one device
};

struct Savings {
  std::vector<Decision> decisions; ///< in the model's order
  size_t leftOut = 0;              ///< groups for which there was no time
};

/// Asks for each group of layers what the tilings that the simulator holds
/// save. Groups that take longest come first, until so many seconds are over;
/// the others are left out.
Savings savingsOf(const Problem &problem, Simulator &simulator,
                  const Tilings &data, double seconds);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SAVINGS_H
