//===- Assembler.h - How a region is put together ---------------*- C++ -*-===//
//
// Decides which data movements deliver a region of a tensor to a device, given
// pieces of it that lie on several devices. Pieces.h makes ops of them, and
// planning prices them (passes/plan/price/Assembly.h): both derive a class from
// this one, so that what is priced is what is made.
//
// A piece is sent as it is, or the part of it that is wanted. Parts that do not
// overlap are joined by concats. Those that do are terms of a sum
// (contributions, Pieces.h). Contributions that lie together on another device
// are summed there first, so that one tensor is sent.
//
// Plain C++. Does not decide which of these movements need no bytes moved:
// passes/schedule/Storage.h does.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_SHARD_ASSEMBLER_H
#define LWCC_PASSES_SHARD_ASSEMBLER_H

#include "ir/place/Box.h"
#include "ir/place/Place.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace lwcc::shard {

class Assembler {
public:
  /// A value that holds a region of the tensor. Values have numbers that the
  /// derived class gives out.
  struct Part {
    tiling::Box region;
    int value;
  };
  virtual ~Assembler() = default;

  /// What each of `pieces` has of the region, cut to it, device by device;
  /// contributions of another device than that of `place` are summed there.
  std::vector<Part> partsOf(llvm::ArrayRef<Part> pieces,
                            const tiling::Box &region, Place place);
  /// A value that holds the region, at `place`. The parts lie within it. What
  /// none of them covers is zero.
  int combine(std::vector<Part> parts, const tiling::Box &region, Place place);
  Part cut(const Part &piece, const tiling::Box &region);

protected:
  virtual Place placeOf(int value) const = 0;
  /// A part of a piece, where the piece is.
  virtual int slice(const Part &piece, const tiling::Box &part) = 0;
  /// The value, on another device than its own.
  virtual int transfer(int value, Place place) = 0;
  /// Values that follow each other along an axis.
  virtual int concat(llvm::ArrayRef<int> values, const tiling::Box &region,
                     size_t axis, Place place) = 0;
  /// A part in its place within the region, and zeros around it.
  virtual int pad(const Part &part, const tiling::Box &region, Place place) = 0;
  /// The sum of two or more values that hold the region each.
  virtual int sum(llvm::ArrayRef<int> terms, const tiling::Box &region,
                  Place place) = 0;
  virtual int zeros(const tiling::Box &region, Place place) = 0;

private:
  int move(int value, Place place);
  int join(std::vector<Part> parts, const tiling::Box &region, Place place);
  int addUp(llvm::ArrayRef<Part> parts, const tiling::Box &region, Place place);
};

} // namespace lwcc::shard

#endif // LWCC_PASSES_SHARD_ASSEMBLER_H
