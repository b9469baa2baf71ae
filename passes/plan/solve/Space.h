//===- Space.h - What searches choose from ----------------------*- C++ -*-===//
//
// What searches choose from: groups of layers that are cut alike, and the ways
// to cut a group. Plan files may do more: uneven parts, and any number of them.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_SPACE_H
#define LWCC_PASSES_PLAN_SOLVE_SPACE_H

#include "passes/plan/solve/Solvers.h"

namespace lwcc::plan {

/// The numbers of two dimensions.
inline constexpr size_t alongSamples = 0, alongChannels = 1;

/// Into how many parts of its samples a layer can be cut; 1 if it has none.
inline int64_t samplesOf(const LayerGraph::Layer &layer) {
  return layer.isOfParameters ? 1 : layer.extents[alongSamples];
}

/// The sizes of the parts of a layer's samples, if the batch is cut into
/// micro-batches and each of these into one part for each device. A layer, or
/// an op of it, may have several rows of each sample, which stay together: they
/// are cut in these proportions. Empty if all parts are equal.
std::vector<int64_t> sizesOfSamples(const LayerGraph &graph,
                                    const LayerGraph::Layer &layer,
                                    int64_t batches, int64_t devices = 1);

/// A leader and the layers that follow it.
using LayerGroup = std::vector<int>;
std::vector<LayerGroup> groupsOf(const LayerGraph &graph);
/// The tiling of a layer whose group's leader has the tiling `leader`.
Tiling tilingInGroup(const LayerGraph::Layer &layer, const Tiling &leader);

/// The first layer of which one micro-batch of so many needs what is made of
/// another one in the forward pass, beside those that normalize a batch; empty
/// if there is none. Micro-batches would wait for each other.
std::string layerOfAllSamples(const LayerGraph &graph, int64_t batches);
/// The most micro-batches up to `asked` that do not.
int64_t microBatchesUpTo(const LayerGraph &graph, int64_t asked);
/// The most micro-batches that a step may have: each has a sample, and a group
/// of those that are normalized together (--bn=group:G).
int64_t mostMicroBatches(const LayerGraph &graph);
/// Whether so many micro-batches have whole groups of samples.
bool haveWholeGroups(const LayerGraph &graph, int64_t batches);
/// The numbers of micro-batches that are worth a try: powers of two up to 32,
/// and one group each.
std::vector<int64_t> microBatchCounts(const LayerGraph &graph);

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
/// What a search chooses from for the leader of a group: the tilings above
/// along the dimensions of the search, or the one that is kept.
std::vector<Tiling> waysToCut(const Problem &problem, int leader);
/// Whether the leader of a group may be cut like another one: it has as many
/// elements along each dimension as there are parts, and a search may cut it
/// so.
bool canBeCut(const Problem &problem, int leader, const Tiling &tiling);
/// Whether no leader of a group is cut otherwise than a search may.
bool isAllowed(const Problem &problem, const Tilings &tilings);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_SPACE_H
