//===- Space.h - What searches choose from ----------------------*- C++ -*-===//
//
// Layers that are cut together, and the ways to cut them that searches
// consider. Plan files may do more: uneven parts, any number of them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SPACE_H
#define LWCC_PASSES_PLAN_SOLVE_SPACE_H

#include "passes/plan/model/LayerGraph.h"

namespace lwcc::plan {

/// A leader and the layers that follow it.
using LayerGroup = std::vector<int>;
std::vector<LayerGroup> groupsOf(const LayerGraph &graph);
/// Of a layer whose group's leader is cut like this.
Tiling tilingInGroup(const LayerGraph::Layer &layer, const Tiling &leader);

/// As many parts along one dimension as there are devices, or as there can be
/// if those are fewer, part i on device i.
Tiling spread(size_t dimension, const Extents &extents, const Machine &machine);

/// All tilings of a layer into equal parts along some dimensions, part i on
/// device i: as many as a divisor of the devices, and along samples or channels
/// alone as many as there can be. The first is not cut.
std::vector<Tiling> equalTilings(const LayerGraph::Layer &layer,
                                 const Machine &machine,
                                 llvm::StringRef along = dimensions);
/// Whether groups' leaders are cut along these dimensions alone.
bool isCutAlong(const LayerGraph &graph, const Tilings &tilings,
                llvm::StringRef along);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SPACE_H
