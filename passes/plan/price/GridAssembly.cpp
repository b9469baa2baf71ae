//===- GridAssembly.cpp - The calls that deliver a grid of regions --------===//

#include "passes/plan/price/GridAssembly.h"
#include "ir/place/Layout.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace lwcc::plan;
using tiling::Box;

//===----------------------------------------------------------------------===//
// Wherever the regions lie
//===----------------------------------------------------------------------===//

std::optional<GridAssembly> GridAssembly::of(const RegionSet &makers,
                                             const RegionSet &readers,
                                             int64_t elementBytes,
                                             AxisOverlaps &overlaps) {
  if (!makers.isGrid() || !readers.isGrid())
    return std::nullopt;
  const size_t rank = makers.axes.size();
  llvm::SmallVector<const AxisOverlaps::Table *, 5> tables;
  for (size_t d = 0; d < rank; ++d)
    tables.push_back(&overlaps.between(readers.axes[d], makers.axes[d]));
  // The regions of each combination of the makers' intervals, row-major.
  auto cellOf = [&](auto intervalAt) {
    size_t cell = 0;
    for (size_t d = 0; d < rank; ++d)
      cell = cell * makers.intervals[d]->size() + intervalAt(d);
    return cell;
  };
  std::vector<llvm::SmallVector<int, 1>> cells(
      makers.devices.size() / static_cast<size_t>(makers.multiplicity));
  for (size_t m = 0; m < makers.devices.size(); ++m)
    cells[cellOf([&](size_t d) { return makers.index[d][m]; })].push_back(
        static_cast<int>(m));
  auto bytesOf = [&](const Box &box) {
    return volume(box) * static_cast<double>(elementBytes);
  };
  auto isDense = [&](const Box &whole, const Box &part) {
    return tiling::partOffset(whole, part, elementBytes).has_value();
  };
  GridAssembly result;
  for (size_t r = 0; r < readers.devices.size(); ++r) {
    Box region;
    llvm::SmallVector<llvm::ArrayRef<int>, 5> met; // makers' intervals, by axis
    llvm::SmallVector<size_t, 5> split;
    bool overlap = makers.multiplicity > 1;
    for (size_t d = 0; d < rank; ++d) {
      const int at = readers.index[d][r];
      const AxisOverlaps::Table &table = *tables[d];
      if (!table.isCovered[at])
        return std::nullopt;
      region.push_back((*readers.intervals[d])[at]);
      met.push_back(table.met[at]);
      overlap |= table.ofReader[at] > static_cast<double>(region[d].size());
      if (met[d].size() > 1)
        split.push_back(d);
    }
    auto addStep = [&](Step::What what, size_t operands, const Box &made,
                       bool isDirect) {
      result.steps.push_back({what, static_cast<int>(r),
                              static_cast<int>(operands), bytesOf(made),
                              isDirect});
    };
    // Adds the shares of the makers at the intervals `at`, whose region it
    // returns.
    auto addShares = [&](llvm::ArrayRef<int> at) {
      Box whole, part;
      for (size_t d = 0; d < rank; ++d) {
        whole.push_back((*makers.intervals[d])[at[d]]);
        part.push_back(tiling::intersect(whole[d], region[d]));
      }
      const bool isCut = whole != part;
      const Share share = {-1, bytesOf(part), isCut,
                           !isCut || isDense(whole, part), part == region};
      for (int m : cells[cellOf([&](size_t d) { return at[d]; })]) {
        result.shares.push_back(share);
        result.shares.back().maker = m;
      }
      return whole;
    };
    llvm::SmallVector<int, 5> at;
    for (size_t d = 0; d < rank; ++d)
      at.push_back(met[d].front());
    if (!overlap && split.empty()) {
      addShares(at);
      addStep(Step::take, 1, region, false);
    } else if (overlap) {
      const size_t before = result.shares.size();
      llvm::SmallVector<size_t, 5> step(rank, 0);
      std::optional<tiling::Shape> shape; // of the makers' regions
      // Windows of tensors of one shape are read where they lie.
      bool areWindows = true;
      for (size_t d = 0; d < rank;) {
        tiling::Shape whole = shapeOf(addShares(at));
        areWindows &= !shape || whole == *shape;
        shape = std::move(whole);
        for (d = 0; d < rank; ++d) {
          step[d] = (step[d] + 1) % met[d].size();
          at[d] = met[d][step[d]];
          if (step[d] > 0)
            break;
        }
      }
      const auto all = llvm::ArrayRef(result.shares).drop_front(before);
      areWindows &= llvm::all_of(all, [](const Share &share) {
        return share.isWhole && share.isCut && !share.isView;
      });
      addStep(Step::add, all.size(), region, areWindows);
    } else {
      // Concats within concats, along one split axis after the other.
      auto join = [&](auto &self, size_t level, const Box &slab) -> void {
        if (level == split.size()) {
          addShares(at);
          return;
        }
        const size_t d = split[level];
        bool areDense = true;
        for (int interval : met[d]) {
          at[d] = interval;
          Box part = slab;
          part[d] =
              tiling::intersect((*makers.intervals[d])[interval], slab[d]);
          self(self, level + 1, part);
          areDense &= isDense(slab, part);
        }
        addStep(level + 1 == split.size() ? Step::join : Step::rejoin,
                met[d].size(), slab, areDense);
      };
      join(join, 0, region);
    }
  }
  return result;
}

