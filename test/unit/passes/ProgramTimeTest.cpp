//===- ProgramTimeTest.cpp - How long a program's step takes --------------===//

#include "passes/plan/price/ProgramTime.h"
#include "passes/plan/machine/Links.h"
#include "passes/plan/model/Call.h"
#include "passes/plan/model/ReadProgram.h"

#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::plan;

namespace {

/// Two lanes fill a tensor each; the second one waits for the first and goes
/// on.
constexpr const char *twoLanes = R"(
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.device @e node 0 gpu 1 arena 0
  exec.lane compute @l on @d
  exec.lane compute @m on @e
  exec.event @done
  exec.buffer activation @a : tensor<256xf32> on @d at -1
  exec.buffer activation @b : tensor<512xf32> on @e at -1
  exec.buffer activation @c : tensor<64xf32> on @e at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "one" forward
    exec.record @done on @l
    exec.call "fill" [] -> [@b] on @m for "two" forward
    exec.wait @done on @m
    exec.call "fill" [] -> [@c] on @m for "three" forward
  }
})";

/// Two devices of one node get a tensor of another node each.
constexpr const char *twoReaders = R"(
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.device @e node 1 gpu 0 arena 0
  exec.device @f node 1 gpu 1 arena 0
  exec.lane compute @l on @e
  exec.lane compute @m on @f
  exec.buffer activation @a : tensor<1000xf32> on @d at -1
  exec.buffer activation @b : tensor<1000xf32> on @e at -1
  exec.buffer activation @c : tensor<1000xf32> on @f at -1
  exec.sequence @train_step {
    exec.call "transfer" [@a] -> [@b] on @l for "one" forward
    exec.call "transfer" [@a] -> [@c] on @m for "one" forward
  }
})";

class ProgramTimeTest : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<exec::ExecDialect>();
    parse(twoLanes);
    machine = *findMachine("cpu");
    machine.gpus = 2;
  }

  void parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    program = *module->getOps<exec::ProgramOp>().begin();
  }

  /// What the calls take, in order.
  void measured(ArrayRef<Profile::Entry> entries) {
    SymbolTable symbols(program);
    auto step = symbols.lookup<exec::SequenceOp>("train_step");
    for (auto [call, entry] :
         llvm::zip_equal(step.getBody().getOps<exec::CallOp>(), entries))
      profile.add(machine.oneProcessor ? 2 : 1,
                  describe(call, symbols).work.key, entry);
  }

  double step() {
    return timeOf(readProgram(program, "train_step"), machine,
                  CostModel(machine, "fp32", &profile))
        .step;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  exec::ProgramOp program;
  Machine machine;
  Profile profile;
};

TEST_F(ProgramTimeTest, aProgramOfOneDeviceHasTheWholeProcessor) {
  parse(R"(
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d
  exec.buffer activation @a : tensor<1000000xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "one" forward
  }
})");
  auto stepOf = [&](int64_t devices, const Profile *profile) {
    machine.gpus = devices;
    return timeOf(readProgram(program, "train_step"), machine,
                  CostModel(machine, "fp32", profile))
        .step;
  };
  EXPECT_EQ(stepOf(2, nullptr), stepOf(1, nullptr));
  // If that was not measured, the times of a half are all there is.
  measured({{0.25, 0}});
  EXPECT_EQ(stepOf(2, &profile), 0.25);
  SymbolTable symbols(program);
  auto step = symbols.lookup<exec::SequenceOp>("train_step");
  profile.add(1,
              describe(*step.getBody().getOps<exec::CallOp>().begin(), symbols)
                  .work.key,
              {0.125, 0});
  EXPECT_EQ(stepOf(2, &profile), 0.125);
}

/// Two lanes of one device with a fill each; a third call waits for the first.
constexpr const char *oneDevice = R"(
exec.program @p {
  exec.device @d node 0 gpu 0 arena 0
  exec.lane compute @l on @d threads 3
  exec.lane compute @m on @d
  exec.event @done
  exec.buffer activation @a : tensor<256xf32> on @d at -1
  exec.buffer activation @b : tensor<512xf32> on @d at -1
  exec.buffer activation @c : tensor<64xf32> on @d at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "one" forward
    exec.record @done on @l
    exec.call "fill" [] -> [@b] on @m for "two" forward
    exec.wait @done on @m
    exec.call "fill" [] -> [@c] on @m for "three" forward
  }
})";

// A lane has its part of the device's threads, 3 of 4 and 1 of 4 here, and what
// was measured of another part counts in proportion.
TEST_F(ProgramTimeTest, lanesOfACpuDeviceAreAsQuickAsTheyAreWide) {
  parse(oneDevice);
  machine.gpus = 1;
  auto timeOfLanes = [&] {
    return timeOf(readProgram(program, "train_step"), machine,
                  CostModel(machine, "fp32", &profile));
  };
  double launch = machine.device.launch;
  auto seconds = [&](double bytes, double part) {
    return launch + bytes / (machine.device.bandwidth * part);
  };
  ProgramTime time = timeOfLanes();
  EXPECT_DOUBLE_EQ(time.calls[0].seconds, seconds(1024, 0.75));
  EXPECT_DOUBLE_EQ(time.calls[1].seconds, seconds(2048, 0.25));
  SymbolTable symbols(program);
  auto step = symbols.lookup<exec::SequenceOp>("train_step");
  for (auto call : step.getBody().getOps<exec::CallOp>())
    profile.add(1, describe(call, symbols).work.key, {3});
  time = timeOfLanes();
  EXPECT_DOUBLE_EQ(time.calls[0].seconds, 4);
  EXPECT_DOUBLE_EQ(time.calls[1].seconds, 12);
  // A quarter that was measured is not derived.
  for (auto call : step.getBody().getOps<exec::CallOp>())
    profile.add(4, describe(call, symbols).work.key, {5});
  time = timeOfLanes();
  EXPECT_DOUBLE_EQ(time.calls[0].seconds, 4);
  EXPECT_DOUBLE_EQ(time.calls[1].seconds, 5);
  EXPECT_DOUBLE_EQ(time.step, 10);
}

