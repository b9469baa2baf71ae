//===- RankFaultsTest.cpp - Ranks that fail or are stopped ----------------===//
//
// No lane may wait for ever where a rank fails and the others are told, and
// none of those that go on may be misled by it.
//
//===----------------------------------------------------------------------===//
#include "RankTeam.h"

#include <atomic>
#include <chrono>
#include <thread>

using namespace lwcc::rt;

namespace {

using RankFaultsTest = WatchedTest;

/// Lane 0 is to work, lanes 1 and 2, of other ranks, wait for its event and
/// for what it writes.
void handOver(Machine &machine, const std::function<void()> &work) {
  auto value = [&](int device) {
    return Tensor(machine.arena(device), DType::f32, {64}, Layout::dense);
  };
  CpuLane &first = cpuLane(machine.lane(0));
  first.layer("fc6", "forward");
  first.append("matmul", {value(0)}, work);
  first.append("matmul", {}, [] {}); // so that the event is news
  machine.event(0).record(first);
  machine.event(0).wait(machine.lane(1));
  transfer(machine.lane(1), {value(1)}, {value(0)});
  transfer(machine.lane(2), {value(2)}, {value(0)}); // waits for the message
}

std::string faultOf(Machine &machine) {
  try {
    machine.synchronize();
  } catch (const std::exception &e) {
    return e.what();
  }
  return "";
}

TEST_F(RankFaultsTest, AFailingOperatorEndsItsRankAndStopEndsTheOthers) {
  RankTeam team(rankSpecOf(3, 1, 1), {0, 1, 2});
  int left = 3; // runs until it fails
  team.record([&](Machine &machine) {
    handOver(machine, [&] {
      if (--left == 0)
        throw std::runtime_error("out of luck");
    });
  });
  for (int r = 0; r < 5; ++r)
    team.run();
  EXPECT_EQ(faultOf(team[0]), "fc6 (forward), matmul: out of luck");
  EXPECT_EQ(left, 0); // what follows is skipped
  for (int rank : {1, 2}) {
    team[rank].stop(std::make_exception_ptr(Error("rank 0 is lost")));
    EXPECT_EQ(faultOf(team[rank]), "rank 0 is lost");
  }
  team.run(); // it stays so
  EXPECT_EQ(faultOf(team[0]), "fc6 (forward), matmul: out of luck");
  EXPECT_EQ(faultOf(team[1]), "rank 0 is lost");
}

TEST_F(RankFaultsTest, StopEndsLanesThatWaitForAWorkingRank) {
  std::atomic<bool> working = false, mayEnd = false;
  RankTeam team(rankSpecOf(3, 1, 1), {0, 1, 2});
  team.record([&](Machine &machine) {
    handOver(machine, [&] {
      working = true;
      while (!mayEnd)
        std::this_thread::yield();
    });
  });
  team.run();
  while (!working)
    std::this_thread::yield();
  for (int rank : {1, 2}) {
    team[rank].stop(std::make_exception_ptr(Error("enough")));
    EXPECT_EQ(faultOf(team[rank]), "enough");
  }
  mayEnd = true; // what it sends then is taken
  EXPECT_EQ(faultOf(team[0]), "");
}

TEST_F(RankFaultsTest, StopEndsARankThatWaitsForOthersToBegin) {
  RankTeam team(rankSpecOf(3, 1, 1), {0, 1, 2});
  team.record([](Machine &machine) { handOver(machine, [] {}); });
  team.run();
  EXPECT_EQ(faultOf(team[0]), "");
  team.runOf(0); // the others do not
  team[0].stop(std::make_exception_ptr(Error("enough")));
  EXPECT_EQ(faultOf(team[0]), "enough");
  EXPECT_EQ(faultOf(team[1]), "");
}

/// Rank 3 is at work on a run while the others wait to begin the next one, for
/// which rank 2 has other values. Rank 0 is stopped: rank 2 must not take that
/// for the news that all have come.
TEST_F(RankFaultsTest, AStoppedRankLetsNoOtherBeginTooEarly) {
  std::atomic<bool> mayEnd = false;
  RankTeam team(rankSpecOf(4, 1, 0), {0, 1, 2, 3});
  auto value = [&](Machine &machine, int device) {
    return Tensor(machine.arena(device), DType::f32, {64}, Layout::dense);
  };
  team.record([&](Machine &machine) {
    cpuLane(machine.lane(3)).append("work", {}, [&] {
      while (!mayEnd)
        std::this_thread::yield();
    });
    transfer(machine.lane(3), {value(machine, 3)}, {value(machine, 2)});
  });
  team[2].write(value(team[2], 2), 2, Floats(64, 1.0f).data());
  team.run();
  team[2].write(value(team[2], 2), 2, Floats(64, 2.0f).data());
  for (int rank : {0, 1, 2})
    team.runOf(rank);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  team[0].stop(std::make_exception_ptr(Error("enough")));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  mayEnd = true;
  Floats read(64);
  team[3].read(value(team[3], 3), 3, read.data());
  EXPECT_EQ(read, Floats(64, 1.0f));
  for (int rank : {1, 2})
    team[rank].stop(std::make_exception_ptr(Error("enough")));
}

} // namespace
