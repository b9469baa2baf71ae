//===- Pieces.h - Values that lie in pieces on several devices --*- C++ -*-===//
//
// Where the tiles of a value lie, and how a region of it is brought to a
// device: cut out of a piece, moved, joined, and summed where pieces overlap.
// What is already there is used as it is; a piece goes to a device once.
// Joining and cutting are views later, where memory allows (passes/schedule).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_PIECES_H
#define LWCC_PASSES_SHARD_PIECES_H

#include "ir/train/Train.h"
#include "passes/shard/Box.h"

#include <functional>
#include <map>

namespace lwcc::shard {

/// Where a tile lies.
train::PlaceAttr placeOf(mlir::Value tile);

mlir::RankedTensorType typeAt(mlir::Type like, const Box &region,
                              train::PlaceAttr place);

/// The first element of `region` in a tensor that holds `outer`.
llvm::SmallVector<int64_t> offsetIn(const Box &outer, const Box &region);

/// Says that an op is one tile, which runs at `place`.
void setPlace(mlir::Operation *op, train::PlaceAttr place);

/// What a request serves: ops that are made for it get this layer and phase.
struct Purpose {
  llvm::StringRef layer;
  Phase phase = Phase::forward;
};

/// Place, layer, phase and the name of the only result of an op that is made.
void describe(mlir::Operation *op, train::PlaceAttr place, Purpose purpose,
              llvm::StringRef name);

class Pieces {
public:
  /// New ops go to where `builder` stands. Its place of insertion must only
  /// move forward.
  explicit Pieces(mlir::OpBuilder &builder) : builder(builder) {}

  /// `tile` holds a region of `original`; with `kept`, only this part of it is
  /// good. Pieces of one value that overlap are contributions to a sum; what no
  /// piece covers is zero.
  void add(mlir::Value original, const Box &region, mlir::Value tile,
           const std::optional<Box> &kept = std::nullopt);

  /// Pieces of this value are copies of the same elements instead. `make` is
  /// asked for another copy where no device nearby holds one; it may return
  /// null or be absent, and the region is then taken from the copies there are.
  using MakeCopy =
      std::function<mlir::Value(const Box &region, train::PlaceAttr place)>;
  void setCopies(mlir::Value original, MakeCopy make = {});

  /// The region of `original`, on the device of `place`.
  mlir::Value get(mlir::Value original, const Box &region,
                  train::PlaceAttr place, Purpose purpose);

  /// The same as tensors of this region whose sum it is, in a fixed order; one
  /// of a device that has several.
  llvm::SmallVector<mlir::Value> terms(mlir::Value original, const Box &region,
                                       train::PlaceAttr place, Purpose purpose);

  /// One tile, on the device of `place`.
  mlir::Value bring(mlir::Value tile, train::PlaceAttr place, Purpose purpose);

private:
  struct Piece {
    Box region;
    mlir::Value value;
  };
  struct Source {
    std::vector<Piece> pieces;
    bool copies = false;
    MakeCopy make;
  };

  /// Says what the ops that follow are made for.
  void serve(mlir::Value value, Purpose wanted);
  static bool anyOverlap(const std::vector<Piece> &parts);
  std::vector<Piece> partsOfCopies(const Source &source, const Box &region,
                                   train::PlaceAttr place);
  std::vector<Piece> partsOf(const Source &source, const Box &region,
                             train::PlaceAttr place);
  Piece cut(const Piece &piece, const Box &region);
  mlir::Value move(mlir::Value value, train::PlaceAttr place);
  mlir::Value combine(std::vector<Piece> parts, const Box &region,
                      train::PlaceAttr place);
  mlir::Value join(std::vector<Piece> parts, const Box &region,
                   train::PlaceAttr place);
  mlir::Value sum(const std::vector<Piece> &parts, const Box &region,
                  train::PlaceAttr place);
  mlir::Value zeros(const Box &region, train::PlaceAttr place);
  template <typename OpT, typename... Args>
  OpT create(train::PlaceAttr place, Args &&...args);

  using Key = std::pair<Box, DeviceId>;
  mlir::OpBuilder &builder;
  llvm::DenseMap<mlir::Value, Source> sources;
  llvm::DenseMap<mlir::Value, std::map<Key, mlir::Value>> made;
  std::map<std::pair<void *, DeviceId>, mlir::Value> moved;
  Purpose purpose;
  llvm::StringRef name; ///< of the value that is asked for
  mlir::Type like;      ///< its type
  mlir::Location loc = builder.getUnknownLoc();
};

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_PIECES_H
