//===- DescribePipeline.h - What --explain tells of a pipeline --*- C++ -*-===//
//
// Describes a plan whose order names groups, whoever made it: the stages with
// the times of their turns and their stashes, the bubbles of the lanes, and a
// timeline by micro-batch. Transfers delay only what waits for them here; the
// program's own times are those of price/ProgramTime.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_DESCRIBEPIPELINE_H
#define LWCC_PASSES_PLAN_SOLVE_DESCRIBEPIPELINE_H

#include "passes/plan/price/Setting.h"

namespace lwcc::plan {

std::string describePipeline(const Setting &setting, const Plan &plan);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_DESCRIBEPIPELINE_H
