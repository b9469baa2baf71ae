//===- Traffic.cpp - Bytes between devices --------------------------------===//

#include "passes/plan/Traffic.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;
using shard::Box;
using shard::Interval;

void Traffic::add(int64_t from, int64_t to, double bytes) {
  if (from == to || bytes == 0)
    return;
  double far = from / machine.gpus == to / machine.gpus ? 0 : bytes;
  addIn(to, bytes, far);
  addOut(from, bytes, far);
}

void Traffic::addIn(int64_t device, double bytes, double fromOtherNodes) {
  in[device] += bytes;
  nodeIn[device / machine.gpus] += fromOtherNodes;
  total += bytes;
}

void Traffic::addOut(int64_t device, double bytes, double toOtherNodes) {
  out[device] += bytes;
  nodeOut[device / machine.gpus] += toOtherNodes;
}

void Traffic::clear() {
  for (std::vector<double> *counts : {&in, &out, &nodeIn, &nodeOut})
    std::fill(counts->begin(), counts->end(), 0.0);
  total = 0;
}

double Traffic::seconds() const {
  if (total == 0)
    return 0;
  auto most = [](const std::vector<double> &a, const std::vector<double> &b) {
    return std::max(*llvm::max_element(a), *llvm::max_element(b));
  };
  double time = machine.link.latency + most(in, out) / machine.link.bandwidth;
  if (double network = most(nodeIn, nodeOut); network > 0)
    time = std::max(time, machine.network.latency +
                              network / machine.network.bandwidth);
  return time;
}

//===----------------------------------------------------------------------===//
// Sets of regions
//===----------------------------------------------------------------------===//

static double overlap(Interval a, Interval b) {
  return static_cast<double>(std::max<int64_t>(
      std::min(a.end, b.end) - std::max(a.begin, b.begin), 0));
}

int AxisOverlaps::number(const Intervals &intervals) {
  auto [entry, isNew] = numbers.try_emplace(intervals, numbers.size());
  if (isNew)
    lists.push_back(&entry->first);
  return entry->second;
}

const AxisOverlaps::Table &AxisOverlaps::between(int readers, int makers) {
  std::unique_ptr<Table> &table = tables[{readers, makers}];
  if (table)
    return *table;
  table = std::make_unique<Table>();
  const Intervals &read = *lists[readers], &made = *lists[makers];
  table->ofReader.resize(read.size());
  table->ofMaker.resize(made.size());
  for (size_t r = 0; r < read.size(); ++r)
    for (size_t m = 0; m < made.size(); ++m) {
      table->common.push_back(overlap(read[r], made[m]));
      table->ofReader[r] += table->common.back();
      table->ofMaker[m] += table->common.back();
    }
  return *table;
}

RegionSet::RegionSet(const LayerTiles::Regions &all,
                     const std::vector<int64_t> &places,
                     AxisOverlaps &overlaps) {
  for (auto [region, device] : llvm::zip_equal(all, places))
    if (region) {
      regions.push_back(*region);
      devices.push_back(device);
    }
  if (regions.empty()) {
    known = overlaps.numberOfSet({});
    return;
  }
  size_t rank = regions[0].size(), combinations = 1;
  std::vector<size_t> combination(regions.size(), 0);
  index.resize(regions.size() * rank);
  for (size_t d = 0; d < rank; ++d) {
    AxisOverlaps::Intervals different;
    for (size_t i = 0; i < regions.size(); ++i) {
      auto at = llvm::find(different, regions[i][d]);
      index[i * rank + d] = static_cast<int>(at - different.begin());
      if (at == different.end())
        different.push_back(regions[i][d]);
    }
    combinations *= different.size();
    for (size_t i = 0; i < regions.size(); ++i)
      combination[i] = combination[i] * different.size() + index[i * rank + d];
    axes.push_back(overlaps.number(different));
  }
  std::map<size_t, size_t> times;
  for (size_t each : combination)
    ++times[each];
  bool equal = llvm::all_of(times, [&](auto &entry) {
    return entry.second == times.begin()->second;
  });
  std::set<int64_t> used(devices.begin(), devices.end());
  tileOn.assign(*used.rbegin() + 1, -1);
  for (auto [i, device] : llvm::enumerate(devices))
    tileOn[device] = static_cast<int>(i);
  if (equal && times.size() == combinations && used.size() == devices.size())
    multiplicity = static_cast<double>(times.begin()->second);
  std::vector<int> description = axes;
  llvm::append_range(description, index);
  llvm::append_range(description, devices);
  known = overlaps.numberOfSet(description);
}

