//===- Pieces.h - Values that lie in pieces on several devices --*- C++ -*-===//
//
// Delivers a region of a value to a device, and creates the ops that this
// takes: `slice`, `transfer`, `concat`, `pad`, `fill` and `sum`. Which of them
// it takes is decided in Assembler.h.
// FunctionSharder asks for every operand of every tile. Halo exchange,
// re-tiling, gather and the reduction of partial sums are all such requests;
// none of them has code of its own.
//
// The nouns:
//   original      a value of the unsharded function
//   piece         a value that holds one region of an original, on one device
//   copies        pieces of one original that hold equal elements where they
//                 overlap (parameters, arguments, results of updates)
//   contributions pieces of an original that are added where they overlap
//                 (partial sums, gradients of overlapping windows)
//   request       a region of an original, wanted at a place
//
// A request is answered from pieces on the same device where these suffice, and
// each value is transferred to a device at most once.
//
// Does not decide where tiles run (passes/plan), nor who updates a parameter
// (Updates.cpp). A slice or concat made here costs no copy if StorageMap can
// make it a view (passes/schedule/Storage.h). `meaning::Piece`
// (passes/verify/Meaning.h) is a range of bytes, not a region.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_PIECES_H
#define LWCC_PASSES_SHARD_PIECES_H

#include "ir/train/Train.h"
#include "passes/shard/Assembler.h"
#include "passes/shard/TileRules.h"

#include <functional>
#include <map>

namespace lwcc::shard {

/// The place of a sharded value: the encoding of its type.
train::PlaceAttr placeOf(mlir::Value tile);

/// The type of a region of a tensor of type `like`, at a place.
mlir::RankedTensorType typeAt(mlir::Type like, const Box &region,
                              train::PlaceAttr place);

/// The index of the first element of `region` inside a tensor that holds
/// `outer`.
llvm::SmallVector<int64_t> offsetIn(const Box &outer, const Box &region);

/// The tiling of an op that is one tile and runs at `place`: of degree 1
/// everywhere.
train::TilingAttr oneTileAt(train::PlaceAttr place);

/// On whose behalf a region is requested: the ops that the request creates
/// carry this layer and phase.
struct Purpose {
  llvm::StringRef layer;
  Phase phase = Phase::forward;
};

/// Sets the place, the layer, the phase and the name of the only result of a
/// newly created op.
void describe(mlir::Operation *op, train::PlaceAttr place, Purpose purpose,
              llvm::StringRef name);

/// The pieces of all originals of one function, and the answers to requests.
class Pieces : Assembler {
public:
  /// Ops are created at the insertion point of `builder`. The point must only
  /// move forward: a value that was made for one request is used again by later
  /// ones.
  explicit Pieces(mlir::OpBuilder &builder) : builder(builder) {}

  /// Registers `tile` as a piece that holds `region` of `original`. If `kept`
  /// is given, only this part of the tile is valid and the rest is cut off.
  /// Pieces of one original that overlap are contributions; elements that no
  /// piece covers are zero.
  void add(mlir::Value original, const Box &region, mlir::Value tile,
           const std::optional<Box> &kept = std::nullopt);

  /// Makes `tile`, which holds `region` of `original`, the only piece that has
  /// anything of the region: what others have of it is in there.
  void replace(mlir::Value original, const Box &region, mlir::Value tile);

  /// Declares the pieces of `original` to be copies. `make` creates one more
  /// copy; `get` calls it when no piece on the device holds the region. If
  /// `make` is absent or returns null, the region is assembled from the copies
  /// that exist, on whatever device they lie.
  using MakeCopy =
      std::function<mlir::Value(const Box &region, train::PlaceAttr place)>;
  /// Among those of other nodes, copies of a group of so many are the nearest.
  void setCopies(mlir::Value original, MakeCopy make = {},
                 int64_t nodesOfGroup = 1);

  /// A value that holds `region` of `original`, on the device of `place`.
  mlir::Value get(mlir::Value original, const Box &region,
                  train::PlaceAttr place, Purpose purpose);

  /// For nodes, or groups of so many nodes, the place there that adds up what
  /// it contributes, so that one tensor is sent instead of one per device.
  struct Level {
    int64_t nodes = 1;                        ///< of a group
    std::map<int64_t, train::PlaceAttr> at{}; ///< by group
  };
  using Rails = std::vector<Level>; ///< nodes first, then groups of them

  /// The contributions to `region` of `original`, on the device of `place`:
  /// tensors of the region's shape whose sum is the region. Each device, or
  /// each group of `rails`, gives at most one. Their order is that of the
  /// pieces, so that every device that adds them gets the same bits. An update
  /// op adds them itself (Updates.cpp).
  llvm::SmallVector<mlir::Value> terms(mlir::Value original, const Box &region,
                                       train::PlaceAttr place, Purpose purpose,
                                       const Rails &rails = {});

  /// Copies `region` of an original, of which pieces are copies, to a device.
  /// Others of its node that ask for that region will take it from there.
  void addCopy(mlir::Value original, const Box &region, train::PlaceAttr place,
               Purpose purpose);

  /// A part of `tile`, which holds `region` of a tensor.
  mlir::Value cut(mlir::Value tile, const Box &region, const Box &part,
                  Purpose purpose);

  /// `tile` itself, on the device of `place`: a transfer if it lies elsewhere.
  mlir::Value bring(mlir::Value tile, train::PlaceAttr place, Purpose purpose);

private:
  /// The pieces of one original; `copies` and `make` as in setCopies.
  struct Source {
    std::vector<Part> pieces;
    bool copies = false;
    MakeCopy make;
    int64_t nodesOfGroup = 1;
  };

  /// Sets layer, phase, name, type and location of the ops that are created
  /// next.
  void serve(mlir::Value value, Purpose wanted);
  std::vector<Part> partsOfCopies(const Source &source, const Box &region,
                                  Place place);
  std::vector<Part> sumOnRails(std::vector<Part> parts, const Box &region,
                               const Level &level);

  // What Assembler asks for.
  Place placeOf(int value) const override;
  int slice(const Part &piece, const Box &part) override;
  int transfer(int value, Place place) override;
  int concat(llvm::ArrayRef<int> values, const Box &region, size_t axis,
             Place place) override;
  int pad(const Part &part, const Box &region, Place place) override;
  int sum(llvm::ArrayRef<int> terms, const Box &region, Place place) override;
  int zeros(const Box &region, Place place) override;

  /// The number by which Assembler knows a value.
  int numberOf(mlir::Value value);
  llvm::SmallVector<mlir::Value> valuesOf(llvm::ArrayRef<int> some) const;
  template <typename OpT, typename... Args>
  int create(Place place, Args &&...args);
  mlir::RankedTensorType typeAt(const Box &region, Place place) const;

  using Key = std::pair<Box, DeviceId>;
  mlir::OpBuilder &builder;
  std::vector<mlir::Value> values; ///< by their numbers
  llvm::DenseMap<mlir::Value, int> numbers;
  llvm::DenseMap<mlir::Value, Source> sources;
  llvm::DenseMap<mlir::Value, std::map<Key, mlir::Value>> made;
  std::map<std::pair<int, DeviceId>, int> moved; ///< transfers
  Purpose purpose;
  llvm::StringRef name; ///< of the original that is requested
  mlir::Type like;      ///< type of that original
  /// The attributes of what is made for that purpose and original, by place.
  std::map<Place, mlir::DictionaryAttr> descriptions;
  mlir::Location loc = builder.getUnknownLoc();
};

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_PIECES_H
