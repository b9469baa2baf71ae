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
#include "passes/shard/Updates.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <map>
#include <memory>
#include <set>

namespace lwcc::plan {

/// How the intervals into which an axis is cut overlap those of another way to
/// cut it; each pair of ways is looked at once.
class AxisOverlaps {
public:
  using Intervals = std::vector<shard::Interval>;
  struct Table {
    std::vector<double> common;            ///< [reader][maker]
    std::vector<double> ofReader, ofMaker; ///< sums of these
    /// [reader][maker]: the sum over all pairs before them.
    std::vector<double> before;

    /// The sum over the pairs of two ranges.
    double within(std::pair<int, int> readers,
                  std::pair<int, int> makers) const {
      size_t width = ofMaker.size() + 1;
      const double *from = &before[readers.first * width],
                   *to = &before[readers.second * width];
      return to[makers.second] - to[makers.first] - from[makers.second] +
             from[makers.first];
    }
  };
  /// The number of a list of intervals, and the list, as long as this lives.
  int number(const Intervals &intervals);
  const Intervals &list(int number) const { return *lists[number]; }
  const Table &between(int readers, int makers);
  /// The number of a set of regions, given by what tells it from others.
  int numberOfSet(const std::vector<int> &description) {
    return sets.try_emplace(description, sets.size()).first->second;
  }

private:
  std::map<std::vector<int>, int> sets;
  std::map<Intervals, int> numbers;
  std::vector<const Intervals *> lists;
  llvm::DenseMap<std::pair<int, int>, std::unique_ptr<Table>> tables;
};

/// Regions of one tensor, each on a device. Refers to the `overlaps` that it
/// was made with.
class RegionSet {
public:
  RegionSet(const LayerTiles::Regions &tiles,
            const std::vector<int64_t> &places, AxisOverlaps &overlaps);

  /// Notes what lies in each group of devices that share a link, for exchange()
  /// to be fast.
  void findGroups(const Machine &machine);

  /// Adds what must move so that every device of `readers` has its regions: the
  /// parts of all of `makers` that meet it (where these overlap they are terms
  /// of a sum), but for those that it made itself.
  static void exchange(const RegionSet &makers, const RegionSet &readers,
                       double elementBytes, AxisOverlaps &overlaps,
                       Traffic &traffic);
  /// The same, pair by pair: slower, for all sets.
  static void exchangeByPairs(const RegionSet &makers, const RegionSet &readers,
                              double elementBytes, AxisOverlaps &overlaps,
                              Traffic &traffic);
  /// How many elements go from each maker's device to each reader's, and also
  /// those that are there already (from == to).
  static void forEachPair(
      const RegionSet &makers, const RegionSet &readers, AxisOverlaps &overlaps,
      llvm::function_ref<void(int64_t from, int64_t to, double volume)> visit);

  /// Whether the regions are all combinations of some intervals per axis, each
  /// equally often, and no device has two. Between grids, what is exchanged
  /// takes equally long in both directions.
  bool isGrid() const { return multiplicity > 0; }
  /// Equal sets on equal devices have one number.
  int number() const { return known; }
  /// Whether every device of `readers` made what it reads, and no other did.
  static bool isThere(const RegionSet &makers, const RegionSet &readers) {
    return makers.known == readers.known && makers.disjoint;
  }

private:
  /// Some of the regions, and whether they are all combinations of intervals
  /// that stand one behind the other, each equally often.
  struct Part {
    std::vector<int> regions;
    llvm::SmallVector<std::pair<int, int>, 5> ranges; ///< per axis, half open
    double multiplicity = 0;                          ///< 0: they are not
  };
  Part partOf(std::vector<int> some) const;
  /// Per region: `scale` times the product over axes of sums over the other
  /// side's intervals.
  llvm::SmallVector<double, 64>
  totals(double scale, llvm::ArrayRef<const std::vector<double> *> sums) const;

  bool isSame(size_t region, size_t other) const;

  std::vector<int64_t> devices; ///< of each region
  std::vector<int> tileOn;      ///< of a device: the last region there, or -1
  std::vector<int> axes;        ///< per axis: the number of its intervals
  std::vector<const AxisOverlaps::Intervals *> intervals; ///< per axis
  std::vector<std::vector<int>> index;   ///< [axis][region]: of which interval
  std::vector<std::vector<Part>> groups; ///< [shared link][group]
  double multiplicity = 0;
  int known = -1;
  bool disjoint = false; ///< a grid whose regions do not overlap
};

/// A region of a parameter, and the devices that hold a copy of it.
struct ParameterCopies {
  std::set<int64_t> devices;
  double bytes = 0; ///< of the region
  shard::SharedUpdate update;
};
std::vector<ParameterCopies>
parameterCopies(const LayerTiles::Regions &regions,
                const std::vector<int64_t> &devices);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_EXCHANGES_H
