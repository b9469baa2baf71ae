//===- Machine.h - What a plan runs on --------------------------*- C++ -*-===//
//
// Defines the nouns of what a plan runs on:
//
//   machine  equal nodes, connected by a network
//   node     a computer with equal devices, connected by links
//   device   a GPU, or a part of a processor; devices are numbered node by node
//   link     a connection between devices, in both directions (Links.h)
//
// A machine comes from a JSON file or from the table of built-in ones. Rates
// are per second, and are those that libraries reach on large shapes, not those
// of data sheets: `lwcc machine --probe` measures what the built-in machines
// state. How far smaller shapes stay below is said by ../price/CostModel.h.
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
  int64_t processors = 0; ///< that tiles of a kernel run on (SMs); 0: unknown
  bool operator==(const Device &) const = default;
};

/// One direction of a connection.
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
  /// The link of a PCIe switch to everything else, which the devices at the
  /// switch share. 0 devices: there is no such link.
  LinkLevel uplink;
  /// Whether the devices of a node are parts of one processor, whose rates and
  /// memory they share. `device` describes all of the processor; findDevices
  /// divides memory, CostModel divides rates.
  bool oneProcessor = false;
  /// How much later kernels end if a transfer to their device runs beside them,
  /// as a part of the transfer's time.
  double transferSlowdown = 0;

  int64_t devices() const { return nodes * gpus; }
  /// The `i`-th device in turn, on its first lane.
  Place place(int64_t i) const;
  /// The first `count` of these.
  std::vector<Place> placesInTurn(int64_t count) const;
  /// All levels of links: the devices' own first, then those that they share.
  std::vector<LinkLevel> links() const;
  static constexpr size_t mostLevels = 3;
  int64_t deviceOf(const Place &place) const {
    return place.node * gpus + place.gpu;
  }
  bool operator==(const Machine &) const = default;
};

/// The built-in machines.
const std::vector<Machine> &knownMachines();
const Machine *findMachine(llvm::StringRef name);

/// Reads into `machine`. Returns a sentence for each mistake.
std::vector<std::string> machineFromJson(llvm::StringRef text,
                                         Machine &machine);
std::string toJson(const Machine &machine);

/// Makes `machine` so many devices of a built-in machine, or of one in a file.
/// They are of one node if that has enough, else of whole nodes; or of so many
/// nodes as `nodes` says, if it is not 0. Without a name they are H200s in one
/// node. Nodes of which no network is known have 10 Gb/s Ethernet. Returns a
/// sentence for each mistake.
std::vector<std::string> findDevices(llvm::StringRef nameOrFile, int64_t gpus,
                                     Machine &machine, int64_t nodes = 0);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_MACHINE_MACHINE_H
