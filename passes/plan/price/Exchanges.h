//===- Exchanges.h - Who sends what to whom ---------------------*- C++ -*-===//
//
// What devices must exchange under a plan, for prices and for the simulator
// alike. There are two kinds of exchanges:
//   - of a tensor: devices hold the regions that their tiles made, and need the
//     regions that their tiles read (RegionSet);
//   - of a parameter: the devices that hold a copy of a region sum its
//   gradients
//     and tell each other its new values (ParameterCopies).
// Which regions tiles make and read is told by the rules that cut them
// (../../shard/TileRules.h, through LayerTiles); how copies are updated, by
// ../../shard/Updates.h. How long an exchange takes is the business of
// ../machine/Links.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_EXCHANGES_H
#define LWCC_PASSES_PLAN_PRICE_EXCHANGES_H

#include "passes/plan/machine/Links.h"
#include "passes/plan/model/LayerGraph.h"
#include "passes/plan/price/Assembly.h"
#include "passes/shard/Updates.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <memory>
#include <set>

namespace lwcc::plan {

/// How the intervals into which an axis is cut overlap the intervals of another
/// way to cut it. Each pair of ways is worked out once.
class AxisOverlaps {
public:
  using Intervals = std::vector<tiling::Interval>;
  struct Table {
    double extent = 1;            ///< of the axis, in the units of the overlaps
    std::vector<double> common;   ///< [reader][maker]: how much they overlap
    std::vector<double> ofReader; ///< the sum over all makers
    std::vector<double> ofMaker;  ///< the sum over all readers
    std::vector<std::vector<int>> met; ///< [reader]: makers that it overlaps
    std::vector<bool> isCovered;       ///< [reader]: whether they cover it
    /// [reader][maker]: the sum over all smaller readers and makers.
    std::vector<double> before;

    /// The sum over all pairs of a range of readers and one of makers.
    double within(std::pair<int, int> readers,
                  std::pair<int, int> makers) const {
      size_t width = ofMaker.size() + 1;
      const double *from = &before[readers.first * width],
                   *to = &before[readers.second * width];
      return to[makers.second] - to[makers.first] - from[makers.second] +
             from[makers.first];
    }
  };
  /// Intervals of an axis, in units of which it has `extent`.
  struct Axis {
    Intervals intervals;
    int64_t extent = 1;
    auto operator<=>(const Axis &) const = default;
  };
  /// Numbers an axis, in the largest units in which its intervals are whole:
  /// axes that are cut alike have one number, however long they are. axis()
  /// finds it by its number. With an extent of 1 the intervals stay as they
  /// are.
  int number(Axis axis);
  const Axis &axis(int number) const { return *axes[number]; }
  /// Of two ways to cut one axis, in units in which both are whole.
  const Table &between(int readers, int makers);
  /// Numbers a set of regions, given everything that tells it from others.
  int numberOfSet(const std::vector<int> &description) {
    return sets.try_emplace(description, sets.size()).first->second;
  }

private:
  std::map<std::vector<int>, int> sets;
  std::map<Axis, int> numbers;
  std::vector<const Axis *> axes;
  llvm::DenseMap<std::pair<int, int>, std::unique_ptr<Table>> tables;
};

/// Regions of one tensor, each on a device. The AxisOverlaps that a set was
/// made with must outlive it.
///
/// Given the tensor's shape, a set knows its regions as parts of the tensor:
/// sets of tensors that are cut alike are equal. Volumes of two sets are then
/// in units of which the tensor has units(). Without, they are numbers of
/// elements.
class RegionSet {
public:
  RegionSet(const LayerTiles::Regions &tiles,
            const std::vector<int64_t> &places, AxisOverlaps &overlaps,
            const tiling::Shape &shape = {});

  /// Notes which regions lie in each group of devices that share a link. Then
  /// exchange() is fast.
  void findGroups(const Machine &machine);

