//===- MachineTest.cpp - Machines as files and by name --------------------===//

#include "passes/plan/machine/Machine.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;

namespace {

std::vector<std::string> mistakesInMachine(llvm::StringRef text) {
  Machine machine;
  return machineFromJson(text, machine);
}

TEST(Machine, readsWhatItWrites) {
  for (const Machine &machine : knownMachines()) {
    Machine again;
    EXPECT_EQ(machineFromJson(toJson(machine), again),
              std::vector<std::string>{});
    EXPECT_EQ(again, machine) << machine.name;
  }
}

TEST(Machine, devicesInTurnFillNodeAfterNode) {
  Machine machine = *findMachine("p100-4x4");
  EXPECT_EQ(machine.devices(), 16);
  EXPECT_EQ(machine.place(5), (Place{1, 1, 0}));
  EXPECT_EQ(machine.deviceOf({1, 1, 3}), 5);
  EXPECT_EQ(findMachine("p100"), nullptr);
}

TEST(Machine, allMistakesOfAFileAreReported) {
  EXPECT_EQ(
      mistakesInMachine("{\n  \"a\":\n}"),
      std::vector<std::string>{
          "line 3, column 1: syntax error while parsing value - unexpected "
          "'}'; expected '[', '{', or a literal"});
  EXPECT_EQ(mistakesInMachine("[]"),
            std::vector<std::string>{"expected an object"});
  EXPECT_EQ(
      mistakesInMachine(R"({"nodes": 0, "gpus": 2, "speed": 1,
          "device": {"fp32": -1, "bandwith": 3, "memory": 0}})"),
      (std::vector<std::string>{
          "\"version\" is missing",
          "expected a number of at least 1 for \"nodes\", found 0",
          "expected a number above 0 for \"device.fp32\", found -1",
          "\"device.bandwidth\" is missing",
          "expected a number above 0 for \"device.memory\", found 0",
          "unknown field \"device.bandwith\", did you mean \"bandwidth\"?",
          "\"link\" is missing", "unknown field \"speed\""}));
  EXPECT_EQ(
      mistakesInMachine(R"({"version": 1, "gpus": 4, "link": {"bandwidth": 1},
          "device": {"fp32": 1, "bandwidth": 1, "memory": 1},
          "switch": {"gpus": 3, "speed": 1}})"),
      (std::vector<std::string>{
          "\"switch.bandwidth\" is missing", "unknown field \"switch.speed\"",
          "\"switch.gpus\" is 3, which does not divide the 4 of a "
          "node"}));
  // Nodes that nothing joins.
  EXPECT_EQ(mistakesInMachine(R"({"version": 1, "nodes": 2,
          "device": {"fp32": 1e12, "bandwidth": 1e11, "memory": 1e9}})"),
            std::vector<std::string>{"\"network\" is missing"});
}

TEST(Machine, aNodesOnlyDeviceHasTheNetworkForItsLink) {
  Machine machine;
  EXPECT_EQ(machineFromJson(R"({"version": 1, "nodes": 2,
          "device": {"fp32": 1e12, "bandwidth": 1e11, "memory": 1e300},
          "network": {"bandwidth": 5, "latency": 3}})",
                            machine),
            std::vector<std::string>{});
  EXPECT_EQ(machine.link, (Link{5, 3}));
  EXPECT_EQ(machine.device.memory, int64_t(1e18));
}

TEST(Machine, devicesOfOneProcessorShareItsMemory) {
  Machine machine;
  EXPECT_EQ(findDevices("cpu", 4, machine), std::vector<std::string>{});
  EXPECT_EQ(machine.device.memory, findMachine("cpu")->device.memory / 4);
  EXPECT_EQ(findDevices("h200x8", 4, machine), std::vector<std::string>{});
  EXPECT_EQ(machine.device.memory, findMachine("h200x8")->device.memory);
}

TEST(Machine, nodesThatAreAskedForHaveAProcessorEachAndANetwork) {
  Machine machine;
  EXPECT_EQ(findDevices("cpu", 8, machine, 2), std::vector<std::string>{});
  EXPECT_EQ(machine.nodes, 2);
  EXPECT_EQ(machine.gpus, 4);
  EXPECT_EQ(machine.device.memory, findMachine("cpu")->device.memory / 4);
  EXPECT_EQ(machine.network, (Link{1.25e9, 50e-6}));
  EXPECT_EQ(machine.link, findMachine("cpu")->link);
  // A node's only device has the network to itself; a known network is kept.
  EXPECT_EQ(findDevices("p100-4x4", 3, machine, 3), std::vector<std::string>{});
  EXPECT_EQ(machine.link, findMachine("p100-4x4")->network);
}

TEST(Machine, nodesThatDoNotFitAreRefused) {
  Machine machine;
  auto mistake = [&](llvm::StringRef name, int64_t gpus, int64_t nodes) {
    auto mistakes = findDevices(name, gpus, machine, nodes);
    return mistakes.empty() ? std::string() : mistakes.front();
  };
  EXPECT_EQ(mistake("cpu", 8, 3),
            "--gpus=8 are not equally many on each of --nodes=3");
  EXPECT_EQ(mistake("p100-4x4", 16, 2),
            "a node of machine 'p100-4x4' has 4 devices, fewer than --gpus=16 "
            "on --nodes=2 need");
  EXPECT_EQ(mistake("p100-4x4", 5, 5),
            "machine 'p100-4x4' has 4 nodes, fewer than --nodes=5");
}

} // namespace
