//===- MessagesTest.cpp - What ranks send each other ----------------------===//
//
// The derivation by hand-written programs, and by random ones: what it derives
// is proven by MessageCheck and tried in many orders (Interleavings.h). The
// check itself is tested with messages that are wrong in one place: it may
// accept only those that no order shows to be wrong.
//
// LWCC_RANDOM_PROGRAMS=N draws N programs instead of a few.
//
//===----------------------------------------------------------------------===//
#include "Interleavings.h"
#include "MessageMutants.h"
#include "RankPrograms.h"
#include "runtime/exchange/MessageCheck.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <string>

using namespace lwcc::rt::exchange;

namespace {

std::string join(const std::vector<std::string> &lines) {
  std::string all;
  for (const std::string &line : lines)
    all += line + "\n";
  return all;
}

Messages derive(const RankProgram &program) {
  return deriveMessages(program.steps, program.ranks);
}

std::string problemsOf(const RankProgram &program, const Messages &messages) {
  return join(checkMessages(program.steps, program.ranks, messages));
}

/// Derives what a program needs, which is proven and tried.
Messages deriveSoundly(const RankProgram &program) {
  Messages messages = derive(program);
  EXPECT_EQ(problemsOf(program, messages), "");
  Interleavings orders(program, messages);
  Random random(1);
  EXPECT_EQ(orders.runExtremes(random), "");
  for (int i = 0; i < 100; ++i)
    EXPECT_EQ(orders.runRandomly(random), "");
  return messages;
}

/// Devices 0, 1, ... of a rank each, with a lane each.
RankProgram aDeviceEach(int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i)
    all.push_back(i);
  return {all, all};
}

TEST(MessagesTest, WhatNoStepWritesLeavesAtTheStart) {
  RankProgram program = aDeviceEach(2);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 1u);
  EXPECT_TRUE(all.messages[0].writers.empty());
  EXPECT_EQ(all.awaits[0], std::vector<int>{0});
}

TEST(MessagesTest, NothingIsSentBetweenDevicesOfOneRank) {
  RankProgram program({0, 0}, {0, 1});
  program.work(0, {program.bytes(0, 0, 8)}, {});
  program.record(0, 0);
  program.wait(1, 0);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  EXPECT_TRUE(all.messages.empty());
  EXPECT_TRUE(all.news.empty());
}

TEST(MessagesTest, AMessageBringsTheEventBehindItsWriter) {
  RankProgram program = aDeviceEach(2);
  program.work(0, {program.bytes(0, 0, 8)}, {});
  program.record(0, 0);
  program.wait(1, 0);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 1u);
  EXPECT_EQ(all.messages[0].writers, std::vector<int>{0});
  EXPECT_EQ(all.messages[0].events, std::vector<int>{0});
  EXPECT_TRUE(all.news.empty());
}

TEST(MessagesTest, AnEventBehindOtherWorkIsNews) {
  RankProgram program = aDeviceEach(2);
  program.work(0, {program.bytes(0, 0, 8)}, {});
  program.work(0, {program.bytes(0, 16, 8)}, {});
  program.record(0, 0);
  program.wait(1, 0);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 1u);
  EXPECT_TRUE(all.messages[0].events.empty());
  EXPECT_EQ(all.news.size(), 1u);
}

/// It says that others are through, too, which the message does not.
TEST(MessagesTest, AnEventBehindAWaitIsNews) {
  RankProgram program = aDeviceEach(3);
  program.work(2, {}, {});
  program.record(2, 0);
  program.work(0, {program.bytes(0, 0, 8)}, {});
  program.wait(0, 0);
  program.record(0, 1);
  program.wait(1, 1);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 1u);
  EXPECT_TRUE(all.messages[0].events.empty());
  EXPECT_EQ(all.news.size(), 2u);
}

TEST(MessagesTest, ReadersOfOneRankShareAMessage) {
  RankProgram program({0, 1, 1}, {0, 1, 2});
  program.work(0, {program.bytes(0, 0, 16)}, {});
  program.record(0, 0);
  for (int lane : {1, 2}) {
    program.wait(lane, 0);
    program.work(lane, {}, {program.bytes(0, 0, 16)});
    program.work(lane, {}, {program.bytes(0, 4, 8)}); // part of it
  }
  Messages all = deriveSoundly(program);
  EXPECT_EQ(all.messages.size(), 1u);
}

TEST(MessagesTest, WhatWasWrittenAgainIsSentAgain) {
  RankProgram program = aDeviceEach(2);
  program.work(1, {}, {program.bytes(0, 0, 8)}); // of the run before
  program.record(1, 0);
  program.wait(0, 0);
  program.work(0, {program.bytes(0, 4, 8)}, {});
  program.record(0, 1);
  program.wait(1, 1);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 2u);
  EXPECT_EQ(all.messages[1].writers, std::vector<int>{3});
}

