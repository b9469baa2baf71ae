//===- TrainPlan.h - The planning pass, as the pipeline builds it *- C++
//-*-===//
//
// The pass train-plan writes a plan onto a module as attributes. What else its
// caller gives it and gets from it goes through the hooks below, as structs:
// the pass knows no other pass, and no plan travels as text.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_TRAINPLAN_H
#define LWCC_PASSES_PLAN_TRAINPLAN_H

#include "passes/Passes.h"
#include "passes/plan/solve/Solvers.h"

#include <functional>

namespace lwcc {

struct PlanningHooks {
  /// Turns a module of the form `planned` into an exec program, by which the
  /// pass then prices the plan that the module carries. Without it, plans are
  /// priced by the simulator alone.
  std::function<mlir::LogicalResult(mlir::ModuleOp planned)> lower;
  /// Is told how long an op of the form `sharded` will take its lane, in
  /// picoseconds, before `lower` is called. The function outlives the pass.
  std::function<void(std::function<int64_t(mlir::Operation *)>)> onTicks;
  /// Is told the plan, once it is checked: it names every layer, in the model's
  /// order. `seconds` is how long a search took, 0 for a plan from a file.
  std::function<void(const plan::Problem &problem, const plan::Plan &plan,
                     double seconds)>
      onPlan;
  /// Whether onPlan asks for prices: then a note names the machine that is
  /// assumed where the options name none.
  bool priced = false;
};

std::unique_ptr<mlir::Pass> createTrainPlan(TrainPlanOptions options,
                                            PlanningHooks hooks);

} // namespace lwcc

#endif // LWCC_PASSES_PLAN_TRAINPLAN_H
