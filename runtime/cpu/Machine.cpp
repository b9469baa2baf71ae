//===- Machine.cpp - Making, ending and describing a CPU machine ----------===//
//
// Decides how many threads each lane has, and starts and stops the lanes.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/Error.h"
#include "runtime/core/SystemMemory.h"
#include "runtime/cpu/CpuMachine.h"
#include "runtime/cpu/Onednn.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Threads.h"

#include <algorithm>
#include <cstdlib>
#include <omp.h>
#include <pthread.h>

namespace lwcc::rt {

/// The threads of a lane: cores are divided among the devices, and a device's
/// among the lanes that compute, by the widths that the plan gives these: all
/// whole threads first, then one each to those that lack most. Each has at
/// least one. A lane that exchanges with other devices has as many as the
/// device's first: what it does is bound by memory.
static int threadsOf(const MachineSpec &spec, int lane, int threads) {
  int devices = static_cast<int>(spec.devices.size());
  int device = spec.lanes[lane].device;
  int64_t whole = threads / devices + (device < threads % devices ? 1 : 0),
          width = 0;
  whole = std::max<int64_t>(whole, 1);
  std::vector<int64_t> widths;
  size_t index = 0; // of the lane among those that compute
  for (int i = 0; i < static_cast<int>(spec.lanes.size()); ++i)
    if (spec.lanes[i].device == device &&
        spec.lanes[i].use == LaneUse::compute) {
      if (i == lane)
        index = widths.size();
      widths.push_back(spec.lanes[i].threads);
      width += widths.back();
    }
  if (widths.empty())
    return static_cast<int>(whole);
  int64_t left = whole, before = 0; // lanes that get what is left earlier
  for (int64_t each : widths)
    left -= whole * each / width;
  auto lack = [&](size_t i) { return whole * widths[i] % width; };
  for (size_t i = 0; i < widths.size(); ++i)
    before += lack(i) > lack(index) || (lack(i) == lack(index) && i < index);
  return static_cast<int>(std::max<int64_t>(
      whole * widths[index] / width + (before < left ? 1 : 0), 1));
}

/// How many lanes have a thread in this process.
static ptrdiff_t localLanes(const MachineSpec &spec, const Ranks *ranks) {
  return std::count_if(spec.lanes.begin(), spec.lanes.end(),
                       [&](const LaneSpec &lane) {
                         return !ranks || ranks->isLocal(lane.device);
                       });
}

CpuMachine::CpuMachine(const MachineSpec &spec, const MachineOptions &options)
    : team(options.ranks), started(localLanes(spec, options.ranks)) {
  assert(localLanes(spec, team) > 0 &&
         "a machine without lanes can run nothing");
  const int devices = static_cast<int>(spec.devices.size());
  int64_t needed = 0, available = systemMemory().available;
  for (int device = 0; device < devices; ++device)
    needed += isLocal(device) ? spec.devices[device].arenaBytes : 0;
  if (needed > available)
    throw Error("too little memory: the program needs " + formatBytes(needed) +
                ", available are " + formatBytes(available));
  for (int device = 0; device < devices; ++device)
    arenas.emplace_back(spec.devices[device].arenaBytes,
                        isLocal(device) ? Arena::own : Arena::image);

  allThreads = mostThreads = threadCount(options.threads);
  // Whoever names a number means it.
  if (options.yielding && options.threads == 0 &&
      !std::getenv("OMP_NUM_THREADS"))
    allThreads = threadsWithCore(mostThreads);
  int count = static_cast<int>(spec.lanes.size());
  for (int i = 0; i < count; ++i) {
    lanes.push_back(std::make_unique<CpuLane>(
        i, spec.lanes[i].device, threadsOf(spec, i, allThreads),
        [this](const void *address) { return deviceOf(address); }));
    lanes.back()->received.resize(spec.devices.size());
    mailboxes.emplace_back();
  }
  for (int i = 0; i < spec.events; ++i)
    events.push_back(std::make_unique<CpuEvent>());
  startLanes(spec);
  if (!team)
    return;
  try {
    exchange = std::make_unique<RankExchange>(*team);
  } catch (...) {
    stopLanes();
    throw;
  }
}

void CpuMachine::startLanes(const MachineSpec &spec) {
  int count = static_cast<int>(lanes.size()), threads = 0;
  for (auto &lane : lanes)
    threads += isLocal(lane->device) ? lane->threads : 0;
  checkThreadsStart(threads);
  try {
    for (int i = 0; i < count; ++i) {
      if (!isLocal(spec.lanes[i].device))
        continue;
      workers.emplace_back([this, i] { laneMain(*lanes[i]); });
      // For debuggers and profilers; the system keeps 15 characters.
      std::string name = spec.lanes[i].name;
      pthread_setname_np(workers.back().native_handle(),
                         name.substr(0, 15).c_str());
    }
  } catch (const std::system_error &e) {
    stopLanes();
    refuseThread(threads, e);
  }
  started.wait();
  if (missingThreads > 0) {
    stopLanes();
    throw Error("OpenMP starts " + std::to_string(threads - missingThreads) +
                " of " + std::to_string(threads) +
                " threads; take fewer --threads, or unset OMP_THREAD_LIMIT and "
                "OMP_MAX_ACTIVE_LEVELS");
  }
}

void CpuMachine::stopLanes() {
  size_t left = workers.size(); // fewer than lanes, where one did not start
  for (auto &lane : lanes)
    if (isLocal(lane->device) && left > 0) {
      hand(lane->index, nullptr);
      --left;
    }
  for (std::thread &worker : workers)
    worker.join();
  workers.clear();
}

CpuMachine::~CpuMachine() {
  {
    std::unique_lock lock(mutex);
    waitFor(lock, posted);
  }
  exchange.reset();
  stopLanes();
}

std::string CpuMachine::describe() const {
  std::string text = std::to_string(allThreads) +
                     (allThreads == 1 ? " CPU thread" : " CPU threads");
  if (team)
    text += " in " + std::to_string(team->count) + " ranks";
  else if (allThreads > omp_get_num_procs())
    text += " on " + std::to_string(omp_get_num_procs()) +
            (omp_get_num_procs() == 1 ? " core" : " cores");
  if (allThreads < mostThreads)
    text += ", as other work keeps " +
            std::to_string(mostThreads - allThreads) + " of " +
            std::to_string(mostThreads) + " cores busy";
  if (lanes.size() > 1)
    text += " in " + std::to_string(lanes.size()) + " lanes";
  return text + " (" + describeOnednn() + ")";
}

int64_t CpuMachine::bytesHeld(int device) const {
  int64_t bytes = arenas.at(device).bytes();
  for (auto &lane : lanes)
    if (lane->device == device)
      bytes += lane->workspaceBytes();
  return bytes;
}

std::unique_ptr<Machine> Machine::create(const MachineSpec &spec,
                                         const MachineOptions &options) {
  return std::make_unique<CpuMachine>(spec, options);
}

} // namespace lwcc::rt