//===----------------------------------------------------------------------===//
// On devices
//===----------------------------------------------------------------------===//

class GridAssembly::Delivery {
public:
  Delivery(Assembly &result, llvm::ArrayRef<int> makers,
           llvm::ArrayRef<int> readers)
      : result(result), makers(makers), readers(readers) {}

  void play(const Step &step, llvm::ArrayRef<Share> shares) {
    device = readers[step.reader];
    switch (step.what) {
    case Step::take:
      slice(shares.front());
      if (!isHere(shares.front()))
        send(shares.front());
      return;
    case Step::add:
      return add(step, shares);
    case Step::join:
    case Step::rejoin:
      return join(step, shares);
    }
  }

private:
  int deviceOf(const Share &share) const { return makers[share.maker]; }
  bool isHere(const Share &share) const { return deviceOf(share) == device; }
  Flow flowOf(const Share &share) const {
    return {deviceOf(share), device, share.bytes};
  }
  void send(const Share &share) { result.sent.push_back(flowOf(share)); }
  Assembly::Call &call(int at, double bytes, double made) {
    Assembly::Call &added = result.calls.emplace_back();
    added.device = at;
    added.work.bytes = bytes;
    added.made = made;
    return added;
  }
  /// Cuts what is wanted off a maker's region, unless that is a view.
  void slice(const Share &share) {
    if (share.isCut && !share.isView)
      call(deviceOf(share), 2 * share.bytes, share.bytes).sends =
          !isHere(share);
  }
  void add(const Step &step, llvm::ArrayRef<Share> shares);
  void join(const Step &step, llvm::ArrayRef<Share> shares);

  Assembly &result;
  const llvm::ArrayRef<int> makers, readers;
  int device = 0; ///< of the reader
  /// Of concats that no other one has joined: whether they are calls, and so
  /// could make their result inside of a larger one.
  llvm::SmallVector<bool, 8> isMade;
};

/// Parts that overlap. Those that do not cover the region are padded.
void GridAssembly::Delivery::add(const Step &step,
                                 llvm::ArrayRef<Share> shares) {
  llvm::SmallVector<Flow, 2> remote;
  for (const Share &share : shares) {
    if (!step.isDirect)
      slice(share);
    if (share.isWhole) {
      if (!isHere(share))
        remote.push_back(flowOf(share));
      continue;
    }
    if (!isHere(share))
      send(share);
    call(device, share.bytes + step.bytes, step.bytes);
  }
  call(device, static_cast<double>(shares.size() + 1) * step.bytes, step.bytes)
      .remote = std::move(remote);
}

void GridAssembly::Delivery::join(const Step &step,
                                  llvm::ArrayRef<Share> shares) {
  bool isFree = step.isDirect;
  llvm::SmallVector<Flow, 2> remote;
  for (const Share &share : shares) {
    if (isHere(share)) {
      isFree &= !share.isCut; // what is cut is a view
    } else if (!step.isDirect || !share.isView) {
      remote.push_back(flowOf(share));
      isFree = false;
    } else {
      send(share);
    }
  }
  if (step.what == Step::rejoin) {
    isFree &= llvm::all_of(llvm::ArrayRef(isMade).take_back(step.operands),
                           [](bool made) { return made; });
    isMade.pop_back_n(step.operands);
  }
  if (!isFree)
    call(device, 2 * step.bytes, step.bytes).remote = std::move(remote);
  isMade.push_back(!isFree);
}

Assembly GridAssembly::on(llvm::ArrayRef<int> makers,
                          llvm::ArrayRef<int> readers) const {
  Assembly result;
  Delivery delivery(result, makers, readers);
  llvm::ArrayRef<Share> left = shares;
  for (const Step &step : steps) {
    const size_t own = step.what == Step::rejoin ? 0 : step.operands;
    delivery.play(step, left.take_front(own));
    left = left.drop_front(own);
  }
  return result;
}
