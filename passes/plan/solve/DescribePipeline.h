//===- DescribePipeline.h - What --explain tells of a pipeline --*- C++ -*-===//
//
// Describes a plan whose order names groups, whoever made it: the stages with
// the times of their turns and their stashes, the bubbles of the lanes, and a
// timeline by micro-batch. Transfers delay only what waits for them here, and
// updates come last; the program's own times are those of price/ProgramTime.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_DESCRIBEPIPELINE_H
#define LWCC_PASSES_PLAN_SOLVE_DESCRIBEPIPELINE_H

#include "passes/plan/price/Setting.h"

#include <optional>

namespace lwcc::plan {

std::string describePipeline(const Setting &setting, const Plan &plan);

/// The seconds of a step by the turns of its stages, and the updates behind
/// them. Absent if some layers are in no stage, or stages have unequal numbers
/// of micro-batches.
std::optional<double> secondsOfTurns(const Setting &setting, const Plan &plan);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_DESCRIBEPIPELINE_H
