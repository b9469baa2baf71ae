//===- RankPrograms.h - Random programs for several ranks -------*- C++ -*-===//
//
// Draws what a compiler might have scheduled: lanes on the devices of several
// ranks, work that writes regions of its own device and reads any, and the
// events that order all that conflict. What is ordered otherwise (by a lane, or
// through a third rank) gets no event of its own, as in
// passes/schedule/Synchronize.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_RUNTIME_CPU_RANKPROGRAMS_H
#define LWCC_TEST_UNIT_RUNTIME_CPU_RANKPROGRAMS_H

#include "runtime/core/Machine.h"
#include "runtime/exchange/Messages.h"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace lwcc::rt::exchange {

/// Steps, and the memory that their regions lie in, byte by byte.
struct RankProgram {
  static constexpr int64_t deviceBytes = 48;

  std::vector<int> ranks;   ///< by device
  std::vector<int> devices; ///< by lane
  std::vector<Step> steps;
  std::vector<std::vector<char>> memory; ///< by device; only its addresses

  RankProgram(std::vector<int> ranks, std::vector<int> devices)
      : ranks(std::move(ranks)), devices(std::move(devices)),
        memory(this->ranks.size(), std::vector<char>(deviceBytes)) {}

  int rankOf(int step) const { return ranks[steps[step].device]; }
  int events() const;
  /// The bytes [offset, offset + count) of a device.
  Region bytes(int device, int64_t offset, int64_t count) const;
  /// Columns of a matrix whose rows have eight bytes.
  Region columns(int device, int64_t row, int64_t rows, int64_t column,
                 int64_t count) const;

  void work(int lane, std::vector<Region> writes, std::vector<Region> reads);
  void record(int lane, int event);
  void wait(int lane, int event);
};

/// Where the bytes of a region lie in its device.
std::vector<int> placesOf(const RankProgram &program, const Region &region);

/// Work that tells apart all it may have read: it writes everywhere a number
/// made of all bytes that it reads, of what was there, and of its own.
struct Mixing {
  std::vector<Tensor> reads, writes; ///< in arenas
  std::vector<unsigned char *> sources, targets;
  unsigned number = 0;

  void mix() const;
};
/// Records a program, whose work `append` appends to its lane.
void recordProgram(Machine &machine, const RankProgram &program,
                   const std::function<void(Lane &, const Mixing &)> &append);

using Random = std::mt19937;

/// A number of [0, below).
inline int draw(Random &random, int below) {
  return static_cast<int>(random() % static_cast<unsigned>(below));
}

/// Which regions it writes and reads.
enum class Regions {
  any,
  apart ///< two are the same, or lie one behind the other
};

RankProgram randomProgram(Random &random, Regions regions = Regions::any);

} // namespace lwcc::rt::exchange

#endif // LWCC_TEST_UNIT_RUNTIME_CPU_RANKPROGRAMS_H