void RegionSet::forEachPair(
    const RegionSet &makers, const RegionSet &readers, AxisOverlaps &overlaps,
    llvm::function_ref<void(int64_t, int64_t, double)> visit) {
  size_t rank = makers.axes.size();
  if (makers.regions.empty() || readers.regions.empty())
    return;
  llvm::SmallVector<std::pair<const double *, size_t>, 5> tables;
  for (size_t d = 0; d < rank; ++d) {
    const AxisOverlaps::Table &table =
        overlaps.between(readers.axes[d], makers.axes[d]);
    tables.push_back({table.common.data(), table.ofMaker.size()});
  }
  for (size_t i = 0; i < readers.regions.size(); ++i) {
    // What another tile on this device reads, too, is there already.
    bool known = false;
    for (size_t j = 0; j < i && !known; ++j)
      known = readers.devices[j] == readers.devices[i] &&
              readers.regions[j] == readers.regions[i];
    if (known)
      continue;
    const int *ofReader = readers.index.data() + i * rank;
    const int *ofMaker = makers.index.data();
    for (size_t j = 0; j < makers.regions.size(); ++j, ofMaker += rank) {
      double common = 1;
      for (size_t d = 0; d < rank && common > 0; ++d)
        common *= tables[d].first[ofReader[d] * tables[d].second + ofMaker[d]];
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
RegionSet::totals(llvm::ArrayRef<const std::vector<double> *> sums) const {
  llvm::SmallVector<double, 64> result(regions.size(), 1);
  const int *at = index.data();
  for (double &total : result)
    for (const std::vector<double> *axis : sums)
      total *= (*axis)[*at++];
  return result;
}

/// Of grids the overlaps need not be formed pair by pair: the sum over all
/// makers is the product over axes of sums over intervals. Only pairs on one
/// node are looked at one by one, to be taken off.
void RegionSet::exchange(const RegionSet &makers, const RegionSet &readers,
                         double elementBytes, const Machine &machine,
                         AxisOverlaps &overlaps, Traffic &traffic) {
  if (!makers.isGrid() || !readers.isGrid())
    return exchangeByPairs(makers, readers, elementBytes, overlaps, traffic);
  size_t rank = makers.axes.size();
  llvm::SmallVector<const AxisOverlaps::Table *, 5> tables;
  llvm::SmallVector<const std::vector<double> *, 5> ofReader, ofMaker;
  for (size_t d = 0; d < rank; ++d) {
    tables.push_back(&overlaps.between(readers.axes[d], makers.axes[d]));
    ofReader.push_back(&tables[d]->ofReader);
    ofMaker.push_back(&tables[d]->ofMaker);
  }
  llvm::SmallVector<double, 64> read = readers.totals(ofReader),
                                made = makers.totals(ofMaker);
  for (double &total : read)
    total *= makers.multiplicity;
  for (double &total : made)
    total *= readers.multiplicity;
  // What goes to other nodes; then, without what the device has itself, to
  // other devices.
  llvm::SmallVector<double, 64> readFar, madeFar;
  bool oneNode = machine.nodes == 1;
  readFar.assign(read.size(), 0);
  madeFar.assign(made.size(), 0);
  if (!oneNode) {
    readFar = read;
    madeFar = made;
  }
  for (size_t r = 0; r < read.size(); ++r) {
    int64_t device = readers.devices[r], first = device, last = device;
    if (!oneNode) {
      first = device / machine.gpus * machine.gpus;
      last = first + machine.gpus - 1;
    }
    last = std::min(last, static_cast<int64_t>(makers.tileOn.size()) - 1);
    for (; first <= last; ++first) {
      int m = makers.tileOn[first];
      if (m < 0)
        continue;
      const int *ofR = &readers.index[r * rank], *ofM = &makers.index[m * rank];
      double common = 1;
      for (size_t d = 0; d < rank; ++d)
        common *= tables[d]->common[ofR[d] * ofMaker[d]->size() + ofM[d]];
      if (!oneNode) {
        readFar[r] -= common;
        madeFar[m] -= common;
      }
      if (first == device) {
        read[r] -= common;
        made[m] -= common;
      }
    }
  }
  for (size_t r = 0; r < read.size(); ++r)
    traffic.addIn(readers.devices[r], elementBytes * read[r],
                  elementBytes * readFar[r]);
  for (size_t m = 0; m < made.size(); ++m)
    traffic.addOut(makers.devices[m], elementBytes * made[m],
                   elementBytes * madeFar[m]);
}
