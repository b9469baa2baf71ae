//===- OneWeirdTrick.cpp - Images by samples, features by channels --------===//
//
// Krizhevsky 2014, "One weird trick for parallelizing convolutional neural
// networks": layers of images are cut by samples, one part on each device;
// fully connected layers, which hold most parameters, by channels. What stands
// between features goes with its producer. The schemes differ in how samples
// are handed over from the images' layers to those of features:
//
//   (a)  All at once: there is one pass through the features' layers.
//   (b)  Passes take turns. In a pass there is one device's samples, which it
//        sends to all; those of the next pass are sent meanwhile.
//   (c)  The same, but in each pass there are some samples of every device, so
//        that no device alone sends. For that the images' layers are cut into
//        as many parts for each device as there are passes.
//
//          conv (b)                  conv (c)                 features
//   gpu 0  samples of pass 0         some of pass 0, 1, ...   channels 0
//   gpu 1  samples of pass 1         some of pass 0, 1, ...   channels 1
//
// Each pass goes forward and backward before the next one; the images' layers
// go backward when all passes are over. Gradients of the passes are added up,
// so that the losses are those of one device. (The paper's variable batch,
// which updates weights after each pass, changes them; there is none.)
//
// Does not decide whether that pays: passes of few samples read all weights
// again (Auto.cpp).
//
//===----------------------------------------------------------------------===//

#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace lwcc;
using namespace lwcc::plan;

namespace {
enum class Scheme { a, b, c };

/// How a model is divided into layers of images and of features.
struct Division {
  std::vector<bool> ofFeatures; ///< of each layer
  std::vector<Tiling> tilings;  ///< as of scheme (a)
  /// Whether no layer of images is behind one of features. Else passes cannot
  /// go through the features' layers one by one.
  bool isOrdered = true;
  std::optional<std::string> wantsAllSamples; ///< a layer
};
} // namespace

static Division divide(const Problem &problem) {
  const LayerGraph &graph = problem.graph;
  Division division;
  for (const LayerGraph::Layer &layer : graph.layers) {
    Tiling tiling = spread(alongSamples, layer.extents, problem.machine);
    bool features = layer.rank != 4 && layer.hasParameters;
    if (features) {
      tiling = spread(alongChannels, layer.extents, problem.machine);
    } else if (layer.rank != 4 && layer.producer >= 0) {
      const Tiling &before = division.tilings[layer.producer];
      bool fits = true;
      for (size_t d = 0; d < dimensions.size(); ++d)
        fits &= before.degrees[d] <= layer.extents[d];
      if (fits)
        tiling = before;
      features = division.ofFeatures[layer.producer];
    }
    if (features && layer.sampleGroups > 0)
      division.wantsAllSamples = layer.name;
    division.tilings.push_back(tiling);
    division.ofFeatures.push_back(features);
  }
  for (const Tensor &tensor : graph.tensors)
    if (tensor.made == Phase::forward && tensor.producer >= 0 &&
        division.ofFeatures[tensor.producer])
      for (auto [consumer, phase] :
           llvm::zip_equal(tensor.consumers, tensor.needed))
        division.isOrdered &=
            phase != Phase::forward || division.ofFeatures[consumer];
  return division;
}

/// Cuts the samples of a layer's tiling into `parts`, each of which has the
/// tiling's other tiles on the places that they have.
static void cutSamples(const LayerGraph &graph, Tiling &tiling, int64_t parts,
                       const LayerGraph::Layer &layer) {
  if (samplesOf(layer) < parts)
    return;
  std::vector<Place> once = tiling.places;
  assert(tiling.degrees[alongSamples] == 1);
  tiling.degrees[alongSamples] = parts;
  tiling.sizes[alongSamples] = sizesOfSamples(graph, layer, parts);
  tiling.places.clear();
  for (int64_t part = 0; part < parts; ++part)
    tiling.places.insert(tiling.places.end(), once.begin(), once.end());
}

/// Cuts a layer into `parts` of its samples, and each of these into one for
/// each device. False where it has too few.
static bool shareSamples(const LayerGraph &graph, const Machine &machine,
                         Tiling &tiling, int64_t parts,
                         const LayerGraph::Layer &layer) {
  const int64_t wanted = machine.devices() * parts;
  if (samplesOf(layer) < wanted)
    return false;
  tiling.degrees[alongSamples] = wanted;
  tiling.sizes[alongSamples] =
      sizesOfSamples(graph, layer, parts, machine.devices());
  tiling.places = machine.placesInTurn(wanted);
  return true;
}

/// A name for a group that no layer has.
static std::string freeName(const LayerGraph &graph, std::string name) {
  while (llvm::any_of(graph.layers, [&](const LayerGraph::Layer &layer) {
    return layer.name == name;
  }))
    name = "all " + name;
  return name;
}