TEST(MessagesTest, ColumnsWaitForAllWhoWroteThem) {
  RankProgram program({0, 0, 1}, {0, 0, 2});
  program.work(0, {program.columns(0, 0, 4, 0, 4)}, {});
  program.work(1, {program.columns(0, 0, 4, 4, 4)}, {});
  program.record(0, 0);
  program.record(1, 1);
  program.wait(2, 0);
  program.wait(2, 1);
  program.work(2, {}, {program.columns(0, 1, 2, 2, 4)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 1u);
  EXPECT_EQ(all.messages[0].writers, (std::vector<int>{0, 1}));
}

/// Who writes around a column has not written it.
TEST(MessagesTest, ColumnsBetweenOthersAreNotReplaced) {
  RankProgram program({0, 1}, {0, 0, 1});
  program.work(0, {program.columns(0, 1, 2, 0, 4)}, {});
  program.work(1, {program.columns(0, 0, 4, 4, 4)}, {}); // in no order
  program.record(0, 0);
  program.record(1, 1);
  program.wait(2, 0);
  program.wait(2, 1);
  program.work(2, {}, {program.columns(0, 1, 2, 0, 4)});
  Messages all = deriveSoundly(program);
  ASSERT_EQ(all.messages.size(), 1u);
  EXPECT_EQ(all.messages[0].writers, (std::vector<int>{0, 1}));
}

/// A third rank has waited for the reader; who waits for the third one may
/// overwrite what was read.
TEST(MessagesTest, OrderMayGoThroughAThirdRank) {
  RankProgram program = aDeviceEach(3);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  program.record(1, 0);
  program.wait(2, 0);
  program.work(2, {}, {});
  program.record(2, 1);
  program.wait(0, 1);
  program.work(0, {program.bytes(0, 0, 8)}, {});
  program.record(0, 2);
  program.wait(1, 2);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  Messages all = deriveSoundly(program);
  EXPECT_EQ(all.messages.size(), 2u);
  EXPECT_EQ(all.news.size(), 2u);
}

/// What comes again with the same content may come while it is read.
TEST(MessagesTest, TheSameContentMayComeAgain) {
  RankProgram program({0, 1, 1}, {0, 1, 2});
  program.work(1, {}, {program.bytes(0, 0, 8)});
  program.work(2, {}, {program.bytes(0, 4, 8)});
  deriveSoundly(program);
}

TEST(MessageCheckTest, SaysWhatIsWrong) {
  RankProgram program = aDeviceEach(2);
  program.work(0, {program.bytes(0, 0, 8)}, {});
  program.record(0, 0);
  program.wait(1, 0);
  program.work(1, {}, {program.bytes(0, 0, 8)});
  program.record(1, 1);
  program.wait(0, 1);
  program.work(0, {program.bytes(0, 0, 4)}, {});
  const Messages good = deriveSoundly(program);
  auto problems = [&](auto change) {
    Messages bad = good;
    change(bad);
    return problemsOf(program, bad);
  };
  EXPECT_EQ(problems([](Messages &m) { m.news.clear(); }),
            "event 1 is brought 0 times to rank 0\n");
  EXPECT_EQ(problems([](Messages &m) { m.news.push_back(m.news[0]); }),
            "event 1 is brought 2 times to rank 0\n");
  EXPECT_EQ(problems([](Messages &m) { m.messages[0].writers = {6}; }),
            "message 0 leaves behind steps that may wait for it\n");
  EXPECT_EQ(problems([](Messages &m) { m.messages[0].writers.clear(); }),
            "message 0 may bring event 0 before step 0 is through\n"
            "step 0 may write what message 0 takes\n"
            "step 3 may read what message 0 has brought\n");
  EXPECT_EQ(
      problems([](Messages &m) { m.messages[0].region.tensor.dim[0] = 7; }),
      "step 3 may read what has not come\n");
}

#ifndef __SANITIZE_THREAD__ // in one thread
int randomPrograms(int usual) {
  const char *wanted = std::getenv("LWCC_RANDOM_PROGRAMS");
  return wanted ? std::atoi(wanted) : usual;
}

TEST(MessagesTest, RandomProgramsAreProvenAndTried) {
  Random random(20);
  const int count = randomPrograms(50);
  int programs = 0, messages = 0, news = 0, brought = 0;
  for (; programs < count; ++programs) {
    const RankProgram program = randomProgram(random);
    const Messages all = derive(program);
    ASSERT_EQ(problemsOf(program, all), "") << "program " << programs;
    Interleavings orders(program, all);
    ASSERT_EQ(orders.runExtremes(random), "") << "program " << programs;
    for (int i = 0; i < 20; ++i)
      ASSERT_EQ(orders.runRandomly(random), "") << "program " << programs;
    messages += int(all.messages.size());
    news += int(all.news.size());
    for (const Message &message : all.messages)
      brought += int(message.events.size());
  }
  std::printf("%d programs: %d messages with %d events, and %d news\n",
              programs, messages, brought, news);
}

/// A mutant that the check accepts is as good as what was derived if no order
/// shows a mistake: each pair that is not ordered is tried both ways.
TEST(MessageCheckTest, RefusesWhateverSomeOrderShowsToBeWrong) {
  struct Count {
    int refused = 0, shown = 0, equal = 0;
  };
  std::map<std::string, Count> counts;
  Random random(7);
  const int programs = randomPrograms(4);
  for (int number = 0; number < programs; ++number) {
    const RankProgram program = randomProgram(random);
    for (const MessageMutant &mutant : mutantsOf(program, derive(program))) {
      Interleavings orders(program, mutant.messages);
      const std::string problems = problemsOf(program, mutant.messages);
      std::string wrong;
      for (int i = 0; i < 20 && wrong.empty(); ++i)
        wrong = orders.runRandomly(random);
      if (wrong.empty() && problems.empty())
        wrong = orders.runExtremes(random);
      Count &count = counts[mutant.kind];
      ++(problems.empty() ? count.equal : count.refused);
      count.shown += !wrong.empty();
      ASSERT_FALSE(problems.empty() && !wrong.empty())
          << "program " << number << ", " << mutant.kind << ": " << wrong;
    }
  }
  int refused = 0;
  for (const auto &[kind, count] : counts) {
    std::printf("%-32s %6d refused (%d of them wrong in 20 orders), %d equal\n",
                kind.c_str(), count.refused, count.shown, count.equal);
    refused += count.refused;
  }
  EXPECT_GT(refused, 300);
}
#endif

} // namespace
