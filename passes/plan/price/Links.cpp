//===- Links.cpp - Links that a program's transfers share -----------------===//

#include "passes/plan/price/Links.h"

#include "llvm/ADT/STLExtras.h"

using namespace lwcc::plan;

double BusyTimes::take(double begin, double seconds) {
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
  return end;
}

Links::Links(const Machine &machine)
    : machine(machine), links(machine.sharedLinks()) {
  links.push_back({1, machine.link});
}

double Links::arrival(const PricedCall &call, double begin) {
  double end = begin;
  for (auto [i, shared] : llvm::enumerate(links)) {
    std::map<Direction, double> crossing; // bytes
    int64_t to = machine.deviceOf(call.device) / shared.devices;
    for (const RemoteRead &read : call.remote) {
      int64_t from = machine.deviceOf(read.device) / shared.devices;
      if (from == to)
        continue;
      crossing[{i, from, /*outwards=*/true}] += read.bytes;
      crossing[{i, to, /*outwards=*/false}] += read.bytes;
    }
    for (auto [direction, bytes] : crossing) {
      double last = busy[direction].take(begin, bytes / shared.link.bandwidth);
      end = std::max(end, last + shared.link.latency);
    }
  }
  return end;
}
