//===- ContextTest.cpp - What the compiler's tools begin with -------------===//

#include "ir/Parallel.h"
#include "test/unit/NoThreads.h"
#include "tools/driver/Driver.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace lwcc;

namespace {

/// Runs tasks where no thread starts; 0 if all of them ran.
[[noreturn]] void runWithoutThreads() {
  forbidThreads();
  std::atomic<int> ran = 0;
  inParallel(100, [&](size_t i) { ran += static_cast<int>(i); });
  _exit(ran == 4950 && makeContext() ? 0 : 1);
}

TEST(ContextDeathTest, DoesWithoutThreadsWhereThereMayBeNone) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(runWithoutThreads(), testing::ExitedWithCode(0), "");
}

TEST(ParallelTest, RunsEachTaskOnce) {
  for (size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> runs(count);
    inParallel(count, [&](size_t i) { ++runs[i]; });
    for (std::atomic<int> &each : runs)
      EXPECT_EQ(each, 1);
  }
}

} // namespace
