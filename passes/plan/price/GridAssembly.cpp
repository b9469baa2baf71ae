//===- GridAssembly.cpp - The calls that deliver a grid of regions --------===//
//
// What Assembly.h answers, for grids of regions in closed form: which regions
// of the makers a reader overlaps is a product over axes, and so is how they
// lie in it. A search asks for thousands of pairs of grids a second.
// AssemblyTest holds this against Assembly.cpp.
//
//===----------------------------------------------------------------------===//

#include "ir/place/Layout.h"
#include "passes/plan/price/Exchanges.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc;
using namespace lwcc::plan;
using tiling::Box;

namespace {
/// A maker's region and what a reader gets of it.
struct Share {
  Box maker, part;
  int64_t device;
};

/// Delivers to one device.
class Reader {
public:
  Reader(Assembly &result, Box region, int64_t device, int64_t elementBytes)
      : result(result), region(std::move(region)), device(device),
        elementBytes(static_cast<double>(elementBytes)) {}

  void take(const Share &only);
  void add(llvm::ArrayRef<Share> shares);

  /// What a concat reads.
  struct Operand {
    Box region;
    std::optional<Share> share; ///< unless it is a concat
    /// Whether it could be made inside a larger concat: it is no view.
    bool isMade = true;
  };
  Operand join(llvm::ArrayRef<Operand> operands, const Box &slab);

private:
  double bytesOf(const Box &box) const { return volume(box) * elementBytes; }
  bool isDense(const Box &whole, const Box &part) const {
    return tiling::partOffset(whole, part, static_cast<int64_t>(elementBytes))
        .has_value();
  }
  Assembly::Call &call(int64_t at, double bytes, const Box &made);
  void slice(const Share &share);
  void send(const Share &share) {
    result.sent.push_back({share.device, device, bytesOf(share.part)});
  }

  Assembly &result;
  const Box region;
  const int64_t device;
  const double elementBytes;
};
} // namespace

Assembly::Call &Reader::call(int64_t at, double bytes, const Box &made) {
  Assembly::Call &added = result.calls.emplace_back();
  added.device = at;
  added.work.bytes = bytes;
  added.made = bytesOf(made);
  return added;
}

/// Cuts what is wanted off a maker's region, unless that is a view.
void Reader::slice(const Share &share) {
  if (share.maker != share.part && !isDense(share.maker, share.part))
    call(share.device, 2 * bytesOf(share.part), share.part).sends =
        share.device != device;
}

void Reader::take(const Share &only) {
  slice(only);
  if (only.device != device)
    send(only);
}

/// Parts that overlap. Those that do not cover the region are padded.
void Reader::add(llvm::ArrayRef<Share> shares) {
  auto isWhole = [&](const Share &share) { return share.part == region; };
  // Windows of tensors of one shape are read where they lie.
  const bool areWindows = llvm::all_of(shares, [&](const Share &share) {
    return isWhole(share) && share.maker != share.part &&
           tiling::shapeOf(share.maker) == tiling::shapeOf(shares[0].maker) &&
           !isDense(share.maker, share.part);
  });
  llvm::SmallVector<Flow, 2> remote;
  for (const Share &share : shares) {
    if (!areWindows)
      slice(share);
    if (isWhole(share)) {
      if (share.device != device)
        remote.push_back({share.device, device, bytesOf(share.part)});
      continue;
    }
    if (share.device != device)
      send(share);
    call(device, bytesOf(share.part) + bytesOf(region), region);
  }
  Assembly::Call &sum = call(
      device, static_cast<double>(shares.size() + 1) * bytesOf(region), region);
  sum.remote = std::move(remote);
}

Reader::Operand Reader::join(llvm::ArrayRef<Operand> operands,
                             const Box &slab) {
  const bool dense = llvm::all_of(operands, [&](const Operand &operand) {
    return isDense(slab, operand.region);
  });
  bool isFree = dense;
  llvm::SmallVector<Flow, 2> remote;
  for (const Operand &operand : operands) {
    if (!operand.share) {
      isFree &= operand.isMade;
      continue;
    }
    const Share &share = *operand.share;
    const bool isCut = share.maker != share.part;
    if (share.device == device) {
      isFree &= !isCut; // what is cut is a view
    } else if (!dense || (isCut && !isDense(share.maker, share.part))) {
      remote.push_back({share.device, device, bytesOf(share.part)});
      isFree = false;
    } else {
      send(share);
    }
  }
  if (!isFree)
    call(device, 2 * bytesOf(slab), slab).remote = std::move(remote);
  return {slab, std::nullopt, !isFree};
}

std::optional<Assembly> RegionSet::assembleGrids(const RegionSet &makers,
                                                 llvm::ArrayRef<int> makersOn,
                                                 const RegionSet &readers,
                                                 llvm::ArrayRef<int> readersOn,
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
      makersOn.size() / static_cast<size_t>(makers.multiplicity));
  for (size_t m = 0; m < makersOn.size(); ++m)
    cells[cellOf([&](size_t d) { return makers.index[d][m]; })].push_back(
        static_cast<int>(m));
  Assembly result;
  for (size_t r = 0; r < readersOn.size(); ++r) {
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
    Reader reader(result, region, readersOn[r], elementBytes);
    // The shares of the makers at the intervals `at`.
    auto sharesAt = [&](llvm::ArrayRef<int> at) {
      Share share;
      for (size_t d = 0; d < rank; ++d) {
        share.maker.push_back((*makers.intervals[d])[at[d]]);
        share.part.push_back(tiling::intersect(share.maker[d], region[d]));
      }
      llvm::SmallVector<Share, 1> shares;
      for (int m : cells[cellOf([&](size_t d) { return at[d]; })]) {
        share.device = makersOn[m];
        shares.push_back(share);
      }
      return shares;
    };
    llvm::SmallVector<int, 5> at;
    for (size_t d = 0; d < rank; ++d)
      at.push_back(met[d].front());
    if (!overlap && split.empty()) {
      reader.take(sharesAt(at).front());
    } else if (overlap) {
      std::vector<Share> shares;
      llvm::SmallVector<size_t, 5> step(rank, 0);
      for (size_t d = 0; d < rank;) {
        llvm::append_range(shares, sharesAt(at));
        for (d = 0; d < rank; ++d) {
          step[d] = (step[d] + 1) % met[d].size();
          at[d] = met[d][step[d]];
          if (step[d] > 0)
            break;
        }
      }
      reader.add(shares);
    } else {
      // Concats within concats, along one split axis after the other.
      auto join = [&](auto &self, size_t level, const Box &slab) {
        if (level == split.size())
          return Reader::Operand{slab, sharesAt(at).front()};
        std::vector<Reader::Operand> operands;
        const size_t d = split[level];
        for (int interval : met[d]) {
          at[d] = interval;
          Box part = slab;
          part[d] =
              tiling::intersect((*makers.intervals[d])[interval], slab[d]);
          operands.push_back(self(self, level + 1, part));
        }
        return reader.join(operands, slab);
      };
      join(join, 0, region);
    }
  }
  return result;
}
