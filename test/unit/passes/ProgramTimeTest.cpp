//===- ProgramTimeTest.cpp - How long a program's step takes --------------===//

#include "passes/plan/ProgramTime.h"
#include "passes/plan/Call.h"
#include "passes/plan/Machine.h"

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
  exec.lane @l on @d
  exec.lane @m on @e
  exec.event @done
  exec.buffer activation @a : tensor<256xf32> on @d at -1
  exec.buffer activation @b : tensor<512xf32> on @e at -1
  exec.buffer activation @c : tensor<64xf32> on @e at -1
  exec.sequence @train_step {
    exec.call "fill" [] -> [@a] on @l for "one" "forward"
    exec.record @done on @l
    exec.call "fill" [] -> [@b] on @m for "two" "forward"
    exec.wait @done on @m
    exec.call "fill" [] -> [@c] on @m for "three" "forward"
  }
})";

class ProgramTimeTest : public ::testing::Test {
protected:
  void SetUp() override {
    context.loadDialect<exec::ExecDialect>();
    module = parseSourceString<ModuleOp>(twoLanes, &context);
    ASSERT_TRUE(module);
    program = *module->getOps<exec::ProgramOp>().begin();
    machine = *findMachine("cpu");
    machine.gpus = 2;
  }

  /// What the calls take, in order.
  void measured(ArrayRef<Profile::Entry> entries) {
    SymbolTable symbols(program);
    auto step = symbols.lookup<exec::SequenceOp>("train_step");
    for (auto [call, entry] :
         llvm::zip_equal(step.getBody().getOps<exec::CallOp>(), entries))
      profile.add(2, describe(call, symbols).key, entry);
  }

  double step() {
    return timeOf(program, "train_step", machine,
                  CostModel(machine, "fp32", &profile))
        .step;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  exec::ProgramOp program;
  Machine machine;
  Profile profile;
};

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

} // namespace
