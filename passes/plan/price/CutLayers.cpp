//===- CutLayers.cpp - What layers take, wherever their tiles lie ---------===//

#include "passes/plan/price/CutLayers.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;

CutLayers::CutLayers(const Setting &setting) : setting(setting) {
  std::map<std::string, int> numbers;
  for (const LayerGraph::Layer &layer : setting.graph.layers)
    kinds.push_back(
        numbers.try_emplace(layer.signature, numbers.size()).first->second);
}

const CutLayer &CutLayers::of(int layer, const Tiling &tiling) {
  llvm::SmallVector<int64_t, 8> key = {kinds[layer]};
  llvm::append_range(key, tiling.degrees);
  int64_t uneven = 0;
  for (auto [d, sizes] : llvm::enumerate(tiling.sizes))
    uneven |= static_cast<int64_t>(!sizes.empty()) << d;
  key.push_back(uneven);
  for (const std::vector<int64_t> &sizes : tiling.sizes)
    llvm::append_range(key, sizes);
  if (auto entry = known.find(key); entry != known.end())
    return *entry->second;
  CutLayer &made = layers.emplace_back(make(layer, tiling));
  made.number = static_cast<int>(layers.size()) - 1;
  known[Key(key).copy(memory)] = &made;
  return made;
}

CutLayer CutLayers::make(int layer, const Tiling &tiling) {
  LayerTiles tiles = setting.graph.tiles(layer, tiling);
  CutLayer cut;
  for (const std::vector<Work> &work : tiles.work) {
    CutLayer::Tile &tile = cut.tiles.emplace_back();
    for (const Work &kernel : work)
      tile.busy[static_cast<size_t>(kernel.phase)] +=
          ticksOf(setting.costs.seconds(kernel));
  }
  for (auto [number, regions] :
       llvm::zip_equal(setting.graph.layers[layer].made, tiles.made)) {
    cut.made.push_back(tiled(regions));
    const Tensor &tensor = setting.graph.tensors[number];
    if (tensor.made != Phase::forward)
      continue;
    for (auto [region, tile] : llvm::zip_equal(regions, cut.tiles))
      if (region)
        tile.made += static_cast<int64_t>(
            tiling::volume(*region) * static_cast<double>(tensor.elementBytes));
  }
  for (const LayerTiles::Regions &regions : tiles.read)
    cut.read.push_back(tiled(regions));
  cut.params = std::move(tiles.params);
  return cut;
}

TiledTensor CutLayers::tiled(const LayerTiles::Regions &regions) {
  std::vector<int> tiles;
  LayerTiles::Regions found;
  for (auto [tile, region] : llvm::enumerate(regions))
    if (region) {
      tiles.push_back(static_cast<int>(tile));
      found.push_back(region);
    }
  std::vector<int64_t> devices(tiles.size());
  std::iota(devices.begin(), devices.end(), 0);
  RegionSet set(found, devices, overlaps);
  return {std::move(tiles), std::move(found), std::move(set)};
}

const TiledTensor &CutLayers::partOf(const TiledTensor &tensor,
                                     llvm::ArrayRef<int64_t> kept) {
  llvm::SmallVector<int64_t, 64> key = {tensor.set.number()};
  llvm::append_range(key, kept);
  if (auto entry = knownParts.find(key); entry != knownParts.end())
    return *entry->second;
  LayerTiles::Regions regions;
  for (int64_t each : kept)
    regions.push_back(tensor.regions[each]);
  const TiledTensor &part = parts.emplace_back(tiled(regions));
  knownParts[Key(key).copy(memory)] = &part;
  return part;
}
