//===- Space.cpp - What searches choose from ------------------------------===//

#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"

#include <limits>

using namespace lwcc;
using namespace lwcc::plan;

std::vector<int64_t> lwcc::plan::sizesOfSamples(const LayerGraph &graph,
                                                const LayerGraph::Layer &layer,
                                                int64_t batches,
                                                int64_t devices) {
  const int64_t rows = samplesOf(layer), parts = batches * devices;
  const bool hasRows =
      graph.batch >= parts && rows > graph.batch && rows % graph.batch == 0;
  const int64_t samples = hasRows ? graph.batch : rows;
  std::vector<int64_t> sizes;
  if (samples % parts == 0)
    return sizes;
  for (int64_t batch = 0; batch < batches; ++batch) {
    const int64_t size = tiling::partOf(samples, batches, batch).size();
    for (int64_t d = 0; d < devices; ++d)
      sizes.push_back(tiling::partOf(size, devices, d).size() *
                      (rows / samples));
  }
  return sizes;
}

std::vector<LayerGroup> lwcc::plan::groupsOf(const LayerGraph &graph) {
  std::vector<LayerGroup> groups;
  std::vector<int> groupOf;
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    groupOf.push_back(layer.leader < 0 ? static_cast<int>(groups.size())
                                       : groupOf[layer.leader]);
    if (layer.leader < 0)
      groups.emplace_back();
    groups[groupOf.back()].push_back(static_cast<int>(i));
  }
  return groups;
}

Tiling lwcc::plan::tilingInGroup(const LayerGraph::Layer &layer,
                                 const Tiling &leader) {
  return layer.leader < 0 ? leader : followerTiling(layer, leader);
}

/// What each micro-batch of each layer's samples makes and reads; of a layer
/// that cannot be cut, what it does as a whole.
static std::vector<LayerTiles> partsOf(const LayerGraph &graph,
                                       int64_t batches) {
  std::vector<LayerTiles> parts;
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    Tiling tiling;
    if (samplesOf(layer) >= batches) {
      tiling.degrees[alongSamples] = batches;
      tiling.sizes[alongSamples] = sizesOfSamples(graph, layer, batches);
    }
    tiling.places.assign(tiling.tiles(), Place());
    parts.push_back(graph.tiles(static_cast<int>(i), tiling));
  }
  return parts;
}

/// Whether a part reads what another one makes. What is made by some of them is
/// of parameters, or what that reads tells more.
static bool areMixed(const LayerTiles::Regions &made,
                     const LayerTiles::Regions &read) {
  if (!llvm::all_of(made, [](const auto &box) { return box.has_value(); }))
    return false;
  for (size_t i = 0; i < read.size(); ++i)
    for (size_t j = 0; j < made.size(); ++j)
      if (i != j && read[i] && tiling::overlap(*read[i], *made[j]))
        return true;
  return false;
}

std::string lwcc::plan::layerOfAllSamples(const LayerGraph &graph,
                                          int64_t batches) {
  if (!graph.tiles || batches < 2)
    return "";
  const std::vector<LayerTiles> parts = partsOf(graph, batches);
  // A layer at the end keeps nobody waiting with a number, as the loss does
  // with those of other outputs.
  std::vector<bool> isRead(graph.layers.size());
  for (const Tensor &tensor : graph.tensors)
    for (auto [reader, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed))
      if (tensor.producer >= 0 && reader != tensor.producer &&
          phase == Phase::forward)
        isRead[tensor.producer] = true;
  std::vector<bool> wantsAll(graph.layers.size());
  for (auto [t, tensor] : llvm::enumerate(graph.tensors)) {
    if (tensor.made != Phase::forward || tensor.producer < 0)
      continue;
    const int number = static_cast<int>(t);
    const LayerGraph::Layer &maker = graph.layers[tensor.producer];
    const LayerTiles::Regions *made =
        regionsOf(number, maker.made, parts[tensor.producer].made);
    for (auto [reader, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed)) {
      const LayerGraph::Layer &layer = graph.layers[reader];
      if (phase != Phase::forward || layer.sampleGroups > 0 ||
          (tensor.shape.empty() && !isRead[reader]))
        continue;
      if (wantsAll[tensor.producer]) {
        if (samplesOf(layer) >= batches)
          return maker.name;
        wantsAll[reader] = true;
      }
      const LayerTiles::Regions *read =
          regionsOf(number, layer.read, parts[reader].read);
      if (!made || !read || made->size() < 2)
        continue;
      if (read->size() < 2)
        wantsAll[reader] = wantsAll[reader] || (*made)[1].has_value();
      // Statistics, which several parts make, are haveWholeGroups' business.
      else if (areMixed(*made, *read) &&
               !(maker.sampleGroups > 0 && areMixed(*made, *made)))
        return layer.name;
    }
  }
  return "";
}

int64_t lwcc::plan::microBatchesUpTo(const LayerGraph &graph, int64_t asked) {
  int64_t count = asked;
  while (count > 1 && !layerOfAllSamples(graph, count).empty())
    --count;
  return count;
}