// Calls that run at once on a GPU are as much slower as they together use more
// than all of it.
TEST_F(ProgramTimeTest, lanesOfAGpuShareIt) {
  parse(oneDevice);
  machine = *findMachine("h200x1");
  auto stepOf = [&](double first, double second) {
    measured({{4, 0, 0, 1, first}, {4, 0, 0, 1, second}, {2, 0, 0, 1, 1}});
    return step();
  };
  EXPECT_DOUBLE_EQ(stepOf(0.5, 0.5), 6);
  EXPECT_DOUBLE_EQ(stepOf(0.25, 0.5), 6);
  EXPECT_DOUBLE_EQ(stepOf(1, 1), 10);
  EXPECT_DOUBLE_EQ(stepOf(1, 0.5), 8);
  // The first call ends at 3 (2 alone); then the second is alone.
  measured({{2, 0, 0, 1, 1}, {4, 0, 0, 1, 0.5}, {2, 0, 0, 1, 1}});
  EXPECT_DOUBLE_EQ(step(), 3 + 2 + 2);
}

TEST_F(ProgramTimeTest, lanesWaitForTheLaterOne) {
  measured({{2}, {1}, {4}});
  EXPECT_DOUBLE_EQ(step(), 6);
  measured({{2}, {3}, {4}});
  EXPECT_DOUBLE_EQ(step(), 7);
}

TEST_F(ProgramTimeTest, aLaneThatHadToWaitTakesTimeToNotice) {
  profile.add(2, Profile::waking, {0.25});
  measured({{2}, {1}, {4}});
  EXPECT_DOUBLE_EQ(step(), 6.25);
  measured({{2}, {3}, {4}});
  EXPECT_DOUBLE_EQ(step(), 7);
  profile.add(2, Profile::starting, {0.5});
  EXPECT_DOUBLE_EQ(step(), 7.5);
}

// The expected maximum of two independent normal variables of mean 2 and
// deviation s is 2 + s / sqrt(pi).
TEST_F(ProgramTimeTest, ofTwoTimesThatVaryTheLaterOneIsExpected) {
  measured({{2, 0.1}, {2, 0.1}, {4}});
  EXPECT_NEAR(step(), 6 + 0.1 / std::sqrt(M_PI), 1e-12);
  // Far apart, they do not matter.
  measured({{2, 0.1}, {3, 0.1}, {4}});
  EXPECT_NEAR(step(), 7, 1e-6);
}

TEST_F(ProgramTimeTest, transfersShareTheLinksThatTheyCross) {
  parse(twoReaders);
  machine.nodes = 2;
  machine.oneProcessor = false;
  machine.device.launch = 0;
  machine.device.bandwidth = 1e12;
  machine.link = {.bandwidth = 1e12, .latency = 0.5};
  machine.network = {.bandwidth = 4000, .latency = 0.25};
  // Each takes a second of the network, and of the way out of its source.
  EXPECT_NEAR(step(), 2.25, 1e-6);
  machine.network.bandwidth = 1e12;
  machine.link.bandwidth = 2000;
  EXPECT_NEAR(step(), 4.5, 1e-6);
  // What was measured was so beside other transfers.
  measured({{5}, {5}});
  EXPECT_DOUBLE_EQ(step(), 5);
}

TEST(BusyTimes, areFilledWhereverTheyAreIdle) {
  BusyTimes link;
  EXPECT_EQ(link.take(10, 5), 15);
  EXPECT_EQ(link.take(2, 3), 5) << "before what was asked for earlier";
  EXPECT_EQ(link.take(4, 7), 17) << "5 to 10 and 15 to 17";
  EXPECT_EQ(link.take(3, 2), 19);
  EXPECT_EQ(link.take(0, 1), 1);
  EXPECT_EQ(link.take(0, 3), 21) << "1 to 2 and 19 to 21";
}

TEST(BusyTimes, areSharedWithWhatIsMuchShorter) {
  BusyTimes link;
  EXPECT_EQ(link.take(0, 100), 100);
  EXPECT_EQ(link.take(10, 2), 14) << "half of the link, not behind the first";
  EXPECT_EQ(link.take(12, 2), 18) << "a third";
  EXPECT_EQ(link.take(20, 50), 154) << "in turn: both are long";
  // Of equals, as many as there are, the last is done when all are.
  BusyTimes broadcast;
  for (int i = 1; i <= 20; ++i)
    EXPECT_EQ(broadcast.take(0, 3), 3 * i);
}

} // namespace
