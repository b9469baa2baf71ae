//===- Plan.cpp - Plans against models ------------------------------------===//
//
// Completing what a person left out, and checking what is there.
//
//===----------------------------------------------------------------------===//

#include "ir/json/Suggestion.h"
#include "passes/plan/model/LayerGraph.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <limits>
#include <utility>

using namespace lwcc;
using namespace lwcc::plan;

Tilings lwcc::plan::tilingsOf(const LayerGraph &graph, const Plan &plan) {
  llvm::StringMap<const Tiling *> named;
  for (const LayerPlan &layer : plan.layers)
    named[layer.layer] = &layer.tiling;
  Tilings tilings;
  for (const LayerGraph::Layer &layer : graph.layers)
    tilings.push_back(*named.at(layer.name));
  return tilings;
}

Place LayerPlan::place(int64_t tile, Phase phase) const {
  Place place = tiling.places[tile];
  if (auto moved = lanes.find(phase); moved != lanes.end())
    place.lane.number = moved->second;
  return place;
}

std::vector<Task> lwcc::plan::tasksOf(const Plan &plan, const Place &lane,
                                      const Task &task) {
  auto group = llvm::find_if(
      plan.groups, [&](const Group &each) { return each.name == task.layer; });
  if (group == plan.groups.end())
    return {task};
  std::vector<Task> tasks;
  for (const LayerPlan &layer : plan.layers) {
    if (!llvm::is_contained(group->layers, layer.layer))
      continue;
    int64_t here = 0; // tiles of the layer on this lane
    const auto count = static_cast<int64_t>(layer.tiling.places.size());
    for (int64_t tile = 0; tile < count; ++tile)
      if (layer.place(tile, task.phase) == lane &&
          (!task.tile || here++ == *task.tile))
        tasks.push_back({layer.layer,
                         count > 1 ? std::optional(tile) : std::nullopt,
                         task.phase});
  }
  return tasks;
}

/// Of the sizes of parts, which are positive; at most the largest number there
/// is.
static int64_t sumOf(const std::vector<int64_t> &sizes) {
  int64_t sum = 0;
  for (int64_t size : sizes)
    if (llvm::AddOverflow(sum, size, sum))
      return std::numeric_limits<int64_t>::max();
  return sum;
}

Tiling lwcc::plan::followerTiling(const LayerGraph::Layer &follower,
                                  const Tiling &leader) {
  Extents wanted = leader.degrees;
  Tiling tiling = leader;
  constexpr size_t samples = 0, channels = 1, reduction = 4;
  if (int64_t parts = std::exchange(wanted[reduction], 1); parts > 1)
    for (size_t d : {channels, samples})
      if (parts > 1 && wanted[d] <= follower.extents[d] / parts) {
        wanted[d] *= std::exchange(parts, 1);
        tiling.sizes[d].clear();
      }
  tiling.sizes[reduction].clear();
  for (size_t d = 0; d < dimensions.size(); ++d) {
    bool fits = wanted[d] <= follower.extents[d];
    tiling.degrees[d] = fits ? wanted[d] : 1;
    // Sizes that are not the follower's are proportions no longer.
    if (!fits || sumOf(tiling.sizes[d]) != follower.extents[d])
      tiling.sizes[d].clear();
  }
  tiling.places.resize(tiling.tiles());
  return tiling;
}

std::string lwcc::plan::dropAbsorbed(Plan &plan, const LayerGraph &graph) {
  std::string names;
  auto isAbsorbed = [&](const auto &entry) {
    if (!llvm::is_contained(graph.absorbed, entry.layer))
      return false;
    std::string name = "\"" + entry.layer + "\"";
    if (!llvm::StringRef(names).contains(name))
      names += (names.empty() ? "" : ", ") + name;
    return true;
  };
  llvm::erase_if(plan.layers, isAbsorbed);
  for (Group &group : plan.groups)
    llvm::erase_if(group.layers, [&](const std::string &layer) {
      return isAbsorbed(LayerPlan{layer, {}, {}});
    });
  for (LaneOrder &order : plan.order)
    llvm::erase_if(order.tasks, isAbsorbed);
  return names;
}

