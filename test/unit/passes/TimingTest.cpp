//===- TimingTest.cpp - Tasks of placed layers, and lists of devices ------===//
//
// What is remembered for one list of devices must hold for all that are placed
// alike.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Timing.h"
#include "test/unit/passes/LayeredGraphs.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::plan::test;

namespace {

/// With switches whose groups may not fit into nodes.
Machine randomMachine(Draw &below) {
  Machine machine = machineOf(1 + below(4), 1 + below(4));
  if (below(2))
    machine.uplink = {1 + below(3), {8e8, 3e-6}};
  return machine;
}

std::vector<int> randomList(Draw &below, const Machine &machine) {
  std::vector<int> list(below(9));
  for (int &device : list)
    device = static_cast<int>(below(machine.devices()));
  return list;
}

TEST(DeviceLists, equalListsHaveOneNumber) {
  Draw below(3);
  DeviceLists lists(machineOf(3));
  std::map<std::vector<int>, int> numbers;
  for (int i = 0; i < 1000; ++i) {
    const std::vector<int> first = randomList(below, machineOf(3)),
                           second = randomList(below, machineOf(3));
    std::vector<int> both = first;
    both.insert(both.end(), second.begin(), second.end());
    const int number = lists.number(first);
    EXPECT_EQ(numbers.try_emplace(first, number).first->second, number);
    EXPECT_EQ(lists[number].vec(), first);
    EXPECT_EQ(lists.joined(number, lists.number(second)), lists.number(both));
    EXPECT_EQ(lists.isOnce(number),
              std::set<int>(first.begin(), first.end()).size() == first.size());
  }
  EXPECT_GE(lists.size(), numbers.size());
}

TEST(DeviceLists, canonicalFormsKeepNeighbours) {
  Draw below(5);
  for (int trial = 0; trial < 500; ++trial) {
    const Machine machine = randomMachine(below);
    DeviceLists lists(machine);
    const std::vector<int> list = randomList(below, machine);
    const DeviceLists::Canonical canonical =
        lists.canonical(lists.number(list));
    const DeviceLists::Devices renamed = lists[canonical.list];
    ASSERT_EQ(renamed.size(), list.size());
    for (size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(canonical.names[renamed[i]], list[i]);
      EXPECT_LT(renamed[i], machine.devices());
      for (size_t j = 0; j < i; ++j)
        for (const LinkLevel &level : machine.links())
          EXPECT_EQ(level.groupOf(list[i]) == level.groupOf(list[j]),
                    level.groupOf(renamed[i]) == level.groupOf(renamed[j]));
    }
    EXPECT_EQ(lists.canonical(canonical.list).list, canonical.list);
  }
}

TEST(DeviceLists, listsThatAreAlikeHaveOneForm) {
  Machine machine = machineOf(2, 4);
  DeviceLists lists(machine);
  auto form = [&](std::vector<int> list) {
    return lists.canonical(lists.number(list)).list;
  };
  EXPECT_EQ(form({2, 0, 3}), form({5, 7, 4}));
  EXPECT_EQ(form({2, 4, 6}), form({6, 1, 4}));
  EXPECT_NE(form({2, 4, 3}), form({6, 1, 4}));
  EXPECT_NE(form({2, 0, 2}), form({5, 7, 4}));
}

/// By device: what it receives, in bytes and ticks, and what its calls make; in
/// no order.
using Received = std::map<int64_t, std::multiset<int64_t>>;

Received receivedBy(const PlacedExchange &placed) {
  Received received;
  if (!placed)
    return received;
  for (const Arrival &arrival : placed.exchange->arrivals)
    received[placed.names[arrival.device]] = {arrival.bytes, arrival.duration};
  for (const AssemblyTask &task : placed.exchange->after)
    received[placed.names[task.device]].insert(task.made);
  return received;
}

/// The same, worked out for these very devices.
Received receivedBy(const Machine &machine, const Assembly &assembly) {
  Traffic traffic(machine);
  std::map<int64_t, DeviceSet> sources;
  for (const Flow &flow : assembly.sent) {
    traffic.add(flow.from, flow.to, flow.bytes);
    sources[flow.to].insert(flow.from);
  }
  Received received;
  for (const auto &[to, from] : sources)
    received[to] = {static_cast<int64_t>(traffic.received(to)),
                    ticksOf(traffic.seconds(to, from))};
  for (const Assembly::Call &call : assembly.calls)
    if (!call.sends)
      received[call.device].insert(static_cast<int64_t>(call.made));
  return received;
}

TEST(Timing, exchangesAreWhatTheirDevicesSend) {
  Draw below(7);
  int exchanges = 0;
  for (int trial = 0; trial < 40; ++trial) {
    const LayerGraph graph = randomGraph(below);
    const Machine machine = randomMachine(below);
    const CostModel costs(machine, "fp32");
    Timing timing({graph, machine, costs});
    for (int round = 0; round < 10; ++round) {
      Tilings tilings;
      for (size_t i = 0; i < graph.layers.size(); ++i) {
        tilings.push_back(cut(machine, 1 + below(4), 1 + below(3)));
        for (Place &place : tilings.back().places)
          place = machine.place(below(machine.devices()));
      }
      auto placed = [&](int layer, auto LayerTiles::*list, size_t index) {
        const LayerTiles tiles = graph.tiles(layer, tilings[layer]);
        std::vector<PlacedRegion> regions;
        for (auto [region, place] :
             llvm::zip_equal((tiles.*list)[index], tilings[layer].places))
          if (region)
            regions.push_back({*region, machine.deviceOf(place)});
        return regions;
      };
      for (auto [number, tensor] : llvm::enumerate(graph.tensors))
        for (int consumer : tensor.consumers) {
          auto indexIn = [&](const std::vector<int> &list) {
            return llvm::find(list, static_cast<int>(number)) - list.begin();
          };
          const size_t made = indexIn(graph.layers[tensor.producer].made),
                       read = indexIn(graph.layers[consumer].read);
          const PlacedTensor &maker =
              timing.layer(tensor.producer, tilings[tensor.producer])
                  .made[made];
          const PlacedTensor &reader =
              timing.layer(consumer, tilings[consumer]).read[read];
          const Assembly assembly =
              assemble(placed(tensor.producer, &LayerTiles::made, made),
                       placed(consumer, &LayerTiles::read, read),
                       tensor.elementBytes, /*withKeys=*/false);
          if (PlacedTensor::isThere(maker, reader)) {
            EXPECT_TRUE(assembly.sent.empty() && assembly.calls.empty());
            continue;
          }
          ++exchanges;
          ASSERT_EQ(receivedBy(timing.exchange(maker, reader, {},
                                               tensor.elementBytes)),
                    receivedBy(machine, assembly))
              << "trial " << trial << ", round " << round;
        }
      if (below(4) == 0)
        timing.forget();
    }
  }
  EXPECT_GT(exchanges, 1000);
}

} // namespace