int64_t lwcc::plan::mostMicroBatches(const LayerGraph &graph) {
  if (!layerOfAllSamples(graph, 2).empty())
    return 1;
  int64_t most =
      graph.batch > 0 ? graph.batch : std::numeric_limits<int64_t>::max();
  for (const LayerGraph::Layer &layer : graph.layers) {
    if (samplesOf(layer) > 1)
      most = std::min(most, samplesOf(layer));
    if (layer.sampleGroups > 0)
      most = std::min(most, layer.sampleGroups);
  }
  return most;
}

bool lwcc::plan::haveWholeGroups(const LayerGraph &graph, int64_t batches) {
  return llvm::all_of(graph.layers, [&](const LayerGraph::Layer &layer) {
    return layer.sampleGroups % batches == 0;
  });
}

std::vector<int64_t> lwcc::plan::microBatchCounts(const LayerGraph &graph) {
  constexpr int64_t limit = 32;
  const int64_t most = mostMicroBatches(graph);
  std::vector<int64_t> counts;
  for (int64_t count = 1; count <= std::min(most, limit); count *= 2)
    counts.push_back(count);
  const bool grouped = llvm::any_of(
      graph.layers, [](const auto &layer) { return layer.sampleGroups > 0; });
  if (grouped && most <= limit && most != counts.back())
    counts.push_back(most);
  llvm::erase_if(counts, [&](int64_t count) {
    return !haveWholeGroups(graph, count) ||
           !layerOfAllSamples(graph, count).empty();
  });
  return counts;
}

/// All degrees whose product is at most the number of devices, or divides it. A
/// reduction is not cut together with height or width: partial sums and halos
/// would multiply.
static void enumerate(const Extents &extents, int64_t devices, bool divides,
                      size_t d, Extents &degrees, std::vector<Extents> &found) {
  if (d == degrees.size()) {
    if (degrees[4] == 1 || degrees[2] * degrees[3] == 1)
      found.push_back(degrees);
    return;
  }
  for (int64_t degree = 1; degree <= std::min(devices, extents[d]); ++degree) {
    if (divides && devices % degree)
      continue;
    degrees[d] = degree;
    enumerate(extents, devices / degree, divides, d + 1, degrees, found);
  }
  degrees[d] = 1;
}

Tiling lwcc::plan::spread(size_t dimension, const Extents &extents,
                          const Machine &machine) {
  Tiling tiling;
  tiling.degrees[dimension] = std::min(machine.devices(), extents[dimension]);
  tiling.places = machine.placesInTurn(tiling.tiles());
  return tiling;
}

/// On more devices there are too many degrees that leave some devices idle: the
/// tables of costs grow with the square of their number.
static constexpr int64_t mostForAllDegrees = 8;

std::vector<Tiling> lwcc::plan::equalTilings(const LayerGraph::Layer &layer,
                                             const Machine &machine,
                                             llvm::StringRef along) {
  std::vector<Extents> all;
  Extents degrees = {1, 1, 1, 1, 1};
  Extents extents = layer.extents;
  for (auto [extent, dimension] : llvm::zip_equal(extents, dimensions))
    if (!along.contains(dimension))
      extent = 1;
  const bool few = machine.devices() <= mostForAllDegrees;
  enumerate(extents, machine.devices(), !few, 0, degrees, all);
  // Data parallelism and One Weird Trick cut like this. With these tilings in
  // the space, no search is worse than they are.
  for (size_t d : {0, 1})
    if (Extents widest = spread(d, extents, machine).degrees;
        !llvm::is_contained(all, widest))
      all.push_back(widest);
  std::vector<Tiling> tilings;
  for (const Extents &each : all) {
    Tiling tiling;
    tiling.degrees = each;
    tiling.places = machine.placesInTurn(tiling.tiles());
    tilings.push_back(std::move(tiling));
  }
  return tilings;
}

std::vector<Tiling> lwcc::plan::waysToCut(const Problem &problem, int leader) {
  auto kept = problem.search.kept.find(leader);
  if (kept == problem.search.kept.end())
    return equalTilings(problem.graph.layers[leader], problem.machine,
                        problem.search.dimensions);
  Tiling tiling;
  tiling.degrees = kept->second;
  tiling.places = problem.machine.placesInTurn(tiling.tiles());
  return {tiling};
}

/// Whether a search may give the leader of a group these degrees.
static bool isOfTheSpace(const SearchOptions &search, int leader,
                         const Extents &degrees) {
  if (auto kept = search.kept.find(leader); kept != search.kept.end())
    return degrees == kept->second;
  for (auto [degree, dimension] : llvm::zip_equal(degrees, dimensions))
    if (degree > 1 && !llvm::StringRef(search.dimensions).contains(dimension))
      return false;
  return true;
}

bool lwcc::plan::canBeCut(const Problem &problem, int leader,
                          const Tiling &tiling) {
  for (auto [degree, extent] :
       llvm::zip_equal(tiling.degrees, problem.graph.layers[leader].extents))
    if (degree > extent)
      return false;
  return isOfTheSpace(problem.search, leader, tiling.degrees);
}

bool lwcc::plan::isAllowed(const Problem &problem, const Tilings &tilings) {
  for (auto [i, layer] : llvm::enumerate(problem.graph.layers))
    if (layer.leader < 0 &&
        !isOfTheSpace(problem.search, static_cast<int>(i), tilings[i].degrees))
      return false;
  return true;
}
