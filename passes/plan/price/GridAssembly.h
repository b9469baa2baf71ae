//===- GridAssembly.h - The calls that deliver a grid of regions *- C++ -*-===//
//
// What Assembly.h answers, for grids of regions in closed form: which regions
// of the makers a reader overlaps is a product over axes, and so is how they
// lie in it. None of this depends on the devices, so that it is worked out once
// for two grids, wherever they lie: a search asks for thousands of placements a
// second. AssemblyTest holds this against Assembly.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_GRIDASSEMBLY_H
#define LWCC_PASSES_PLAN_PRICE_GRIDASSEMBLY_H

#include "passes/plan/price/Exchanges.h"

namespace lwcc::plan {

class GridAssembly {
public:
  /// What delivers the regions of one grid from those of another. Nothing
  /// unless both are grids and the makers cover the readers.
  static std::optional<GridAssembly> of(const RegionSet &makers,
                                        const RegionSet &readers,
                                        int64_t elementBytes,
                                        AxisOverlaps &overlaps);

  /// The calls, without keys, if the regions are on these devices: no maker and
  /// no reader on one that another is on.
  Assembly on(llvm::ArrayRef<int> makers, llvm::ArrayRef<int> readers) const;

  /// What it takes memory in proportion to.
  size_t size() const { return shares.size() + steps.size(); }

private:
  class Delivery;

  /// What a reader gets of a maker's region.
  struct Share {
    int maker;
    double bytes;
    bool isCut;   ///< not all of the maker's region
    bool isView;  ///< dense in the maker's region
    bool isWhole; ///< all of the reader's region
  };
  struct Step {
    enum What {
      take,  ///< of one share
      add,   ///< shares that overlap
      join,  ///< shares, by a concat
      rejoin ///< the results of the steps before, by a concat
    } what;
    int reader;
    int operands;
    double bytes; ///< of the result
    /// Of a concat, whether its operands are dense in it; of a sum, whether it
    /// reads its terms where they lie.
    bool isDirect;
  };
  std::vector<Share> shares; ///< in the order of the steps
  std::vector<Step> steps;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_GRIDASSEMBLY_H
