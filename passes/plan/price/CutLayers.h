//===- CutLayers.h - What layers take, wherever their tiles lie -*- C++ -*-===//
//
// What the tiles of a layer take that is cut in one way: their kernels, what
// they hold, and the regions of tensors that they make and read. All of this
// does not depend on the devices that tiles lie on, and is worked out once for
// all layers with equal signatures.
//
// What the tiles take on devices, and what these exchange, is the business of
// Timing.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_CUTLAYERS_H
#define LWCC_PASSES_PLAN_PRICE_CUTLAYERS_H

#include "passes/plan/price/Exchanges.h"
#include "passes/plan/price/Setting.h"
#include "passes/plan/price/Ticks.h"

#include "llvm/Support/Allocator.h"

#include <array>
#include <deque>

namespace lwcc::plan {

/// The regions of a tensor that the tiles of a layer make or read.
struct TiledTensor {
  std::vector<int> tiles;      ///< that have a region
  LayerTiles::Regions regions; ///< of these
  /// The same, as if each were on a device of its own. Its number tells what
  /// regions these are, in which order.
  RegionSet set;
  /// Whether they are a grid of regions that do not overlap.
  bool isDisjoint() const { return RegionSet::isThere(set, set); }
};

/// A layer that is cut in one way.
struct CutLayer {
  struct Tile {
    std::array<Ticks, 3> busy = {}; ///< kernels, by phase
    int64_t made = 0;               ///< bytes that the forward pass makes
  };
  int number = 0; ///< equal cuts of layers with equal signatures have the same
  std::vector<Tile> tiles;
  std::vector<TiledTensor> made, read;
  std::vector<LayerTiles::Regions> params; ///< of each parameter
};

class CutLayers {
public:
  explicit CutLayers(const Setting &setting);

  /// Looks at a tiling's degrees and sizes alone. The answer stays where it is.
  const CutLayer &of(int layer, const Tiling &tiling);
  /// Some of the regions of a tensor, of which `kept` are the numbers. This
  /// answer stays, too.
  const TiledTensor &partOf(const TiledTensor &tensor,
                            llvm::ArrayRef<int64_t> kept);
  /// The axes of all of these tensors.
  AxisOverlaps &axes() { return overlaps; }

private:
  using Key = llvm::ArrayRef<int64_t>;
  CutLayer make(int layer, const Tiling &tiling);
  TiledTensor tiled(const LayerTiles::Regions &regions);

  const Setting setting;
  AxisOverlaps overlaps;
  std::vector<int> kinds; ///< the number of each layer's signature
  std::deque<CutLayer> layers;
  /// By kind, degrees and sizes.
  llvm::DenseMap<Key, const CutLayer *> known;
  std::deque<TiledTensor> parts;
  /// By the number of the whole and those that are kept.
  llvm::DenseMap<Key, const TiledTensor *> knownParts;
  llvm::BumpPtrAllocator memory; ///< of the keys
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_CUTLAYERS_H
