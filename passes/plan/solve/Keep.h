//===- Keep.h - Layers whose cuts are given ---------------------*- C++ -*-===//
//
// What --keep says: layers in whose names a regular expression is found are cut
// as given, and strategies decide on the others. A group of layers that are cut
// alike (Space.h) is kept if one of them is meant; its leader gets the degrees.
// Where the tiles run remains to the strategies.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_KEEP_H
#define LWCC_PASSES_PLAN_SOLVE_KEEP_H

#include "passes/plan/solve/Solvers.h"

#include "llvm/ADT/ArrayRef.h"

#include <string>
#include <vector>

namespace lwcc::plan {

/// One --keep.
struct Keep {
  std::string pattern; ///< a regular expression of layers' names
  Extents degrees = {1, 1, 1, 1, 1};
};

/// Reads "REGEX=n4" or "REGEX=n2c2"; "REGEX=n1" keeps layers whole. Returns
/// what is wrong with it, or "".
std::string parseKeep(llvm::StringRef text, Keep &keep);

/// The degrees of the leaders of kept groups, by their numbers in the graph.
/// Returns all mistakes: an expression that no layer's name matches, a group
/// that is to be cut in two ways, more parts than there are elements or
/// devices.
std::vector<std::string> findKept(llvm::ArrayRef<std::string> texts,
                                  const LayerGraph &graph,
                                  const Machine &machine, KeptDegrees &kept);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_KEEP_H