  /// Adds to `traffic` what must move so that every device has its regions of
  /// `readers`. It gets the overlaps with all regions of `makers`, except with
  /// those that it made itself. Regions of makers that overlap each other are
  /// terms of a sum; all of them are sent.
  static void exchange(const RegionSet &makers, const RegionSet &readers,
                       double elementBytes, AxisOverlaps &overlaps,
                       Traffic &traffic);
  /// The same pair by pair: slower, but for all sets of regions.
  static void exchangeByPairs(const RegionSet &makers, const RegionSet &readers,
                              double elementBytes, AxisOverlaps &overlaps,
                              Traffic &traffic);
  /// Calls `visit` with the number of elements that each reader needs from each
  /// maker, those on the same device (from == to) included.
  static void forEachPair(
      const RegionSet &makers, const RegionSet &readers, AxisOverlaps &overlaps,
      llvm::function_ref<void(int64_t from, int64_t to, double volume)> visit);

  /// In how many units of volume two sets that know its shape divide a tensor;
  /// else 1.
  static double units(const RegionSet &makers, const RegionSet &readers,
                      AxisOverlaps &overlaps);

  /// Whether the regions are a grid: all combinations of some intervals per
  /// axis, each equally often, with no device twice. An exchange between two
  /// grids takes equally long in both directions.
  bool isGrid() const { return multiplicity > 0; }
  /// Equal sets on equal devices have the same number.
  int number() const { return known; }
  /// Whether nothing must move: every device of `readers` made what it reads,
  /// and no other device did.
  static bool isThere(const RegionSet &makers, const RegionSet &readers) {
    return makers.known == readers.known && makers.disjoint;
  }

private:
  friend class GridAssembly;
  /// Some of the regions. They may be a grid themselves: all combinations of
  /// consecutive intervals, each equally often.
  struct Part {
    std::vector<int> regions;
    llvm::SmallVector<std::pair<int, int>, 5> ranges; ///< per axis, half open
    double multiplicity = 0; ///< how often each combination occurs; 0: no grid
  };
  Part partOf(std::vector<int> some) const;
  /// For each region, `scale` times the product of its axes' entries in `sums`.
  llvm::SmallVector<double, 64>
  totals(double scale, llvm::ArrayRef<const std::vector<double> *> sums) const;

  bool isSame(size_t region, size_t other) const;

  std::vector<int64_t> devices; ///< of each region
  std::vector<int> tileOn;      ///< the last region on each device, or -1
  std::vector<int> axes;        ///< per axis: the number of its intervals
  std::vector<const AxisOverlaps::Intervals *> intervals; ///< per axis
  std::vector<std::vector<int>> index;   ///< [axis][region]: its interval
  std::vector<std::vector<Part>> groups; ///< [shared link][group]
  double multiplicity = 0;
  int known = -1;
  bool disjoint = false; ///< a grid whose regions do not overlap
};

/// A region of a parameter, the devices that hold a copy of it, and how they
/// keep these copies equal.
struct ParameterCopies {
  std::set<int64_t> devices;
  double bytes = 0; ///< of the region
  shard::SharedUpdate update;
};
/// What one device sends another, to keep copies equal.
struct SyncHop {
  int64_t from, to;
  double bytes;
  bool reduces; ///< gradients; else new values
};
/// Over how many levels copies are exchanged: 1 directly, 2 over a rail of each
/// node, 3 over one of each group of nodes, too (../../shard/Rails.h).
int levelsOf(const ParameterCopies &copies, const Machine &machine);

/// Everything that is sent to keep some copies equal, on the ways that
/// train-shard takes (../../shard/Updates.cpp); as if each device owned an
/// equal part, which is so in the mean where there are fewer owners.
std::vector<SyncHop> hopsOf(const ParameterCopies &copies,
                            const Machine &machine);

std::vector<ParameterCopies>
parameterCopies(const Parameter &parameter, const LayerTiles::Regions &regions,
                const std::vector<int64_t> &devices);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_EXCHANGES_H
