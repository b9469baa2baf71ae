//===- Links.cpp - How long bytes take between devices --------------------===//

#include "passes/plan/machine/Links.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <bit>

using namespace lwcc;
using namespace lwcc::plan;

Traffic::Traffic(const Machine &machine) {
  for (const LinkLevel &links : machine.links()) {
    size_t groups = llvm::divideCeil(machine.devices(), links.devices);
    levels.push_back(
        {links, std::vector<double>(groups), std::vector<double>(groups)});
  }
}

void Traffic::add(int64_t from, int64_t to, double bytes) {
  if (from == to || bytes == 0)
    return;
  total += bytes;
  for (Level &level : levels) {
    int64_t source = level.links.groupOf(from),
            target = level.links.groupOf(to);
    if (source == target)
      continue;
    level.out[source] += bytes;
    level.in[target] += bytes;
  }
}

void Traffic::add(const Traffic &other, double times) {
  total += times * other.total;
  for (auto [level, more] : llvm::zip_equal(levels, other.levels)) {
    for (auto [sum, bytes] : llvm::zip_equal(level.in, more.in))
      sum += times * bytes;
    for (auto [sum, bytes] : llvm::zip_equal(level.out, more.out))
      sum += times * bytes;
  }
}

void Traffic::addIn(int64_t device, double bytes) {
  levels[0].in[device] += bytes;
  total += bytes;
}

void Traffic::addOut(int64_t device, double bytes) {
  levels[0].out[device] += bytes;
}

void Traffic::clear() {
  for (Level &level : levels) {
    std::fill(level.in.begin(), level.in.end(), 0.0);
    std::fill(level.out.begin(), level.out.end(), 0.0);
  }
  total = 0;
}

Traffic::Busiest Traffic::busiest() const {
  Busiest most = {};
  for (auto [level, bytes] : llvm::zip_first(levels, most))
    bytes =
        std::max(*llvm::max_element(level.in), *llvm::max_element(level.out));
  return most;
}

double Traffic::seconds(const Busiest &busiest, double times) const {
  double time = 0;
  for (auto [level, bytes] : llvm::zip_first(levels, busiest))
    time = std::max(time, level.links.seconds(bytes * times));
  return time;
}

double Traffic::seconds(int64_t to, const DeviceSet &sources) const {
  double time = 0;
  for (const Level &level : levels) {
    int64_t target = level.links.groupOf(to);
    double most = 0;
    int64_t next = 0; // the first device behind the groups that were seen
    sources.forEach([&](int device) {
      if (device < next)
        return;
      const int64_t source = level.links.groupOf(device);
      next = (source + 1) * level.links.devices;
      if (source != target)
        most = std::max({most, level.out[source], level.in[target]});
    });
    time = std::max(time, level.links.seconds(most));
  }
  return time;
}

double BusyTimes::take(double begin, double seconds) {
  constexpr double muchLonger = 8;
  const double asked = begin;
  auto next = intervals.upper_bound(begin);
  if (next != intervals.begin() && std::prev(next)->second >= begin) {
    --next;
    begin = next->first;
  }
  // All that it reaches and the gaps that it fills become one interval.
  double end = begin + seconds;
  while (next != intervals.end() && next->first <= end) {
    end += next->second - next->first;
    next = intervals.erase(next);
  }
  intervals[begin] = end;
  if (end - asked - seconds > muchLonger * seconds) {
    auto others = std::distance(ends.upper_bound(asked), ends.end());
    end = std::min(end, asked + seconds * static_cast<double>(1 + others));
  }
  ends.insert(end);
  return end;
}

double BusyLinks::arrival(int64_t to, llvm::ArrayRef<Source> sources,
                          double begin) {
  double end = begin;
  for (auto [i, level] : llvm::enumerate(levels)) {
    std::map<Direction, double> crossing; // bytes
    int64_t target = level.groupOf(to);
    for (const Source &source : sources) {
      int64_t from = level.groupOf(source.device);
      if (from == target)
        continue;
      crossing[{i, from, /*outward=*/true}] += source.bytes;
      crossing[{i, target, /*outward=*/false}] += source.bytes;
    }
    for (auto [direction, bytes] : crossing) {
      double last = busy[direction].take(begin, bytes / level.link.bandwidth);
      end = std::max(end, last + level.link.latency);
    }
  }
  return end;
}
