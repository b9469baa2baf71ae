//===- Exchanges.cpp - Who sends what to whom ----------------------------===//

#include "passes/plan/price/Exchanges.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cassert>
#include <numeric>

using namespace lwcc;
using namespace lwcc::plan;
using tiling::Interval;

static double overlap(Interval a, Interval b) {
  return static_cast<double>(std::max<int64_t>(
      std::min(a.end, b.end) - std::max(a.begin, b.begin), 0));
}

int AxisOverlaps::number(Axis axis) {
  int64_t unit = axis.extent;
  for (const Interval &part : axis.intervals)
    unit = std::gcd(unit, std::gcd(part.begin, part.end));
  axis.extent /= unit;
  for (Interval &part : axis.intervals)
    part = {part.begin / unit, part.end / unit};
  auto [entry, isNew] = numbers.try_emplace(std::move(axis), numbers.size());
  if (isNew)
    axes.push_back(&entry->first);
  return entry->second;
}

/// The intervals of an axis in smaller units.
static AxisOverlaps::Intervals inUnits(const AxisOverlaps::Axis &axis,
                                       int64_t extent) {
  AxisOverlaps::Intervals parts = axis.intervals;
  for (Interval &part : parts)
    part = {part.begin * (extent / axis.extent),
            part.end * (extent / axis.extent)};
  return parts;
}

const AxisOverlaps::Table &AxisOverlaps::between(int readers, int makers) {
  std::unique_ptr<Table> &table = tables[{readers, makers}];
  if (table)
    return *table;
  table = std::make_unique<Table>();
  const int64_t extent = std::lcm(axes[readers]->extent, axes[makers]->extent);
  const Intervals read = inUnits(*axes[readers], extent),
                  made = inUnits(*axes[makers], extent);
  table->extent = static_cast<double>(extent);
  table->ofReader.resize(read.size());
  table->ofMaker.resize(made.size());
  table->met.resize(read.size());
  for (size_t r = 0; r < read.size(); ++r)
    for (size_t m = 0; m < made.size(); ++m) {
      table->common.push_back(overlap(read[r], made[m]));
      table->ofReader[r] += table->common.back();
      table->ofMaker[m] += table->common.back();
      if (table->common.back() > 0)
        table->met[r].push_back(static_cast<int>(m));
    }
  for (size_t r = 0; r < read.size(); ++r) {
    std::vector<int> &met = table->met[r];
    llvm::sort(met, [&](int a, int b) { return made[a] < made[b]; });
    int64_t covered = read[r].begin;
    for (int m : met)
      if (made[m].begin <= covered)
        covered = std::max(covered, made[m].end);
    table->isCovered.push_back(covered >= read[r].end && !read[r].empty());
  }
  size_t columns = made.size();
  table->before.assign((read.size() + 1) * (columns + 1), 0);
  double *row = table->before.data();
  for (size_t r = 0; r < read.size(); ++r, row += columns + 1)
    for (size_t m = 0; m < columns; ++m)
      row[columns + 1 + m + 1] = table->common[r * columns + m] + row[m + 1] +
                                 row[columns + 1 + m] - row[m];
  return *table;
}

RegionSet::RegionSet(const LayerTiles::Regions &tiles,
                     const std::vector<int64_t> &places, AxisOverlaps &overlaps,
                     const tiling::Shape &shape) {
  std::vector<const tiling::Box *> regions;
  for (auto [region, device] : llvm::zip_equal(tiles, places))
    if (region) {
      regions.push_back(&*region);
      devices.push_back(device);
    }
  if (regions.empty()) {
    known = overlaps.numberOfSet({});
    disjoint = true;
    return;
  }
  size_t rank = regions[0]->size(), count = regions.size();
  assert((shape.empty() || shape.size() == rank) && "regions of this tensor");
  index.assign(rank, std::vector<int>(count));
  for (size_t d = 0; d < rank; ++d) {
    AxisOverlaps::Intervals different;
    for (size_t i = 0; i < count; ++i) {
      Interval part = (*regions[i])[d];
      auto at = llvm::find(different, part);
      index[d][i] = static_cast<int>(at - different.begin());
      if (at == different.end())
        different.push_back(part);
    }
    axes.push_back(overlaps.number({different, shape.empty() ? 1 : shape[d]}));
    intervals.push_back(&overlaps.axis(axes.back()).intervals);
  }
  tileOn.assign(*llvm::max_element(devices) + 1, -1);
  bool once = true; // whether no device has two
  for (auto [i, device] : llvm::enumerate(devices)) {
    once &= tileOn[device] < 0;
    tileOn[device] = static_cast<int>(i);
  }
  std::vector<int> all(count);
  std::iota(all.begin(), all.end(), 0);
  if (once)
    multiplicity = partOf(std::move(all)).multiplicity;
  disjoint = multiplicity == 1 &&
             llvm::all_of(intervals, [](const AxisOverlaps::Intervals *list) {
               return llvm::all_of(llvm::enumerate(*list), [&](auto part) {
                 return llvm::all_of(
                     llvm::ArrayRef(*list).drop_front(part.index() + 1),
                     [&](Interval other) {
                       return overlap(part.value(), other) == 0;
                     });
               });
             });
  std::vector<int> description = {static_cast<int>(rank)};
  llvm::append_range(description, axes);
  for (const std::vector<int> &axis : index)
    llvm::append_range(description, axis);
  llvm::append_range(description, devices);
  known = overlaps.numberOfSet(description);
}

