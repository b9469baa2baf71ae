//===- CostTables.h - The layer-wise search as tables -----------*- C++ -*-===//
//
// The space of OptCNN (Jia et al. 2018) for one problem: groups of layers that
// are cut alike, for each the tilings with equal parts, as many as a divisor of
// the devices, part i on device i; what each costs alone, and what each pair of
// tilings costs between two groups (Price.h). Equal groups share their tables,
// and equal layers what is known of them.
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

  /// The sum that a plan is to minimize: a variable per group, a value per
  /// tiling.
  const MinSum &sum() const { return tables; }
  /// The plan of a value per group.
  Plan planOf(const std::vector<int> &choice, llvm::StringRef strategy) const;
  /// For people and other programs (README.md).
  std::string toJson() const;

private:
  using Group = LayerGroup;
  /// What equal groups share.
  struct Kind {
    int number = 0;
    std::vector<Tiling> tilings; ///< of the leader
    /// Of each tiling: the group's layers under it.
    std::vector<std::vector<const PlacedLayer *>> placed;
    std::vector<double> seconds; ///< of each tiling
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
  void addEdges();

  const Problem problem;
  Pricer pricer;
  std::vector<Group> groups;
  std::vector<std::pair<int, int>> position; ///< of a layer: group, place in it
  std::map<std::string, int> signatures;     ///< of layers, numbered
  std::map<std::pair<int, Extents>, Cut> cuts; ///< by signature and degrees
  std::vector<Edge> edges;                     ///< of the graph
  /// Those between two groups, the earlier first, and those inside one.
  std::map<std::pair<int, int>, std::vector<const Edge *>> between;
  std::map<std::string, Kind> kinds;
  std::vector<const Kind *> kindOf; ///< of each group
  MinSum tables;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVE_COSTTABLES_H
