//===- ProgressTest.cpp - What a person sees ------------------------------===//

#include "runtime/train/Progress.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;
using testing::Not;

static std::string outputOf(bool terminal,
                            const std::function<void(Progress &)> &use) {
  TempFolder folder;
  std::FILE *file = std::fopen((folder / "out").c_str(), "w");
  {
    Progress progress(file, terminal, {2, 8, 10, 4});
    use(progress);
  }
  std::fclose(file);
  return readFile(folder / "out");
}

TEST(Progress, PlainLinesAtTheInterval) {
  std::string text = outputOf(false, [](Progress &progress) {
    for (int64_t step = 1; step <= 8; ++step)
      progress.step(step, step <= 4 ? 1 : 2, float(step), 5);
  });
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3); // 1, 4 and 8
  EXPECT_THAT(text, HasSubstr("epoch 1/2  step 1/8  loss 1.0000  top-1 50.00 "
                              "%"));
  EXPECT_THAT(text, HasSubstr("epoch 1/2  step 4/8  loss 3.0000")); // of 2..4
  EXPECT_THAT(text, HasSubstr("epoch 2/2  step 8/8  loss 6.5000"));
  EXPECT_THAT(text, HasSubstr(" left"));
}

TEST(Progress, ATerminalsLineGivesWayToOthers) {
  std::string text = outputOf(true, [](Progress &progress) {
    progress.step(1, 1, 2.0f, 5);
    progress.line("validation");
  });
  EXPECT_THAT(text, testing::StartsWith("\repoch 1/2  step 1/8"));
  EXPECT_THAT(text, testing::EndsWith(" \rvalidation\n"));
}

TEST(Progress, EpochsAreSummedUp) {
  outputOf(false, [](Progress &progress) {
    progress.step(1, 1, 2.0f, 5);
    progress.step(2, 1, 4.0f, 10);
    EXPECT_EQ(progress.epochSummary(), "loss 3.0000  top-1 75.00 %");
    progress.step(3, 2, 1.0f, 0);
    EXPECT_EQ(progress.epochSummary(), "loss 1.0000  top-1 0.00 %");
  });
}
