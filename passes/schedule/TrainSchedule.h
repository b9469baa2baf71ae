//===- TrainSchedule.h - The scheduling pass, as the pipeline builds it ---===//
//
// The pass train-schedule puts ops into an order. How long an op takes is the
// business of passes/plan, which this room does not know: its caller brings
// both together.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SCHEDULE_TRAINSCHEDULE_H
#define LWCC_PASSES_SCHEDULE_TRAINSCHEDULE_H

#include "passes/Passes.h"

#include <functional>

namespace lwcc {

/// For how long an op of the form `sharded` takes its lane, in any unit; 0 for
/// an op that will be no call. Null: time does not count.
using TicksOf = std::function<int64_t(mlir::Operation *)>;

std::unique_ptr<mlir::Pass> createTrainSchedule(TicksOf ticksOf);

} // namespace lwcc

#endif // LWCC_PASSES_SCHEDULE_TRAINSCHEDULE_H