void lwcc::plan::complete(Plan &plan, const LayerGraph &graph,
                          const Machine &machine) {
  llvm::StringMap<Tiling> known;
  for (LayerPlan &layer : plan.layers) {
    Tiling &tiling = layer.tiling;
    // More of them are a mistake (check), for which nothing is allocated.
    if (tiling.places.empty() && tiling.tiles() <= mostTiles)
      tiling.places = machine.placesInTurn(tiling.tiles());
    // Fewer places than tiles are repeated.
    size_t given = tiling.places.size();
    if (tiling.tiles() <= mostTiles)
      for (size_t i = 0; given + i < size_t(tiling.tiles()); ++i)
        tiling.places.push_back(tiling.places[i]);
    known[layer.layer] = tiling;
  }
  for (const LayerGraph::Layer &layer : graph.layers) {
    if (known.contains(layer.name))
      continue;
    Tiling tiling;
    if (layer.producer >= 0)
      tiling = known.lookup(graph.layers[layer.producer].name);
    known[layer.name] = tiling;
    plan.layers.push_back({layer.name, tiling});
  }
}

/// "n (8), c (96)": along what, and how far, a layer can be cut.
static std::string legalCuts(const LayerGraph::Layer &layer) {
  std::string text;
  for (auto [d, name] : llvm::enumerate(dimensions))
    if (layer.extents[d] > 1)
      text += llvm::formatv("{0}{1} ({2})", text.empty() ? "" : ", ", name,
                            layer.extents[d])
                  .str();
  return text.empty() ? "nothing" : text;
}

