//===- LaneSharing.cpp - Calls that run at once on one device -------------===//

#include "passes/plan/price/LaneSharing.h"

#include <algorithm>
#include <cassert>

using namespace lwcc::plan;

LaneSharing::LaneSharing(std::vector<int> deviceOf)
    : deviceOf(std::move(deviceOf)), calls(this->deviceOf.size()) {
  int devices = 0;
  for (int device : this->deviceOf)
    devices = std::max(devices, device + 1);
  slowdown.assign(devices, 1);
}

void LaneSharing::setSlowdown(int device) {
  DeviceUse sum;
  for (size_t lane = 0; lane < calls.size(); ++lane)
    if (calls[lane].isRunning && deviceOf[lane] == device) {
      sum.processors += calls[lane].use.processors;
      sum.memory += calls[lane].use.memory;
    }
  slowdown[device] = std::max({1.0, sum.processors, sum.memory});
}

void LaneSharing::start(int lane, double seconds, DeviceUse use) {
  assert(!calls[lane].isRunning && "a lane runs one call at a time");
  calls[lane] = {true, seconds, use};
  setSlowdown(deviceOf[lane]);
}

std::optional<std::pair<int, double>> LaneSharing::nextEnd() const {
  std::optional<std::pair<int, double>> first;
  for (size_t lane = 0; lane < calls.size(); ++lane) {
    if (!calls[lane].isRunning)
      continue;
    double end = time + calls[lane].left * slowdown[deviceOf[lane]];
    if (!first || end < first->second)
      first = {static_cast<int>(lane), end};
  }
  return first;
}

void LaneSharing::advance(double to) {
  for (size_t lane = 0; lane < calls.size(); ++lane)
    if (calls[lane].isRunning)
      calls[lane].left = std::max(
          0.0, calls[lane].left - (to - time) / slowdown[deviceOf[lane]]);
  time = to;
}

void LaneSharing::finish(int lane) {
  calls[lane].isRunning = false;
  setSlowdown(deviceOf[lane]);
}
