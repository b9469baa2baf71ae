//===- LaunchTest.cpp - Which rank a process is ---------------------------===//

#include "runtime/train/ranks/Launch.h"
#include "runtime/train/ranks/Team.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<Launch> launchOf(const Variables &variables, int64_t ranks = 0) {
  return findLaunch(ranks, [&](const char *name) {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string refusal(const Variables &variables, int64_t ranks = 0) {
  try {
    launchOf(variables, ranks);
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

TEST(Launch, oneProcessWithoutALauncher) {
  EXPECT_FALSE(launchOf({}));
  EXPECT_FALSE(launchOf({}, 1));
  // A variable of another program is no launcher.
  EXPECT_FALSE(launchOf({{"RANK", "3"}}));
  // A launcher of one process is none, either.
  EXPECT_FALSE(launchOf({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "1"}}));
}

TEST(Launch, ranksOfThisMachineDrawASecret) {
  std::optional<Launch> launch = launchOf({}, 4);
  ASSERT_TRUE(launch);
  EXPECT_EQ(launch->rank, 0);
  EXPECT_EQ(launch->count, 4);
  EXPECT_EQ(launch->host, "127.0.0.1");
  EXPECT_EQ(launch->port, 0);
  EXPECT_EQ(launch->secret.size(), 32u);
  EXPECT_NE(launch->secret, launchOf({}, 4)->secret);
}

TEST(Launch, everyLauncherSaysWhichRankAndWhere) {
  struct Case {
    Variables variables;
    std::string host;
    int port;
  };
  const Case cases[] = {
      {{{"LWCC_RANK", "2"}, {"LWCC_RANKS", "4"}, {"LWCC_ADDRESS", "a:81"}},
       "a",
       81},
      {{{"LWCC_RANK", "2"}, {"LWCC_RANKS", "4"}, {"LWCC_ADDRESS", "[::1]:81"}},
       "::1",
       81},
      {{{"RANK", "2"},
        {"WORLD_SIZE", "4"},
        {"MASTER_ADDR", "b"},
        {"MASTER_PORT", "29500"}},
       "b",
       29501},
      {{{"OMPI_COMM_WORLD_RANK", "2"},
        {"OMPI_COMM_WORLD_SIZE", "4"},
        {"LWCC_ADDRESS", "c:82"}},
       "c",
       82},
      {{{"PMI_RANK", "2"}, {"PMI_SIZE", "4"}, {"LWCC_ADDRESS", "d:83"}},
       "d",
       83},
      {{{"SLURM_PROCID", "2"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_JOB_ID", "123456"},
        {"SLURM_STEP_NODELIST", "node[07-09,12],x"}},
       "node07",
       23456},
      {{{"SLURM_PROCID", "2"},
        {"SLURM_NTASKS", "4"},
        {"SLURM_JOB_ID", "7"},
        {"SLURM_STEP_NODELIST", "a1,b[2-3]"}},
       "a1",
       20007},
  };
  for (const Case &each : cases) {
    Variables variables = each.variables;
    variables["LWCC_SECRET"] = "s";
    std::optional<Launch> launch = launchOf(variables);
    ASSERT_TRUE(launch);
    EXPECT_EQ(launch->rank, 2);
    EXPECT_EQ(launch->count, 4);
    EXPECT_EQ(launch->host, each.host);
    EXPECT_EQ(launch->port, each.port);
    EXPECT_EQ(launch->secret, "s");
  }
}

TEST(Launch, whatContradictsItselfIsRefused) {
  const Variables two = {{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}};
  EXPECT_THAT(refusal(two), testing::HasSubstr("where rank 0 is"));
  EXPECT_THAT(refusal(two, 3), testing::HasSubstr("has started 2"));
  Variables placed = two;
  for (const char *address : {"", "nowhere", ":1", "a:", "a:0", "a:70000",
                              "a:1x", "a:99999999999999999999"}) {
    placed["LWCC_ADDRESS"] = address;
    EXPECT_THAT(refusal(placed), testing::HasSubstr("LWCC_ADDRESS"));
  }
  placed["LWCC_ADDRESS"] = "a:1";
  EXPECT_THAT(refusal(placed), testing::HasSubstr("LWCC_SECRET is not set"));
  for (const char *rank : {"2", "-1", "x", "", "1x"}) {
    placed["PMI_RANK"] = rank;
    EXPECT_THAT(refusal(placed), testing::StartsWith("PMI_RANK="));
  }
}

TEST(Team, devicesGoToRanksAsNeighbours) {
  MachineSpec machine;
  for (int device = 0; device < 7; ++device) {
    machine.devices.push_back({});
    machine.lanes.push_back({device, "", LaneUse::compute, 1});
  }
  EXPECT_EQ(ranksOfDevices(machine, 7),
            (std::vector<int>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ranksOfDevices(machine, 2),
            (std::vector<int>{0, 0, 0, 0, 1, 1, 1}));
  EXPECT_THROW(ranksOfDevices(machine, 8), Error);
  machine.lanes.pop_back(); // the last device does nothing
  EXPECT_THROW(ranksOfDevices(machine, 7), Error);
  EXPECT_NO_THROW(ranksOfDevices(machine, 3));
}

TEST(Packet, whatIsCutShortIsRefused) {
  Hello hello;
  hello.secret = "secret";
  hello.rank = 3;
  hello.host = "host";
  const std::string bytes = hello.packed();
  EXPECT_EQ(Hello::from(bytes).host, "host");
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(Hello::from(std::string_view(bytes).substr(0, size)), Error);
  std::mt19937 random(1);
  for (int round = 0; round < 20000; ++round) {
    std::string broken = bytes;
    for (int changes = 0; changes < 3; ++changes)
      broken[random() % broken.size()] = static_cast<char>(random());
    try {
      Hello::from(broken);
    } catch (const Error &) { // no crash, and no memory of that size
    }
  }
}

} // namespace
