//===- Links.h - Links that a program's transfers share ---------*- C++ -*-===//
//
// When a call that reads on other devices has what it needs, while others use
// the same links: those of the devices themselves, of a PCIe switch, of a node.
// Calls are asked about in the order in which they were appended. One that was
// asked about earlier goes first, but leaves the time before it to others.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_LINKS_H
#define LWCC_PASSES_PLAN_PRICE_LINKS_H

#include "passes/plan/machine/Machine.h"
#include "passes/plan/model/Call.h"

#include <map>
#include <tuple>

namespace lwcc::plan {

/// When one direction of a link is busy.
class BusyTimes {
public:
  /// Takes the idle time from `begin` on; when it has had so much of it.
  double take(double begin, double seconds);

private:
  std::map<double, double> intervals; ///< begins and ends
};

class Links {
public:
  explicit Links(const Machine &machine);
  /// When a call that begins then has what it reads on other devices.
  double arrival(const PricedCall &call, double begin);

private:
  using Direction = std::tuple<size_t, int64_t, bool>; ///< link, group
  const Machine &machine;
  std::vector<SharedLink> links; ///< a device's own is shared by one
  std::map<Direction, BusyTimes> busy;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_LINKS_H
