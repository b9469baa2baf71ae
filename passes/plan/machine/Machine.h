//===- Machine.h - What a plan runs on --------------------------*- C++ -*-===//
//
// Nodes of equal devices, a link between the devices of a node and a network
// between nodes; from a JSON file or by a built-in name. Rates are what
// libraries reach on large shapes, per second, not those of data sheets: what
// `lwcc machine --probe` measures and built-in machines say means the same. How
// far smaller shapes stay below is the cost model's business (CostModel.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_MACHINE_MACHINE_H
#define LWCC_PASSES_PLAN_MACHINE_MACHINE_H

#include "ir/place/Place.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::plan {

struct Device {
  double fp32 = 0, tf32 = 0; ///< floating-point operations per second
  double bandwidth = 0;      ///< of its memory, bytes per second
  int64_t memory = 0;        ///< bytes
  double launch = 0;         ///< seconds that a kernel takes at least
  bool operator==(const Device &) const = default;
};

/// One direction.
struct Link {
  double bandwidth = 0; ///< bytes per second
  double latency = 0;   ///< seconds
  bool operator==(const Link &) const = default;
};

/// Groups of so many devices, one behind the other. The devices of a group
/// reach all others by one link, which they share (Links.h).
struct LinkLevel {
  int64_t devices = 0; ///< of a group
  Link link;
  int64_t groupOf(int64_t device) const {
    return devices == 1 ? device : device / devices;
  }
  /// How long the link takes until this much has crossed it.
  double seconds(double bytes) const {
    return bytes > 0 ? link.latency + bytes / link.bandwidth : 0;
  }
  bool operator==(const LinkLevel &) const = default;
};

struct Machine {
  int64_t nodes = 1;
  int64_t gpus = 1; ///< per node
  std::string name;
  Device device;
  Link link;    ///< of a device, to the others of its node
  Link network; ///< of a node, to the others; its devices share it
  /// Of the devices at a PCIe switch, to all others. No devices: none is
  /// shared.
  LinkLevel uplink;
  /// Whether the devices are parts of one processor: they share its rates, and
  /// its memory, which `device` says of all of it (findDevices divides memory).
  bool oneProcessor = false;
  /// What kernels lose, as a part of the time that a transfer to their device
  /// runs beside them.
  double transferSlowdown = 0;

  int64_t devices() const { return nodes * gpus; }
  /// The `i`-th device in turn, on its first lane.
  Place place(int64_t i) const;
  /// The first `count` of these.
  std::vector<Place> placesInTurn(int64_t count) const;
  /// All levels of links: the devices' own first, then those that they share.
  std::vector<LinkLevel> links() const;
  int64_t deviceOf(const Place &place) const {
    return place.node * gpus + place.gpu;
  }
  bool operator==(const Machine &) const = default;
};

/// The built-in machines.
const std::vector<Machine> &knownMachines();
const Machine *findMachine(llvm::StringRef name);

/// Reads into `machine`; returns everything that is wrong, a sentence each.
std::vector<std::string> machineFromJson(llvm::StringRef text,
                                         Machine &machine);
std::string toJson(const Machine &machine);

/// So many devices of a built-in machine or of one in a file: of one node, if
/// that has enough, else whole nodes. Without a name, H200s in one node.
/// Returns everything that is wrong, a sentence each.
std::vector<std::string> findDevices(llvm::StringRef nameOrFile, int64_t gpus,
                                     Machine &machine);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MACHINE_MACHINE_H