std::vector<std::string> lwcc::plan::check(const Plan &plan,
                                           const LayerGraph &graph,
                                           const Machine &machine) {
  std::vector<std::string> mistakes;
  auto object = [&](const char *format, auto &&...args) {
    mistakes.push_back(llvm::formatv(format, args...).str());
  };
  if (!plan.hash.empty() && !graph.hash.empty() && plan.hash != graph.hash)
    object("it was made for another model ({0})", plan.model);
  if (plan.batch && graph.batch && plan.batch != graph.batch)
    object("it was made for batch {0}, not {1}", plan.batch, graph.batch);

  llvm::StringMap<const LayerGraph::Layer *> layers;
  std::vector<llvm::StringRef> names;
  for (const LayerGraph::Layer &layer : graph.layers) {
    layers[layer.name] = &layer;
    names.push_back(layer.name);
  }
  llvm::StringMap<const LayerPlan *> planned;
  for (const LayerPlan &layer : plan.layers)
    planned[layer.layer] = &layer;

  auto checkCuts = [&](const LayerGraph::Layer &layer, const Tiling &tiling) {
    size_t before = mistakes.size();
    for (auto [d, name] : llvm::enumerate(dimensions)) {
      int64_t degree = tiling.degrees[d], extent = layer.extents[d];
      const std::vector<int64_t> &sizes = tiling.sizes[d];
      if (degree > 1 && extent == 1)
        object("layer \"{0}\" cannot be cut along {1}; it can be along {2}",
               layer.name, name, legalCuts(layer));
      else if (degree > extent)
        object("layer \"{0}\" is cut into {1} along {2}, which has {3}",
               layer.name, degree, name, extent);
      else if (!sizes.empty() && sumOf(sizes) != extent)
        object("the parts of layer \"{0}\" along {1} add up to {2}, not {3}",
               layer.name, name, sumOf(sizes), extent);
    }
    if (tiling.tiles() > mostTiles && mistakes.size() == before)
      object("layer \"{0}\" is cut into {1} tiles; there may be {2}",
             layer.name, tiling.tiles(), mostTiles);
  };
  for (const LayerPlan &layer : plan.layers) {
    auto entry = layers.find(layer.layer);
    if (entry == layers.end()) {
      object("the model has no layer \"{0}\"{1}", layer.layer,
             suggestion(layer.layer, names));
      continue;
    }
    // What a layer takes from its producer it is cut by as far as it has it.
    int producer = entry->second->producer;
    const LayerPlan *from =
        producer < 0 ? nullptr : planned.lookup(graph.layers[producer].name);
    for (auto [phase, lane] : layer.lanes)
      if (lane >= computeLanes)
        object("layer \"{0}\" has its phase \"{1}\" on lane {2}, but a "
               "device's lanes are 0 to {3}",
               layer.layer, phaseName(phase), lane, computeLanes - 1);
    if (from && from->tiling == layer.tiling)
      continue;
    checkCuts(*entry->second, layer.tiling);
    for (const Place &p : layer.tiling.places) {
      if (p.lane.number >= computeLanes)
        object("layer \"{0}\" is placed on {1}, but a device's lanes are 0 to "
               "{2}",
               layer.layer, p.text(), computeLanes - 1);
      if (p.node >= machine.nodes || p.gpu >= machine.gpus)
        object("layer \"{0}\" is placed on {1}, but there {2}", layer.layer,
               p.text(),
               machine.devices() == 1
                   ? "is one GPU"
                   : llvm::formatv("are {0} nodes of {1} GPUs", machine.nodes,
                                   machine.gpus)
                         .str());
    }
  }
  for (const LayerGraph::Layer &layer : graph.layers)
    if (!planned.contains(layer.name))
      object("it says nothing about layer \"{0}\"", layer.name);
  llvm::StringMap<llvm::StringRef> groupOf; // by layer
  for (const Group &group : plan.groups) {
    if (layers.contains(group.name))
      object("group \"{0}\" has the name of a layer", group.name);
    for (const std::string &layer : group.layers) {
      if (!layers.contains(layer))
        object("group \"{0}\" names layer \"{1}\", which the model does not "
               "have{2}",
               group.name, layer, suggestion(layer, names));
      auto [other, isNew] = groupOf.try_emplace(layer, group.name);
      if (!isNew)
        object("layer \"{0}\" is in the groups \"{1}\" and \"{2}\"", layer,
               other->second, group.name);
    }
    names.push_back(group.name);
  }
  for (auto [i, width] : llvm::enumerate(plan.widths)) {
    auto runsHere = [&, lane = width.lane](const LayerPlan &layer) {
      const auto tiles = static_cast<int64_t>(layer.tiling.places.size());
      for (int64_t tile = 0; tile < tiles; ++tile)
        for (Phase phase : allPhases)
          if (layer.place(tile, phase) == lane)
            return true;
      return false;
    };
    std::string lane = width.lane.text();
    if (width.lane.lane.number >= computeLanes)
      object("\"lanes\" gives {0} threads, but a device's lanes are 0 to {1}",
             lane, computeLanes - 1);
    else if (llvm::none_of(plan.layers, runsHere))
      object("\"lanes\" gives {0} threads, but no layer runs there", lane);
    if (llvm::any_of(llvm::ArrayRef(plan.widths).take_front(i),
                     [&, lane = width.lane](const LaneWidth &other) {
                       return other.lane == lane;
                     }))
      object("\"lanes\" names {0} twice", lane);
  }
  for (const LaneOrder &order : plan.order)
    for (auto [i, task] : llvm::enumerate(order.tasks)) {
      std::string lane = order.lane.text();
      std::vector<Task> tasks = tasksOf(plan, order.lane, task);
      const LayerPlan *layer = planned.lookup(task.layer);
      // A layer of too many tiles, which is a mistake, has no places.
      const int64_t tiles = layer ? layer->tiling.places.size() : 0;
      bool isGroup = llvm::is_contained(
          llvm::map_range(plan.groups,
                          [](const Group &group) { return group.name; }),
          task.layer);
      auto runsHere = [&] {
        for (int64_t tile = 0; tile < tiles; ++tile)
          if ((!task.tile || *task.tile == tile) &&
              layer->place(tile, task.phase) == order.lane)
            return true;
        return false;
      };
      if (isGroup && tasks.empty())
        object("the order of {0} names \"{1}\", but no layer of the group has "
               "{2} there",
               lane, task.text(),
               task.tile ? llvm::formatv("{0} tiles", *task.tile + 1).str()
                         : "a tile");
      else if (!isGroup && (!layer || !layers.contains(task.layer)))
        object("the order of {0} names layer \"{1}\", which the model does not "
               "have{2}",
               lane, task.layer, suggestion(task.layer, names));
      else if (!isGroup && task.tile && *task.tile >= tiles)
        object("the order of {0} names \"{1}\", but the layer has {2} tiles",
               lane, task.text(), tiles);
      else if (!isGroup && !runsHere())
        object("the order of {0} names \"{1}\", which runs elsewhere", lane,
               task.text());
      if (llvm::is_contained(llvm::ArrayRef(order.tasks).take_front(i), task))
        object("the order of {0} names \"{1}\" twice", lane, task.text());
    }
  return mistakes;
}
