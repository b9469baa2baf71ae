//===- StepOrder.cpp - In which order a step does its work ----------------===//

#include "passes/plan/price/StepOrder.h"

#include "llvm/ADT/STLExtras.h"

#include <array>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;

void StepOrder::findPositions(const LayerGraph &graph, Timing &timing,
                              int devices) {
  int layers = static_cast<int>(graph.layers.size());
  std::vector<std::array<bool, 3>> has(layers);
  for (int i = 0; i < layers; ++i) {
    const TimedLayer &whole = timing.layer(i, Tiling());
    for (size_t s = 0; s < 3; ++s)
      has[i][s] = llvm::any_of(
          llvm::ArrayRef(whole.busy(static_cast<Phase>(s)), devices),
          [](Ticks t) { return t > 0; });
    has[i][2] |= graph.layers[i].hasParameters;
  }
  for (const Tensor &tensor : graph.tensors) {
    has[tensor.producer][static_cast<int>(tensor.made)] = true;
    for (auto [consumer, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed))
      has[consumer][static_cast<int>(phase)] = true;
  }
  auto add = [&](int layer, Phase phase) {
    if (has[layer][static_cast<int>(phase)])
      positions.push_back({layer, phase, {}, {}, false});
  };
  // Gradients of parameters that nothing computes are updated all the same.
  std::vector<std::pair<int, Phase>> turns = graph.turns;
  std::set<std::pair<int, Phase>> known(turns.begin(), turns.end());
  auto addIfNew = [&](int layer, Phase phase) {
    if (known.insert({layer, phase}).second)
      turns.push_back({layer, phase});
  };
  for (int i = 0; i < layers; ++i)
    addIfNew(i, Phase::forward);
  for (int i = layers; i-- > 0;) {
    addIfNew(i, Phase::backward);
    addIfNew(i, Phase::weight);
  }
  for (auto [layer, phase] : turns)
    add(layer, phase);
  firstWeight =
      static_cast<int>(llvm::find_if(positions,
                                     [](const Position &position) {
                                       return position.phase == Phase::weight;
                                     }) -
                       positions.begin());
  const int count = static_cast<int>(positions.size());
  for (int at = firstWeight; at < count; ++at)
    if (at + 1 == count || positions[at].phase == Phase::weight)
      stretches.push_back(at + 1);
}

void StepOrder::findPorts(const LayerGraph &graph) {
  std::vector<std::array<int, 3>> at(graph.layers.size());
  for (auto [i, position] : llvm::enumerate(positions))
    at[position.layer][static_cast<int>(position.phase)] = static_cast<int>(i);
  positionsOf.assign(graph.layers.size(), llvm::BitVector(positions.size()));
  for (auto [i, position] : llvm::enumerate(positions))
    positionsOf[position.layer].set(i);
  auto indexIn = [](const std::vector<int> &list, int entry) {
    return static_cast<size_t>(llvm::find(list, entry) - list.begin());
  };
  for (auto [number, tensor] : llvm::enumerate(graph.tensors))
    for (auto [consumer, phase] :
         llvm::zip_equal(tensor.consumers, tensor.needed)) {
      int id = static_cast<int>(number);
      ports.push_back({id,
                       tensor.producer,
                       consumer,
                       indexIn(graph.layers[tensor.producer].made, id),
                       indexIn(graph.layers[consumer].read, id),
                       at[tensor.producer][static_cast<int>(tensor.made)],
                       at[consumer][static_cast<int>(phase)],
                       {}});
    }
  llvm::stable_sort(
      ports, [](const Port &a, const Port &b) { return a.from < b.from; });
  portsOf.assign(graph.layers.size(), llvm::BitVector(ports.size()));
  crossing.assign(positions.size() + 1, noPorts());
  for (auto [number, port] : llvm::enumerate(ports)) {
    int id = static_cast<int>(number);
    // What a layer sums over its own tiles, or reads of a layer whose turn
    // comes no earlier.
    (port.from < port.to ? positions[port.to].fetched
                         : positions[port.to].regrouped)
        .push_back(id);
    for (int row = port.from + 1; row <= port.to; ++row)
      crossing[row][id / 64] |= uint64_t(1) << id % 64;
    portsOf[port.maker].set(id);
    portsOf[port.reader].set(id);
  }
  for (Position &position : positions)
    position.mayWait = position.phase == Phase::weight;
  for (const Port &port : ports)
    positions[port.from].mayWait = false;
  std::vector<std::vector<int>> ofTensor(graph.tensors.size());
  for (auto [number, port] : llvm::enumerate(ports))
    ofTensor[port.tensor].push_back(static_cast<int>(number));
  for (std::vector<int> &some : ofTensor) {
    llvm::stable_sort(some,
                      [&](int a, int b) { return ports[a].to < ports[b].to; });
    for (auto [i, port] : llvm::enumerate(some)) {
      ports[port].earlier.assign(some.begin(), some.begin() + i);
      if (ports[port].reader != ports[port].maker)
        for (int later : llvm::ArrayRef(some).drop_front(i + 1))
          portsOf[ports[port].reader].set(later);
    }
  }
  // Layers fetch in the order of the tensors.
  for (Position &position : positions)
    for (std::vector<int> *list : {&position.fetched, &position.regrouped})
      llvm::sort(*list, [&](int a, int b) {
        return ports[a].tensor < ports[b].tensor;
      });
}