static Plan solveScheme(const Problem &problem, Scheme scheme,
                        llvm::StringRef name) {
  const LayerGraph &graph = problem.graph;
  const Machine &machine = problem.machine;
  Division division = divide(problem);
  // More passes than devices hide little more, and eight hide 7/8.
  constexpr int64_t mostPasses = 8;
  int64_t passes = 1;
  if (std::string layer =
          scheme == Scheme::a ? "" : layerOfAllSamples(graph, 2);
      !layer.empty())
    division.wantsAllSamples = layer;
  if (scheme != Scheme::a && division.isOrdered && !division.wantsAllSamples &&
      llvm::is_contained(division.ofFeatures, true))
    passes = problem.search.microBatches > 0
                 ? problem.search.microBatches
                 : std::min(machine.devices(), mostPasses);
  // Each device has some samples of each pass.
  if (graph.batch > 0)
    passes = std::min(passes,
                      std::max<int64_t>(1, scheme == Scheme::c
                                               ? graph.batch / machine.devices()
                                               : graph.batch));
  if (passes > 1)
    passes = microBatchesUpTo(graph, passes);

  Plan plan = planFor(problem, name);
  if (passes < problem.search.microBatches && division.wantsAllSamples)
    plan.warning = llvm::formatv("'{0}' takes one pass, not {1}: layer '{2}' "
                                 "needs several samples at once",
                                 name, problem.search.microBatches,
                                 *division.wantsAllSamples);
  else if (passes < problem.search.microBatches)
    plan.warning =
        llvm::formatv("'{0}' takes {1} passes, not {2}: it needs some samples "
                      "of each pass on every device, and layers of images "
                      "before those of features",
                      name, passes, problem.search.microBatches);
  Group images{freeName(graph, "images"), {}};
  Group features{freeName(graph, "features"), {}};
  bool imagesHaveOrder = true;
  for (auto [i, layer] : llvm::enumerate(graph.layers)) {
    Tiling tiling = division.tilings[i];
    const int64_t parts = scheme == Scheme::c ? passes : 1;
    if (division.ofFeatures[i]) {
      // What has no channels to cut has some samples of each pass on all.
      if (passes > 1 && tiling.degrees[alongSamples] > 1 &&
          !shareSamples(graph, machine, tiling, passes, layer)) {
        tiling.degrees[alongSamples] = 1;
        tiling.places = machine.placesInTurn(1);
      }
      if (tiling.degrees[alongSamples] == 1)
        cutSamples(graph, tiling, passes, layer);
      if (tiling.degrees[alongSamples] >= passes)
        features.layers.push_back(layer.name);
    } else {
      if (parts > 1)
        shareSamples(graph, machine, tiling, parts, layer);
      if (tiling.degrees[alongSamples] == machine.devices() * parts)
        images.layers.push_back(layer.name);
      imagesHaveOrder &= parts == 1 || layer.sampleGroups == 0;
    }
    plan.layers.push_back({layer.name, tiling});
  }
  if (passes == 1)
    return plan; // data flow alone is the order
  plan.strategy += llvm::formatv(": {0} passes", passes);

  auto has = [&](const Place &lane, const Group &group) {
    return llvm::any_of(plan.layers, [&](const LayerPlan &layer) {
      return llvm::is_contained(group.layers, layer.layer) &&
             llvm::is_contained(layer.tiling.places, lane);
    });
  };
  imagesHaveOrder &= !images.layers.empty();
  for (int64_t device = 0; device < machine.devices(); ++device) {
    LaneOrder order{machine.place(device), {}};
    const bool orders = imagesHaveOrder && has(order.lane, images);
    const int64_t slices = scheme == Scheme::c ? passes : 1;
    auto goThrough = [&](Phase phase) {
      for (int64_t slice = 0; orders && slice < slices; ++slice)
        order.tasks.push_back({images.name, slice, phase});
    };
    goThrough(Phase::forward);
    if (has(order.lane, features))
      for (int64_t pass = 0; pass < passes; ++pass)
        for (Phase phase : {Phase::forward, Phase::backward})
          order.tasks.push_back({features.name, pass, phase});
    goThrough(Phase::backward);
    if (!order.tasks.empty())
      plan.order.push_back(order);
  }
  if (imagesHaveOrder)
    plan.groups.push_back(images);
  plan.groups.push_back(features);
  return plan;
}

Plan lwcc::plan::solveOneWeirdTrick(const Problem &problem) {
  return withKept(problem, solveScheme(problem, Scheme::a, "owt"));
}

Plan lwcc::plan::solveOneWeirdTrickByDevice(const Problem &problem) {
  return solveScheme(problem, Scheme::b, "owt-b");
}

Plan lwcc::plan::solveOneWeirdTrickBySlice(const Problem &problem) {
  return solveScheme(problem, Scheme::c, "owt-c");
}
