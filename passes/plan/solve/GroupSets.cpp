//===- GroupSets.cpp - What searches change together ----------------------===//

#include "passes/plan/solve/GroupSets.h"
#include "passes/plan/solve/SeriesParallel.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

static constexpr size_t rowLengths[] = {1, 2, 4, 8};

/// Which groups read what others make, forward. A group may read what a later
/// one makes, by a layer that follows its leader from afar: such an edge is
/// turned round, since all that matters here is what belongs together.
static std::vector<std::pair<int, int>>
groupEdges(const LayerGraph &graph, llvm::ArrayRef<LayerGroup> groups) {
  std::vector<int> groupOf(graph.layers.size());
  for (auto [number, layers] : llvm::enumerate(groups))
    for (int layer : layers)
      groupOf[layer] = static_cast<int>(number);
  std::set<std::pair<int, int>> edges;
  for (const Tensor &tensor : graph.tensors) {
    if (tensor.producer < 0 || tensor.made != Phase::forward)
      continue;
    for (auto [consumer, needed] :
         llvm::zip_equal(tensor.consumers, tensor.needed))
      if (needed == Phase::forward)
        edges.insert(std::minmax(groupOf[tensor.producer], groupOf[consumer]));
  }
  std::erase_if(edges,
                [](const auto &edge) { return edge.first == edge.second; });
  return {edges.begin(), edges.end()};
}

static GroupSet setOf(const std::vector<int> &blocks) {
  return {blocks.begin(), blocks.end()};
}

static void addBranches(const Series &series, std::vector<GroupSet> &sets) {
  for (const Series::Member &member : series.members) {
    if (member.branches.empty())
      continue;
    for (const Series &branch : member.branches) {
      std::vector<int> blocks;
      for (const Series::Member &part : branch.members)
        llvm::append_range(blocks, part.blocks);
      llvm::sort(blocks);
      sets.push_back(setOf(blocks));
      addBranches(branch, sets);
    }
    sets.push_back(setOf(member.blocks));
  }
}

std::vector<GroupSet> lwcc::plan::groupSets(const LayerGraph &graph,
                                            llvm::ArrayRef<LayerGroup> groups) {
  std::vector<GroupSet> sets;
  for (size_t length : rowLengths)
    for (size_t first = 0; first + length <= groups.size(); ++first) {
      sets.emplace_back(length);
      std::iota(sets.back().begin(), sets.back().end(), first);
    }
  addBranches(
      seriesOf(static_cast<int>(groups.size()), groupEdges(graph, groups)),
      sets);
  std::set<GroupSet> known;
  std::erase_if(sets,
                [&](const GroupSet &set) { return !known.insert(set).second; });
  return sets;
}
