//===- ExchangesTest.cpp - Who sends what to whom, two ways ---------------===//

#include "passes/plan/price/Exchanges.h"
#include "test/unit/passes/Grids.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <random>

using namespace lwcc;
using namespace lwcc::plan;

namespace {

Machine machineOf(int64_t nodes, int64_t gpus) {
  Machine machine = *findMachine("p100-4x4");
  machine.nodes = nodes;
  machine.gpus = gpus;
  return machine;
}

TEST(Traffic, gridsCountTheSameAsPairs) {
  std::mt19937 random(5);
  auto upTo = [&](int most) {
    return std::uniform_int_distribution<int>(0, most)(random);
  };
  for (int round = 0; round < 500; ++round) {
    Machine machine = machineOf(1 + upTo(2), 4);
    if (upTo(1))
      machine.uplink = {2, {3e9, 2e-6}};
    tiling::Shape shape = {5 + upTo(4), 6, 7};
    auto any = [&] {
      std::vector<int64_t> degrees = {1 + upTo(1), 1 + upTo(1), 1 + upTo(1)};
      int64_t tiles = degrees[0] * degrees[1] * degrees[2];
      while (tiles > machine.devices())
        tiles /= std::exchange(degrees[upTo(2)], 1);
      tiles = degrees[0] * degrees[1] * degrees[2];
      int64_t copies = machine.devices() >= 2 * tiles ? 1 + upTo(1) : 1;
      LayerTiles::Regions regions = grid(shape, degrees, upTo(1), copies);
      std::vector<int64_t> devices(machine.devices());
      for (size_t i = 0; i < devices.size(); ++i)
        devices[i] = static_cast<int64_t>(i);
      if (upTo(1)) // in turn, groups mostly have parts that are grids, too
        std::shuffle(devices.begin(), devices.end(), random);
      devices.resize(regions.size());
      return std::pair(regions, devices);
    };
    AxisOverlaps overlaps;
    auto [made, makers] = any();
    auto [read, readers] = any();
    RegionSet from(made, makers, overlaps), to(read, readers, overlaps);
    from.findGroups(machine);
    to.findGroups(machine);
    Traffic fast(machine), slow(machine);
    RegionSet::exchange(from, to, 4, overlaps, fast);
    RegionSet::exchangeByPairs(from, to, 4, overlaps, slow);
    EXPECT_DOUBLE_EQ(fast.bytes(), slow.bytes()) << "round " << round;
    EXPECT_DOUBLE_EQ(fast.seconds(), slow.seconds()) << "round " << round;

    // The same as parts of a tensor, which may be a larger one.
    const int64_t times = 1 + upTo(2);
    auto partsOf = [&](LayerTiles::Regions regions, auto &devices) {
      tiling::Shape larger = shape;
      for (int64_t &extent : larger)
        extent *= times;
      for (auto &region : regions)
        for (tiling::Interval &part : *region)
          part = {part.begin * times, part.end * times};
      RegionSet set(regions, devices, overlaps, larger);
      set.findGroups(machine);
      return set;
    };
    RegionSet fromParts(made, makers, overlaps, shape),
        toParts = partsOf(read, readers);
    fromParts.findGroups(machine);
    EXPECT_EQ(fromParts.number(), partsOf(made, makers).number());
    Traffic parts(machine);
    RegionSet::exchange(fromParts, toParts, 1, overlaps, parts);
    const double unit = 4 * tiling::volume(tiling::wholeOf(shape)) /
                        RegionSet::units(fromParts, toParts, overlaps);
    EXPECT_DOUBLE_EQ(parts.bytes() * unit, slow.bytes()) << "round " << round;
    EXPECT_DOUBLE_EQ(parts.seconds(parts.busiest(), unit), slow.seconds())
        << "round " << round;
  }
}

TEST(Traffic, aRegionGoesOnceToADeviceThatReadsItTwice) {
  Machine machine = machineOf(1, 4);
  LayerTiles::Regions whole = {tiling::Box{{0, 10}}},
                      twice = {tiling::Box{{0, 10}}, tiling::Box{{0, 10}}};
  AxisOverlaps overlaps;
  Traffic traffic(machine);
  RegionSet::exchange(RegionSet(whole, {0}, overlaps),
                      RegionSet(twice, {1, 1}, overlaps), 4, overlaps, traffic);
  EXPECT_EQ(traffic.bytes(), 40);
  EXPECT_DOUBLE_EQ(traffic.seconds(),
                   machine.link.latency + 40 / machine.link.bandwidth);
}

TEST(Traffic, nodesShareTheirNetwork) {
  Machine machine = machineOf(2, 2);
  Traffic near(machine), far(machine);
  near.add(0, 1, 1e9);
  EXPECT_DOUBLE_EQ(near.seconds(),
                   machine.link.latency + 1e9 / machine.link.bandwidth);
  far.add(0, 2, 1e9);
  far.add(1, 3, 1e9);
  EXPECT_DOUBLE_EQ(far.seconds(),
                   machine.network.latency + 2e9 / machine.network.bandwidth);
}

TEST(Traffic, devicesAtASwitchShareItsUplink) {
  Machine machine = machineOf(2, 4);
  machine.uplink = {2, {machine.link.bandwidth, 5e-6}};
  Traffic near(machine), across(machine), far(machine);
  near.add(0, 1, 1e9);
  near.add(2, 3, 1e9);
  EXPECT_DOUBLE_EQ(near.seconds(),
                   machine.link.latency + 1e9 / machine.link.bandwidth);
  across.add(0, 2, 1e9);
  across.add(1, 3, 1e9);
  EXPECT_DOUBLE_EQ(across.seconds(), 5e-6 + 2e9 / machine.link.bandwidth);
  // To another node it goes through both.
  far.add(0, 4, 1e9);
  EXPECT_DOUBLE_EQ(
      far.seconds(),
      std::max(machine.network.latency + 1e9 / machine.network.bandwidth,
               5e-6 + 1e9 / machine.link.bandwidth));
}

} // namespace
