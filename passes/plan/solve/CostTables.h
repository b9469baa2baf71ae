//===- CostTables.h - The layer-wise search as tables -----------*- C++ -*-===//
//
// The layer-wise search as a problem for MinSum.h: a variable per group of
// layers, a value per tiling (Space.h). A group's factor holds what each tiling
// costs alone; a factor of two groups holds what each pair of tilings costs
// between them (../price/Price.h).
//
// Equal groups share their tables, and equal layers what is known of them.
// Edges share what goes between sets of regions that are equal parts of their
// tensors.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVE_COSTTABLES_H
#define LWCC_PASSES_PLAN_SOLVE_COSTTABLES_H

#include "passes/plan/minsum/MinSum.h"
#include "passes/plan/price/Price.h"
#include "passes/plan/solve/Solvers.h"
#include "passes/plan/solve/Space.h"

#include <map>

namespace lwcc::plan {

class CostTables {
public:
  explicit CostTables(const Problem &problem);

  /// The sum that a plan is to minimize.
  const MinSum &sum() const { return tables; }
  /// The plan of a choice.
  Plan planOf(const std::vector<int> &choice, llvm::StringRef strategy) const;
  /// What --emit=costs writes (../README.md).
  std::string toJson() const;

private:
  using Group = LayerGroup;
  /// What equal groups share.
  struct Kind {
    int number = 0;
    std::vector<Tiling> tilings; ///< of the leader
    /// For each tiling, the group's layers under it.
    std::vector<std::vector<const PlacedLayer *>> placed;
    std::vector<double> seconds; ///< of each tiling, for the group alone
  };

  /// A layer under one tiling: what edges look at, and what it costs alone.
  struct Cut {
    PlacedLayer placed;
    double seconds = 0;
  };

  void findGroups();
  const Cut &cutOf(int layer, const Tiling &tiling);
  Tiling tilingOf(int layer, const Tiling &leader) const;
  void fill(const Group &group, Kind &kind);
  std::string signatureOf(const Edge &edge) const;
  std::string signatureOf(const Group &group) const;
  /// What goes from each of some sets of regions to each of others, [maker]
  /// [reader].
  using Exchanges = std::vector<const Pricer::Exchanged *>;
  using Sets = std::vector<const RegionSet *>;
  const Exchanges &exchangesOf(const Sets &made, const Sets &read);
  std::vector<double> tableOf(int first, int second,
                              llvm::ArrayRef<const Edge *> all);
  void addEdges();

  const Problem problem;
  Pricer pricer;
  std::vector<Group> groups;
  /// Of each layer: its group, and where in the group it stands.
  std::vector<std::pair<int, int>> position;
  std::map<std::string, int> signatures; ///< numbers of layers' signatures
  std::map<std::pair<int, Extents>, Cut> cuts; ///< by signature and degrees
  std::vector<Edge> edges;                     ///< of the graph
  /// The edges between two groups, of which the earlier comes first, and those
  /// within one group.
  std::map<std::pair<int, int>, std::vector<const Edge *>> between;
  std::map<std::string, Kind> kinds;
  /// By the numbers of the sets.
  std::map<std::pair<std::vector<int>, std::vector<int>>, Exchanges> exchanges;
  std::vector<const Kind *> kindOf; ///< of each group
  MinSum tables;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_COSTTABLES_H
