//===- Sharder.h - A module and its functions, tile by tile -----*- C++ -*-===//
//
// The state of the pass train-shard (Shard.cpp): which parts of parameters and
// arguments lie where, and the function that is being made. Tiles and what they
// read: FunctionSharder.cpp; updates of parameters: Updates.cpp.
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

/// A part of a parameter or argument on one device.
struct Part {
  Box region;
  train::PlaceAttr place;
  mlir::FlatSymbolRefAttr parameter; ///< of a parameter: the symbol of the part
};

/// What both functions share: parameters and arguments.
class ModuleSharder {
public:
  ModuleSharder(mlir::ModuleOp module, bool localStatistics)
      : module(module), localStatistics(localStatistics), symbols(module) {}
  mlir::LogicalResult run();

private:
  friend class FunctionSharder;

  mlir::FlatSymbolRefAttr makePart(train::ParameterOp whole, const Box &region,
                                   train::PlaceAttr place);

  mlir::ModuleOp module;
  bool localStatistics; ///< of batch normalization
  mlir::SymbolTable symbols;
  llvm::MapVector<llvm::StringRef, std::vector<Part>> parameters;
  /// By number of the unsharded argument; in the order of the new ones.
  std::vector<std::pair<unsigned, Part>> arguments;
  std::map<DeviceId, int64_t> ownedBytes;
};

/// Ops that stand for one part of the samples (LocalStatistics.cpp): of each
/// only that part's tiles are made.
struct PartialOps {
  struct Part {
    int64_t part = 0;
    /// Per result: the value of all samples that it is a piece of, too; may be
    /// null, or absent at the end.
    llvm::SmallVector<mlir::Value> also;
  };
  llvm::DenseMap<mlir::Operation *, Part> ops;
  /// Those in whose place they stand: none of their tiles are made.
  llvm::SmallPtrSet<mlir::Operation *, 16> replaced;
};

/// Gives every part of the samples batch statistics of its own.
mlir::LogicalResult localizeStatistics(mlir::Block &body, PartialOps &partial);

class FunctionSharder {
public:
  FunctionSharder(ModuleSharder &shared, mlir::func::FuncOp func,
                  bool mayAddCopies)
      : shared(shared), func(func), old(func.getBody().front()),
        mayAddCopies(mayAddCopies), builder(func.getContext()),
        pieces(builder) {}
  mlir::LogicalResult run();
  /// Gives the function the arguments that others have added since.
  void addArguments();

private:
  void addArgument(unsigned number, const Part &part);
  using Tiles = std::vector<std::pair<mlir::Operation *, Tile>>;
  void tileOp(mlir::Operation *op);
  Tiles makeTiles(mlir::Operation *op);
  mlir::Operation *makeTile(mlir::Operation *op, const Tile &tile,
                            train::PlaceAttr place, train::TileAttr position);
  void addPieces(mlir::Operation *op, mlir::Operation *made, const Tile &tile);
  void addPiece(mlir::OpResult whole, const Box &region, mlir::Value made,
                const std::optional<Box> &kept = std::nullopt);
  void combineMaxima(train::ReduceMaxOp op, Tiles &tiles);
  void combineStatistics(train::BatchNormStatsOp op, Tiles &tiles);
  void readParameter(train::ReadOp read);
  mlir::Value readPart(train::ReadOp read, const Part &part);
  void update(train::UpdateOpInterface op,
              llvm::ArrayRef<train::WriteOp> writes);
  void updatePart(train::UpdateOpInterface op, const Box &part,
                  train::PlaceAttr place);
  Part &ownerOf(llvm::StringRef parameter, const Box &region, const Box &part);
  void write(train::WriteOp write, llvm::ArrayRef<Box> made);
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
  PartialOps partial;
  llvm::DenseMap<llvm::StringRef, train::ReadOp> reads;
  /// Round-robin counter: which device performs the next combine.
  size_t combined = 0;
};

/// Takes apart what a tile cannot do alone, of ops that are cut so that it
/// must: a ReLU behind partial sums, the mean of losses, what looks at all
/// classes (TakeApart.cpp).
void takeApart(mlir::Block &body);

/// Says of which tensor an argument or a parameter is a part.
llvm::SmallVector<mlir::NamedAttribute> partAttributes(mlir::Builder &builder,
                                                       llvm::StringRef tensor,
                                                       const Shape &shape,
                                                       const Box &box);

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_SHARDER_H
