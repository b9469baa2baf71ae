//===- BarsTest.cpp - The bars of a timeline ------------------------------===//

#include "tools/report/Bars.h"

#include "gtest/gtest.h"

using namespace lwcc;
using namespace lwcc::plan;
using namespace lwcc::report;

namespace {

struct Call {
  std::string layer, phase;
  double seconds;
};

/// A program of one lane, whose calls follow each other without a gap.
ProgramTime timeOf(const std::vector<Call> &calls) {
  ProgramTime time;
  time.program.lanes = {{"gpu0.compute", "gpu0"}};
  for (const Call &call : calls) {
    time.calls.push_back({static_cast<int>(time.program.calls.size()), 0,
                          time.step, call.seconds});
    time.program.calls.push_back({"call", call.layer, call.phase, {}});
    time.step += call.seconds;
  }
  return time;
}

/// "a forward 2" for a bar of two calls.
std::vector<std::string> textOf(const ProgramTime &time, bool inMicroBatches,
                                double shortest) {
  std::vector<std::string> text;
  double end = 0;
  const auto lanes = barsOf(time, inMicroBatches, shortest);
  for (const Bar &bar : lanes[0]) {
    EXPECT_GE(bar.begin, end - 1e-12);
    end = bar.end;
    text.push_back(
        (bar.batch >= 0 ? std::to_string(bar.batch) : bar.layer.str()) + " " +
        bar.phase.str() + " " + std::to_string(bar.calls) +
        (bar.turns > 1 ? " shared" : ""));
  }
  return text;
}

using Text = std::vector<std::string>;

TEST(Bars, areTurnsOfALayerInAPhase) {
  ProgramTime time = timeOf({{"a", "forward", 1},
                             {"a", "forward", 1},
                             {"b", "forward", 1},
                             {"b", "backward", 1},
                             {"a", "backward", 1}});
  EXPECT_EQ(textOf(time, false, 0.1), (Text{"a forward 2", "b forward 1",
                                            "b backward 1", "a backward 1"}));
}

TEST(Bars, areTurnsOfAMicroBatchWhereThereAreSome) {
  ProgramTime time = timeOf({{"a", "forward", 1},
                             {"b", "forward", 1},
                             {"a", "forward", 1},
                             {"b", "forward", 1},
                             {"b", "update", 1}});
  EXPECT_EQ(textOf(time, true, 0.1),
            (Text{"0 forward 2", "1 forward 2", "b update 1"}));
}

TEST(Bars, areSharedByWhatIsTooShortAndNamedByTheLongestCall) {
  ProgramTime time = timeOf({{"a", "forward", 0.01},
                             {"b", "backward", 0.02},
                             {"c", "forward", 0.01},
                             {"d", "forward", 1},
                             {"e", "forward", 0.01}});
  EXPECT_EQ(textOf(time, false, 0.1),
            (Text{"b backward 3 shared", "d forward 1", "e forward 1"}));
}

TEST(Bars, areFewOfAnyNumberOfCalls) {
  std::vector<Call> calls;
  for (int i = 0; i < 100000; ++i)
    calls.push_back({i % 2 ? "a" : "b", "forward", 1});
  EXPECT_LE(barsOf(timeOf(calls), false, 0.1)[0].size(), 20000u);
}

} // namespace
