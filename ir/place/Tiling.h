//===- Tiling.h - How a layer is cut ----------------------------*- C++ -*-===//
//
// Defines the nouns of cutting, for plans, IR and passes alike:
//
//   dimension  what a layer's work can be cut along: samples n, channels c,
//              height h, width w of its result, and the reduction k that its
//              sums run over
//   extents    a number for each dimension: how far something can be cut, into
//              how many parts it is cut (its degrees), or which part is meant
//   tiling     the degrees of a layer, and a place for each of its tiles
//
// Which element belongs to which tile is the business of passes/shard.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PLACE_TILING_H
#define LWCC_IR_PLACE_TILING_H

#include "ir/place/Place.h"

#include <array>
#include <vector>

namespace lwcc {

/// The dimensions by their names in files, in their order everywhere.
inline constexpr llvm::StringLiteral dimensions = "nchwk";

using Extents = std::array<int64_t, 5>;

/// How a layer is cut, and where its tiles run.
struct Tiling {
  Extents degrees = {1, 1, 1, 1, 1};
  std::vector<Place> places = {Place{}}; ///< of each tile, row-major
  /// The sizes of a dimension's parts, where these differ by more than one.
  /// Empty where the parts are equal.
  std::array<std::vector<int64_t>, 5> sizes;

  int64_t tiles() const; ///< at most the largest number there is
  bool operator==(const Tiling &) const = default;
  /// For people: "n=4 c=50+40+30", "whole".
  std::string cutsText() const;
  /// For people: devices, and lanes where they are not the first: "0-3",
  /// "1,0.1". A node that is not the first stands before a colon.
  std::string placesText() const;
};

} // namespace lwcc

#endif // LWCC_IR_PLACE_TILING_H
