//===- Sharder.h - A module and its functions, tile by tile -----*- C++ -*-===//
//
// The state of the pass train-shard (Shard.cpp). ModuleSharder knows which part
// of each parameter and argument lies on which device; both functions share it.
// FunctionSharder makes one function: tiles and their operands
// (FunctionSharder.cpp), results that are not sums (Combine.cpp), gradients of
// several tiles on one lane (Accumulate.cpp), updates of parameters
// (Updates.cpp) by gradients that may be clipped (ClipGradients.cpp).
//
// Does not decide cuts (TileRules.h), nor how a region gets to a device
// (Pieces.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_SHARDER_H
#define LWCC_PASSES_SHARD_SHARDER_H

#include "ir/train/Train.h"
#include "passes/shard/Pieces.h"
#include "passes/shard/TileRules.h"

#include "llvm/ADT/MapVector.h"

#include <map>

namespace lwcc::shard {

/// A region of a parameter or argument that one device holds.
struct Part {
  Box region;
  train::PlaceAttr place;
  mlir::FlatSymbolRefAttr parameter; ///< null: a part of an argument
};

/// What @train_step and @evaluate share: the parts of parameters and of
/// arguments.
class ModuleSharder {
public:
  explicit ModuleSharder(mlir::ModuleOp module)
      : module(module), symbols(module) {}
  mlir::LogicalResult run();

private:
  friend class FunctionSharder;

  mlir::FlatSymbolRefAttr makePart(train::ParameterOp whole, const Box &region,
                                   train::PlaceAttr place);
  void storeRest(train::ParameterOp whole);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::MapVector<llvm::StringRef, std::vector<Part>> parameters;
  /// The parts of all arguments with the number of the unsharded argument, in
  /// the order of the new arguments.
  std::vector<std::pair<unsigned, Part>> arguments;
  std::map<DeviceId, int64_t> ownedBytes;
};

/// A part of a parameter that is updated at one place, and the devices of other
/// nodes that exchange it for theirs (Updates.h, isTwoLevel).
struct UpdatedPart {
  Box region;
  train::PlaceAttr place;
  Pieces::Rails rails;
  bool isFirst = true; ///< false: an earlier part is the same, elsewhere
};

/// Makes the sharded body of one function.
class FunctionSharder {
public:
  FunctionSharder(ModuleSharder &shared, mlir::func::FuncOp func,
                  bool mayAddCopies)
      : shared(shared), func(func), old(func.getBody().front()),
        mayAddCopies(mayAddCopies), builder(func.getContext()),
        pieces(builder) {}
  mlir::LogicalResult run();
  /// Adds the arguments that the other function's tiles have asked for, so that
  /// both signatures are equal.
  void addArguments();

private:
  void addArgument(unsigned number, const Part &part);
  using Tiles = std::vector<std::pair<mlir::Operation *, Tile>>;
  void tileOp(mlir::Operation *op);
  Tiles makeTiles(mlir::Operation *op);
  /// `number` is the tile's in its layer, if it is one of several.
  mlir::Operation *makeTile(mlir::Operation *op, const Tile &tile,
                            train::PlaceAttr place, train::TileAttr position,
                            std::optional<int64_t> number = std::nullopt);
  void addPieces(mlir::Operation *op, mlir::Operation *made, const Tile &tile);
  void combineMaxima(train::ReduceMaxOp op, Tiles &tiles);
  void accumulate(mlir::Operation *op, Tiles &tiles);
  void combineStatistics(train::BatchNormStatsOp op, Tiles &tiles);
  void combineSums(train::BatchNormGradStatsOp op, Tiles &tiles);
  /// A tile of a statistics op, and what it holds of the statistics.
  struct StatisticsPart {
    train::BatchNormStatsOp op;
    Box region;
    Interval samples;
  };
  void combineStatistics(train::BatchNormStatsOp op, const Box &region,
                         llvm::ArrayRef<StatisticsPart> parts);
  void readParameter(train::ReadOp read);
  mlir::Value readPart(train::ReadOp read, const Part &part);
  std::vector<UpdatedPart> partsOfUpdate(train::UpdateOpInterface op);
  void update(train::UpdateOpInterface op, llvm::ArrayRef<UpdatedPart> parts);
  void updatePart(train::UpdateOpInterface op, const UpdatedPart &part,
                  llvm::ArrayRef<mlir::Value> terms);
  llvm::SmallVector<mlir::Value>
  gradientTerms(mlir::Value gradient, const UpdatedPart &part, Purpose purpose);
  /// Of update ops, in their order.
  using PartsOfUpdates =
      llvm::MapVector<mlir::Operation *, std::vector<UpdatedPart>>;
  void clipGradients(train::ClipGradientsOp op, const PartsOfUpdates &updates);
  void average(train::AverageOp op, llvm::ArrayRef<UpdatedPart> parts);
  Part &ownerOf(llvm::StringRef parameter, const Box &region, const Box &part);
  void write(train::WriteOp write, llvm::ArrayRef<UpdatedPart> made);
  Purpose purposeOf(mlir::Operation *op) {
    return {train::layerOf(op), train::phaseOf(op)};
  }

  ModuleSharder &shared;
  mlir::func::FuncOp func;
  mlir::Block &old;
  mlir::Block *body = nullptr;
  bool mayAddCopies;
  mlir::OpBuilder builder;
  Pieces pieces;
  llvm::DenseMap<llvm::StringRef, train::ReadOp> reads;
  /// Round-robin counter: which device performs the next combine.
  size_t combined = 0;
};

/// Where the terms of a gradient are used by an op on the device of `place`.
train::PlaceAttr placeForTerms(llvm::ArrayRef<mlir::Value> terms,
                               train::PlaceAttr place);

/// Replaces ops whose tiles are not independent as they are cut: a ReLU on
/// partial sums, the mean of losses, what reads all classes (TakeApart.cpp).
void takeApart(mlir::Block &body);

/// The attributes that say which region `box` of which tensor of shape `shape`
/// a parameter or argument holds; the trainer's tables are made of them.
llvm::SmallVector<mlir::NamedAttribute> partAttributes(mlir::Builder &builder,
                                                       llvm::StringRef tensor,
                                                       const Shape &shape,
                                                       const Box &box);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_SHARDER_H
