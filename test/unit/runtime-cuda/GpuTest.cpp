//===- GpuTest.cpp - Which GPUs a program gets, and the messages ----------===//

#include "runtime/cuda/Gpu.h"
#include "runtime/core/Machine.h"

#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

static std::string messageOf(const std::function<void()> &f) {
  try {
    f();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

#define EXPECT_MESSAGE(expression, ...)                                        \
  do {                                                                         \
    std::string message = messageOf([&] { (void)(expression); });              \
    for (const char *part : {__VA_ARGS__})                                     \
      EXPECT_NE(message.find(part), std::string::npos) << message;             \
  } while (false)

TEST(PhysicalDevices, DefaultIsOneGpuForEachDevice) {
  EXPECT_EQ(physicalDevices(nullptr, 2, 4), (std::vector{0, 1}));
  EXPECT_EQ(physicalDevices("", 1, 1), (std::vector{0}));
}

TEST(PhysicalDevices, DevicesMayShareAGpu) {
  EXPECT_EQ(physicalDevices("0,0,0,0", 4, 1), (std::vector{0, 0, 0, 0}));
  EXPECT_EQ(physicalDevices("3,1", 2, 4), (std::vector{3, 1}));
  EXPECT_EQ(physicalDevices("0,1,2", 2, 3), (std::vector{0, 1}));
}

TEST(PhysicalDevices, TooFewGpusNamesBothWaysOut) {
  EXPECT_MESSAGE(physicalDevices(nullptr, 4, 1), "4 devices", "1 GPU",
                 "LWCC_DEVICES=0,0,0,0", "--gpus");
}

TEST(PhysicalDevices, RefusesBadLists) {
  for (const char *list : {"0,", ",0", "a", "0 1", "-1", "99999"})
    EXPECT_MESSAGE(physicalDevices(list, 1, 1), list, "LWCC_DEVICES");
  EXPECT_MESSAGE(physicalDevices("0,2", 2, 2), "GPU 2", "has 2");
  EXPECT_MESSAGE(physicalDevices("0,0", 3, 1), "3 devices", "only 2");
}

/// Four devices in so many ranks, of which `rank` is asked.
static Ranks rankOfFour(int rank, int count,
                        std::vector<std::string> hosts = {}) {
  Ranks ranks;
  ranks.rank = rank;
  ranks.count = count;
  for (int device = 0; device < 4; ++device)
    ranks.ofDevice.push_back(device * count / 4);
  ranks.hosts = std::move(hosts);
  return ranks;
}

TEST(DevicesOfRank, RanksOfOneMachineTakeItsGpusInTurn) {
  auto last = rankOfFour(1, 2, {"a", "a"});
  EXPECT_EQ(physicalDevicesOfRank(nullptr, last, 4, nullptr),
            (std::vector{-1, -1, 2, 3}));
  auto elsewhere = rankOfFour(1, 2, {"a", "b"});
  EXPECT_EQ(physicalDevicesOfRank(nullptr, elsewhere, 2, nullptr),
            (std::vector{-1, -1, 0, 1}));
  auto third = rankOfFour(2, 4, {"a", "b", "a", "b"});
  EXPECT_EQ(physicalDevicesOfRank("", third, 2, nullptr),
            (std::vector{-1, -1, 1, -1}));
}

TEST(DevicesOfRank, ALauncherMayShowEachItsOwn) {
  auto last = rankOfFour(3, 4, {"a", "a", "a", "a"});
  EXPECT_EQ(physicalDevicesOfRank(nullptr, last, 1, "GPU-17"),
            (std::vector{-1, -1, -1, 0}));
  EXPECT_MESSAGE(physicalDevicesOfRank(nullptr, last, 1, nullptr), "1 device",
                 "have 3", "1 GPU", "LWCC_DEVICES=0,0,0,0", "fewer ranks");
}

TEST(DevicesOfRank, AListNamesThoseOfTheProgramOrOfTheRank) {
  auto last = rankOfFour(1, 2);
  EXPECT_EQ(physicalDevicesOfRank("0,1,2,3", last, 4, nullptr),
            (std::vector{-1, -1, 2, 3}));
  EXPECT_EQ(physicalDevicesOfRank("3,0", last, 4, nullptr),
            (std::vector{-1, -1, 3, 0}));
  EXPECT_EQ(physicalDevicesOfRank("0,0,0,0", last, 1, nullptr),
            (std::vector{-1, -1, 0, 0}));
  EXPECT_MESSAGE(physicalDevicesOfRank("0", last, 1, nullptr), "2 devices",
                 "names only 1");
  EXPECT_MESSAGE(physicalDevicesOfRank("0,7", last, 2, nullptr), "GPU 7");
}

TEST(Graphs, AreTriedWhereNothingIsSaid) {
  EXPECT_EQ(graphUse(nullptr), GraphUse::ifPossible);
  EXPECT_EQ(graphUse(""), GraphUse::ifPossible);
  EXPECT_EQ(graphUse("0"), GraphUse::never);
  EXPECT_EQ(graphUse("1"), GraphUse::always);
  EXPECT_MESSAGE(graphUse("yes"), "LWCC_GRAPH", "yes", "0 or 1");
  EXPECT_TRUE(isSet("LWCC_SYNC", "1"));
  EXPECT_FALSE(isSet("LWCC_SYNC", nullptr));
  EXPECT_MESSAGE(isSet("LWCC_SYNC", "2"), "LWCC_SYNC", "0 or 1");
}

TEST(Messages, BytesAreReadable) {
  EXPECT_EQ(bytesText(1234567890), "1.23 GB (1,234,567,890 bytes)");
  EXPECT_EQ(bytesText(999), "0.00 GB (999 bytes)");
}

TEST(Messages, StatusesSayWhatToDo) {
  EXPECT_NE(explain(cudaErrorNoKernelImageForDevice, "x").find("--arch"),
            std::string::npos);
  EXPECT_NE(explain(cudaErrorMemoryAllocation, "x").find("--batch"),
            std::string::npos);
  EXPECT_NE(explain(cudaErrorIllegalAddress, "x").find("compute-sanitizer"),
            std::string::npos);
}

TEST(Messages, KnowsItsArchitectures) {
  EXPECT_EQ(builtArchitectures().rfind("sm_", 0), 0u) << builtArchitectures();
}

// On a machine with a GPU there is nothing to complain about.
TEST(Machine, WithoutADriverTheMessageNamesBothWaysOut) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess)
    GTEST_SKIP() << "this machine has a GPU";
  MachineSpec spec;
  spec.devices = {{1 << 20}};
  spec.lanes = {{0, "main"}};
  EXPECT_MESSAGE(lwcc::rt::Machine::create(spec, {}), "driver", "--target=cpu");
}
