//===- TileBuilder.h - The tensors and tiles of layers ----------*- C++ -*-===//
//
// Says what the layers of a module make, read and train, and what their tiles
// compute under any tiling: the part of LayerGraph.h that has to look at ops.
// Which layers there are, and how far each can be cut, is BuildGraph.cpp's; how
// an op is cut is the sharding's (../../shard/TileRules.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MODEL_TILEBUILDER_H
#define LWCC_PASSES_PLAN_MODEL_TILEBUILDER_H

#include "ir/train/Train.h"
#include "passes/plan/model/BuildGraph.h"

#include <utility>
#include <vector>

namespace lwcc::plan {

/// The tensors of a graph, and the tiles of its layers.
class TileBuilder {
public:
  /// Fills in what `graph`, whose layers are there, says about tensors and
  /// parameters. The module's ops must outlive this.
  TileBuilder(mlir::ModuleOp module, LayerGraph &graph, GraphOptions options);

  LayerTiles build(int layer, const Tiling &tiling) const;

  /// Whether a layer follows the one that it reads, and is cut like it. That is
  /// so of maps, views and batch normalization. A normalization computes little
  /// beside moving its images. Exchanging its statistics, a few numbers per
  /// channel, is priced with the layer, and so is adding up those of groups.
  bool follows(int layer) const;

private:
  struct Layer {
    llvm::SmallVector<mlir::Operation *> ops;
    llvm::SmallVector<mlir::Value> made, read, params;
    /// Of each product with a fused ReLU: among `made` and `read`, the partial
    /// sums that it makes where its reduction is cut, and the ReLU then reads
    /// (../../shard/TakeApart.cpp).
    llvm::DenseMap<mlir::Operation *, std::pair<size_t, size_t>> sums;
  };
  void addSums(LayerGraph &graph);
  void buildRelu(const Layer &layer, train::FusedReluOpInterface product,
                 const tiling::Cuts &whole, LayerTiles &tiles) const;
  void sign(const Layer &layer, LayerGraph::Layer &known);

  const GraphOptions options;
  std::vector<Layer> layers;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MODEL_TILEBUILDER_H
