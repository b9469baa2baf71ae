//===- Ticks.h - Time as a whole number -------------------------*- C++ -*-===//
//
// The simulator counts time in whole picoseconds. Sums then do not depend on
// their order, so that simulating a part of a step again gives exactly what
// simulating all of it would.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_TICKS_H
#define LWCC_PASSES_PLAN_PRICE_TICKS_H

#include <cmath>
#include <cstdint>

namespace lwcc::plan {

using Ticks = int64_t; ///< picoseconds
inline constexpr double ticksPerSecond = 1e12;

inline Ticks ticksOf(double seconds) {
  return std::llround(seconds * ticksPerSecond);
}

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_TICKS_H