double RegionSet::units(const RegionSet &makers, const RegionSet &readers,
                        AxisOverlaps &overlaps) {
  double units = 1;
  for (auto [reader, maker] : llvm::zip(readers.axes, makers.axes))
    units *= overlaps.between(reader, maker).extent;
  return units;
}

RegionSet::Part RegionSet::partOf(std::vector<int> some) const {
  Part part;
  part.regions = std::move(some);
  if (part.regions.empty())
    return part;
  size_t combinations = 1;
  for (const std::vector<int> &axis : index) {
    int first = axis[part.regions[0]], last = first;
    for (int i : part.regions) {
      first = std::min(first, axis[i]);
      last = std::max(last, axis[i]);
    }
    part.ranges.emplace_back(first, last + 1);
    combinations *= last + 1 - first;
  }
  if (part.regions.size() % combinations)
    return part;
  std::vector<int> times(combinations, 0);
  for (int i : part.regions) {
    size_t combination = 0;
    for (auto [axis, range] : llvm::zip(index, part.ranges))
      combination =
          combination * (range.second - range.first) + axis[i] - range.first;
    ++times[combination];
  }
  if (llvm::all_equal(times))
    part.multiplicity = times[0];
  return part;
}

void RegionSet::findGroups(const Machine &machine) {
  if (!isGrid())
    return;
  const std::vector<LinkLevel> levels = machine.links();
  for (const LinkLevel &level : llvm::drop_begin(levels)) {
    std::vector<std::vector<int>> inGroup(
        llvm::divideCeil(machine.devices(), level.devices));
    for (auto [i, device] : llvm::enumerate(devices))
      inGroup[level.groupOf(device)].push_back(static_cast<int>(i));
    std::vector<Part> &parts = groups.emplace_back();
    parts.reserve(inGroup.size());
    for (std::vector<int> &some : inGroup)
      parts.push_back(partOf(std::move(some)));
  }
}

bool RegionSet::isSame(size_t region, size_t other) const {
  return llvm::all_of(index, [&](const std::vector<int> &axis) {
    return axis[region] == axis[other];
  });
}

void RegionSet::forEachPair(
    const RegionSet &makers, const RegionSet &readers, AxisOverlaps &overlaps,
    llvm::function_ref<void(int64_t, int64_t, double)> visit) {
  if (makers.devices.empty() || readers.devices.empty())
    return;
  struct Axis {
    const double *common;
    size_t width;
    const int *ofReader, *ofMaker;
  };
  llvm::SmallVector<Axis, 5> axes;
  for (size_t d = 0; d < makers.axes.size(); ++d) {
    const AxisOverlaps::Table &table =
        overlaps.between(readers.axes[d], makers.axes[d]);
    axes.push_back({table.common.data(), table.ofMaker.size(),
                    readers.index[d].data(), makers.index[d].data()});
  }
  for (size_t i = 0; i < readers.devices.size(); ++i) {
    // What another tile on this device reads, too, is there already.
    bool known = false;
    for (size_t j = 0; j < i && !known; ++j)
      known = readers.devices[j] == readers.devices[i] && readers.isSame(j, i);
    for (size_t j = 0; !known && j < makers.devices.size(); ++j) {
      double common = 1;
      for (const Axis &axis : axes) {
        common *= axis.common[axis.ofReader[i] * axis.width + axis.ofMaker[j]];
        if (common == 0)
          break;
      }
      if (common > 0)
        visit(makers.devices[j], readers.devices[i], common);
    }
  }
}

void RegionSet::exchangeByPairs(const RegionSet &makers,
                                const RegionSet &readers, double elementBytes,
                                AxisOverlaps &overlaps, Traffic &traffic) {
  forEachPair(makers, readers, overlaps,
              [&](int64_t from, int64_t to, double volume) {
                traffic.add(from, to, elementBytes * volume);
              });
}

llvm::SmallVector<double, 64>
RegionSet::totals(double scale,
                  llvm::ArrayRef<const std::vector<double> *> sums) const {
  llvm::SmallVector<double, 64> result(devices.size(), scale);
  for (auto [at, axis] : llvm::zip(index, sums))
    if (axis->size() > 1)
      for (size_t i = 0; i < result.size(); ++i)
        result[i] *= (*axis)[at[i]];
    else
      for (double &total : result)
        total *= axis->front();
  return result;
}

