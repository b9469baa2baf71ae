//===- Lanes.h - Several compute lanes on each device -----------*- C++ -*-===//
//
// Polishes a plan: each of its devices gets several compute lanes, so that what
// does not need each other runs at once. Three ways to cut are tried for each
// number of lanes: layers as they are (branches, and gradients of parameters
// and updates beside the rest of the backward pass), images in fragments along
// n, one on each lane, and all layers so. LaneProblem.h chooses the lanes of
// what stays whole. Programs are made of the best, and the quickest is taken.
//
// Lanes are declined where even the bound says that less than 8 % can be won,
// or where less is predicted, or less than a few times of waking up. On GPUs
// they also are as long as nobody has measured how much of the device calls
// use: a model of that (CostModel.h) is no proof.
//
// A plan with an order of its own (a pipeline) stays as it is.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_LANES_H
#define LWCC_PASSES_PLAN_SOLVE_LANES_H

#include "passes/plan/solve/Solvers.h"

namespace lwcc::plan {

/// The plan with problem.search.lanes lanes on each of its devices. With 0 it
/// has as many as should be quickest, perhaps one; with -1 too, but only where
/// lanes were measured. The plan's remark says why.
Plan addLanes(const Problem &problem, const Plan &plan);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_LANES_H
