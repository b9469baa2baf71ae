//===- RankTeam.h - Several machines that run one program -------*- C++ -*-===//
//
// Machines of all ranks of a program in one process, which send each other what
// their lanes read (LocalTransport), for tests.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_UNIT_RUNTIME_CPU_RANKTEAM_H
#define LWCC_TEST_UNIT_RUNTIME_CPU_RANKTEAM_H

#include "Workbench.h"
#include "runtime/core/Error.h"
#include "runtime/cpu/Lane.h"
#include "runtime/exchange/LocalTransport.h"

#include <cstring>
#include <deque>
#include <string>
#include <unistd.h>

namespace lwcc::rt {

inline constexpr int64_t rankArenaBytes = int64_t(1) << 16;

/// All ranks of a program, and a machine for each.
class RankTeam {
public:
  /// Without ranks: one machine that has all devices.
  RankTeam(const MachineSpec &spec, const std::vector<int> &ofDevice)
      : devices(static_cast<int>(spec.devices.size())),
        count(ofDevice.empty() ? 1 : ofDevice.back() + 1), hub(count) {
    for (int rank = 0; rank < count; ++rank) {
      MachineOptions options;
      options.threads = 1;
      if (!ofDevice.empty()) {
        transports.emplace_back(hub, rank);
        Ranks &mine = ranks.emplace_back();
        mine.rank = rank;
        mine.count = count;
        mine.ofDevice = ofDevice;
        mine.transport = &transports.back();
        mine.onLost = [](int, const std::string &why) { ADD_FAILURE() << why; };
        options.ranks = &mine;
      }
      machines.push_back(Machine::create(spec, options));
    }
  }
  /// Who sends to a machine may still be about to return.
  ~RankTeam() {
    for (auto &machine : machines)
      try {
        machine->synchronize();
      } catch (const std::exception &) {
        // Those that are stopped say so again.
      }
  }

  void record(const std::function<void(Machine &)> &body) {
    std::vector<Sequence *> &all = sequences.emplace_back();
    for (auto &machine : machines)
      all.push_back(machine->record("test", [&] { body(*machine); }));
  }
  /// The sequence that was recorded as this one.
  void run(int sequence = 0) {
    for (int rank = 0; rank < count; ++rank)
      machines[rank]->run(sequences[sequence][rank]);
  }
  void runOf(int rank) { machines[rank]->run(sequences[0][rank]); }
  /// What the owner of each device has there.
  std::vector<std::string> memory() {
    std::vector<std::string> all(devices);
    for (auto &machine : machines) {
      machine->synchronize();
      for (int device = 0; device < devices; ++device)
        if (machine->isLocal(device))
          all[device].assign(machine->arena(device), rankArenaBytes);
    }
    return all;
  }
  /// Sets each device's memory at its owner; images stay as they are.
  void fill(int64_t count) {
    for (auto &machine : machines)
      for (int device = 0; device < devices; ++device)
        if (machine->isLocal(device))
          std::memcpy(machine->arena(device),
                      randomValues(count, 10 + device).data(), 4 * count);
  }
  int size() const { return count; }
  Machine &operator[](int rank) { return *machines[rank]; }

private:
  const int devices, count;
  LocalHub hub;
  std::deque<LocalTransport> transports;
  std::deque<Ranks> ranks;
  std::vector<std::unique_ptr<Machine>> machines;
  std::vector<std::vector<Sequence *>> sequences; ///< by rank
};

inline MachineSpec rankSpecOf(int devices, int lanesPerDevice, int events) {
  MachineSpec spec;
  for (int device = 0; device < devices; ++device) {
    spec.devices.push_back({rankArenaBytes});
    for (int lane = 0; lane < lanesPerDevice; ++lane)
      spec.lanes.push_back({device, "lane"});
  }
  spec.events = events;
  return spec;
}

/// A test that hangs is ended.
class WatchedTest : public testing::Test {
protected:
  void SetUp() override { alarm(200); }
  void TearDown() override { alarm(0); }
};

} // namespace lwcc::rt

#endif // LWCC_TEST_UNIT_RUNTIME_CPU_RANKTEAM_H