/// Two grids need not be compared pair by pair. What a reader gets from all
/// makers is a product over axes of sums over intervals. So is what all pairs
/// within a group of devices exchange, which does not leave the group.
void RegionSet::exchange(const RegionSet &makers, const RegionSet &readers,
                         double elementBytes, AxisOverlaps &overlaps,
                         Traffic &traffic) {
  llvm::MutableArrayRef<Traffic::Level> loads = traffic.shared();
  if (!makers.isGrid() || !readers.isGrid() ||
      makers.groups.size() != loads.size() ||
      readers.groups.size() != loads.size())
    return exchangeByPairs(makers, readers, elementBytes, overlaps, traffic);
  size_t rank = makers.axes.size();
  llvm::SmallVector<const AxisOverlaps::Table *, 5> tables;
  llvm::SmallVector<const std::vector<double> *, 5> ofReader, ofMaker;
  for (size_t d = 0; d < rank; ++d) {
    tables.push_back(&overlaps.between(readers.axes[d], makers.axes[d]));
    ofReader.push_back(&tables[d]->ofReader);
    ofMaker.push_back(&tables[d]->ofMaker);
  }
  llvm::SmallVector<double, 64>
      read = readers.totals(elementBytes * makers.multiplicity, ofReader),
      made = makers.totals(elementBytes * readers.multiplicity, ofMaker);
  auto pair = [&](size_t r, size_t m) {
    double common = elementBytes;
    for (size_t d = 0; d < rank; ++d)
      common *= tables[d]->common[readers.index[d][r] * ofMaker[d]->size() +
                                  makers.index[d][m]];
    return common;
  };
  auto within = [&](const Part &from, const Part &to) {
    double sum = 0;
    if (from.multiplicity > 0 && to.multiplicity > 0) {
      sum = elementBytes * from.multiplicity * to.multiplicity;
      for (size_t d = 0; d < rank; ++d)
        sum *= tables[d]->within(to.ranges[d], from.ranges[d]);
    } else {
      for (int r : to.regions)
        for (int m : from.regions)
          sum += pair(r, m);
    }
    return sum;
  };
  for (size_t l = 0; l < loads.size(); ++l)
    for (size_t group = 0; group < loads[l].in.size(); ++group) {
      const Part &from = makers.groups[l][group],
                 &to = readers.groups[l][group];
      double near = within(from, to), in = 0, out = 0;
      for (int r : to.regions)
        in += read[r];
      for (int m : from.regions)
        out += made[m];
      loads[l].in[group] += in - near;
      loads[l].out[group] += out - near;
    }
  // What a device has itself need not move.
  for (size_t r = 0; r < read.size(); ++r) {
    size_t device = readers.devices[r];
    int m = device < makers.tileOn.size() ? makers.tileOn[device] : -1;
    if (m < 0)
      continue;
    double common = pair(r, m);
    read[r] -= common;
    made[m] -= common;
  }
  for (size_t r = 0; r < read.size(); ++r)
    traffic.addIn(readers.devices[r], read[r]);
  for (size_t m = 0; m < made.size(); ++m)
    traffic.addOut(makers.devices[m], made[m]);
}

std::vector<ParameterCopies>
lwcc::plan::parameterCopies(const Parameter &parameter,
                            const LayerTiles::Regions &regions,
                            const std::vector<int64_t> &devices) {
  std::map<tiling::Box, std::set<int64_t>> holders;
  for (auto [region, device] : llvm::zip_equal(regions, devices))
    if (region)
      holders[*region].insert(device);
  std::vector<ParameterCopies> result;
  for (auto &[region, group] : holders) {
    double bytes =
        static_cast<double>(parameter.elementBytes) * tiling::volume(region);
    shard::SharedUpdate update = shard::updateOf(bytes, group.size());
    result.push_back({std::move(group), bytes, update});
  }
  return result;
}

int lwcc::plan::levelsOf(const ParameterCopies &copies,
                         const Machine &machine) {
  const auto bytes = static_cast<int64_t>(copies.bytes);
  if (!shard::isTwoLevel(bytes))
    return 1;
  int64_t nodes = 0, last = -1;
  for (int64_t device : copies.devices) // in the order of their nodes
    if (const int64_t node = machine.place(device).node; node != last) {
      last = node;
      ++nodes;
    }
  return shard::nodesOfGroup(nodes, bytes) > 1 ? 3 : 2;
}

std::vector<SyncHop> lwcc::plan::hopsOf(const ParameterCopies &copies,
                                        const Machine &machine) {
  const std::vector<int64_t> devices(copies.devices.begin(),
                                     copies.devices.end());
  std::vector<int64_t> nodes;
  for (int64_t device : devices)
    nodes.push_back(machine.place(device).node);
  const auto bytes = static_cast<int64_t>(copies.bytes);
  // On one node all ways are direct, and need not be asked for.
  const bool twoLevel = shard::isTwoLevel(bytes) && !copies.update.allReduced &&
                        nodes.front() != nodes.back();
  const shard::Ways ways(twoLevel ? nodes : std::vector<int64_t>(), bytes);
  std::vector<SyncHop> hops;
  for (size_t owner = 0; owner < devices.size(); ++owner)
    for (size_t holder = 0; holder < devices.size(); ++holder) {
      if (holder == owner)
        continue;
      const int64_t from = devices[holder],
                    to = devices[twoLevel ? ways.next(holder, owner) : owner];
      hops.push_back({from, to, copies.update.owned, true});
      if (!copies.update.allReduced)
        hops.push_back({to, from, copies.update.owned, false});
    }
  return hops;
}
