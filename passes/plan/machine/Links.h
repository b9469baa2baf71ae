//===- Links.h - How long bytes take between devices ------------*- C++ -*-===//
//
// The one model of a machine's links. Everything that knows how long a transfer
// takes asks this file: the sum that searches minimize (price/Price.h), the
// simulator (price/Timing.h) and the times of programs (price/ProgramTime.h).
//
// A *level* of links is a way to divide the devices into groups of neighbours.
// The devices of a group reach all others through one link, which has two
// directions: into the group and out of it. A device's own link is the level
// whose groups have one device; PCIe switches and nodes are further levels.
// A transfer crosses the links of both ends on every level on which the two
// devices are in different groups. On each link it takes the link's latency and
// then its bytes over the link's bandwidth; the slowest link decides.
//
// Two questions are asked of this model:
//   - Traffic: how long do transfers take that happen at the same time?
//   - BusyLinks: when does one transfer arrive, if those that were asked about
//     earlier keep the links busy?
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MACHINE_LINKS_H
#define LWCC_PASSES_PLAN_MACHINE_LINKS_H

#include "passes/plan/machine/Machine.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <tuple>

namespace lwcc::plan {

/// The devices that a plan may be made for. Arrays on the stack have this size.
inline constexpr int64_t mostDevices = 1024;

/// A set of devices: a bit for each, up to 64 without memory of its own.
class DeviceSet {
public:
  void insert(int64_t device) {
    const auto word = static_cast<size_t>(device / 64);
    if (word >= words.size())
      words.resize(word + 1, 0);
    words[word] |= uint64_t(1) << device % 64;
  }
  bool empty() const { return words.empty(); }
  void clear() { words.clear(); }
  /// Whether it holds for each device, which are asked in rising order.
  template <typename Predicate>
  bool allOf(Predicate predicate) const {
    for (size_t word = 0; word < words.size(); ++word)
      for (uint64_t rest = words[word]; rest; rest &= rest - 1)
        if (!predicate(static_cast<int>(64 * word) + std::countr_zero(rest)))
          return false;
    return true;
  }
  template <typename Visit>
  void forEach(Visit visit) const {
    allOf([&](int device) {
      visit(device);
      return true;
    });
  }
  bool operator==(const DeviceSet &) const = default;

private:
  llvm::SmallVector<uint64_t, 1> words; ///< the last one is not 0
};

/// Bytes that cross a machine's links at the same time.
class Traffic {
public:
  /// The bytes that cross the links of one level, for each group.
  struct Level {
    LinkLevel links;
    std::vector<double> in, out;
  };

  explicit Traffic(const Machine &machine);

  /// A device sends bytes to another one. It needs no link to itself.
  void add(int64_t from, int64_t to, double bytes);
  void clear();

  /// How long it takes until everything has arrived.
  double seconds() const { return seconds(busiest(), 1); }
  /// The bytes that cross the busiest link of each level.
  using Busiest = std::array<double, Machine::mostLevels>;
  Busiest busiest() const;
  /// The same of so many times the bytes.
  double seconds(const Busiest &busiest, double times) const;
  /// How long a device waits for what it gets from `sources`: until all has
  /// passed that crosses the links on the way.
  double seconds(int64_t to, const DeviceSet &sources) const;
  double bytes() const { return total; } ///< that devices receive
  llvm::ArrayRef<Level> all() const { return levels; }
  double received(int64_t device) const { return levels[0].in[device]; }

  /// Adds other traffic on the same machine, so many times.
  void add(const Traffic &other, double times);
  /// For callers that know sums instead of single transfers: what a device
  /// receives and sends in all. The sums of the shared levels are theirs to
  /// fill in, too.
  void addIn(int64_t device, double bytes);
  void addOut(int64_t device, double bytes);
  llvm::MutableArrayRef<Level> shared() {
    return llvm::MutableArrayRef(levels).drop_front();
  }

private:
  std::vector<Level> levels; ///< the devices' own links first
  double total = 0;
};

/// When one direction of a link is busy.
class BusyTimes {
public:
  /// Reserves idle time from `begin` on, wherever there is some, until it has
  /// reserved `seconds`. Returns when that is. Behind transfers that are much
  /// longer it does not wait so long: with k of them on their way it has a
  /// share of 1/(k+1). (That they end later by as much is told to nobody who
  /// was answered before; so only what is short beside the wait may pass.)
  double take(double begin, double seconds);

private:
  std::map<double, double> intervals; ///< from begins to ends
  std::multiset<double> ends;         ///< of all transfers
};

/// A machine's links while a program runs. Transfers are asked about in the
/// order in which the program appends them. An earlier one goes first, but
/// leaves the time before it to later ones, and is passed by much shorter ones.
class BusyLinks {
public:
  explicit BusyLinks(const Machine &machine) : levels(machine.links()) {}

  struct Source {
    int64_t device;
    double bytes;
  };
  /// When a device has what it reads from `sources`, beginning at `begin`.
  double arrival(int64_t to, llvm::ArrayRef<Source> sources, double begin);

private:
  using Direction =
      std::tuple<size_t, int64_t, bool>; ///< level, group, outward
  std::vector<LinkLevel> levels;
  std::map<Direction, BusyTimes> busy;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MACHINE_LINKS_H
