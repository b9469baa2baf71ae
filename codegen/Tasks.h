//===- Tasks.h - What belongs to one micro-batch ----------------*- C++ -*-===//
//
// Finds the tasks of a sequence (Units.h) and puts their units side by side.
//
// A task is a run of one compute lane: its calls of one micro-batch in one
// section, and calls for the whole layer, such as updates, that follow these. A
// copy belongs to the first task that waits for it or for a later copy on its
// lane. Where tasks would wait for each other, their copies go out of them, and
// the runs are cut at each wait for another lane. Then each piece has all that
// it needs when it begins, so pieces have an order.
//
// Decides which order of the sequence's units is printed; no lane's own order
// changes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_CODEGEN_TASKS_H
#define LWCC_CODEGEN_TASKS_H

#include "codegen/Units.h"

namespace lwcc {

/// Returns the units with those of each task side by side, numbers of units
/// adjusted and `task` and `microBatch` set for all units of a task.
std::vector<Unit> gatherTasks(std::vector<Unit> units);

} // namespace lwcc

#endif // LWCC_CODEGEN_TASKS_H
