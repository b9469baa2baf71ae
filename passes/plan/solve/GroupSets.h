//===- GroupSets.h - What searches change together --------------*- C++ -*-===//
//
// Says which groups of layers a search changes in one step. Between two layers
// that are cut differently something moves. So a single one may be worse cut
// than its neighbours where all of them were better, and a branch may be better
// on other devices only as a whole.
//
// Does not say how they are changed: Descent.cpp and Mcmc.cpp do.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_GROUPSETS_H
#define LWCC_PASSES_PLAN_SOLVE_GROUPSETS_H

#include "passes/plan/solve/Space.h"

#include "llvm/ADT/ArrayRef.h"

namespace lwcc::plan {

/// Numbers of groups, ascending.
using GroupSet = std::vector<size_t>;

/// Each group alone; then two, four and eight in a row, in the order of the
/// model; then the branches of the series-parallel tree (SeriesParallel.h), and
/// all branches between two points together. No set comes twice.
std::vector<GroupSet> groupSets(const LayerGraph &graph,
                                llvm::ArrayRef<LayerGroup> groups);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_GROUPSETS_H
