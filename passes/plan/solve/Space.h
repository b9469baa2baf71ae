//===- Space.h - What searches choose from ----------------------*- C++ -*-===//
//
// What searches choose from: groups of layers that are cut alike, and the ways
// to cut a group. Plan files may do more: uneven parts, and any number of them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SPACE_H
#define LWCC_PASSES_PLAN_SOLVE_SPACE_H

#include "passes/plan/model/LayerGraph.h"

namespace lwcc::plan {

/// The numbers of two dimensions.
inline constexpr size_t alongSamples = 0, alongChannels = 1;

/// A leader and the layers that follow it.
using LayerGroup = std::vector<int>;
std::vector<LayerGroup> groupsOf(const LayerGraph &graph);
/// The tiling of a layer whose group's leader has the tiling `leader`.
Tiling tilingInGroup(const LayerGraph::Layer &layer, const Tiling &leader);

/// Whether the layer has as many elements along each dimension as the tiling
/// has parts.
bool canBeCut(const LayerGraph::Layer &layer, const Tiling &tiling);

/// As many parts along one dimension as there are devices, part i on device i;
/// fewer where the extent is smaller.
Tiling spread(size_t dimension, const Extents &extents, const Machine &machine);

/// All tilings of a layer into equal parts, cut along some of the dimensions
/// `along`, part i on device i. Up to eight devices any number of parts is
/// tried, beyond them those that divide the number of devices; along samples
/// alone, or channels alone, also what spread() gives. The first tiling is not
/// cut.
std::vector<Tiling> equalTilings(const LayerGraph::Layer &layer,
                                 const Machine &machine,
                                 llvm::StringRef along = dimensions);
/// Whether no leader of a group is cut along any other dimension.
bool isCutAlong(const LayerGraph &graph, const Tilings &tilings,
                llvm::StringRef along);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SPACE_H
