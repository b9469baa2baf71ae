//===- ProgressTest.cpp - What a person sees ------------------------------===//

#include "runtime/train/report/Progress.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

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
      progress.step(step, step <= 4 ? 1 : 2, float(step), 5, 10);
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
    progress.step(1, 1, 2.0f, 5, 10);
    progress.line("validation");
  });
  EXPECT_THAT(text, testing::StartsWith("\repoch 1/2  step 1/8"));
  EXPECT_THAT(text, testing::EndsWith(" \rvalidation\n"));
}

/// A machine without /dev/pts has no terminals to test with.
static bool hasTerminals() {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  bool has = master >= 0 && ::grantpt(master) == 0 && ::unlockpt(master) == 0 &&
             ::ptsname(master) && ::access(::ptsname(master), W_OK) == 0;
  if (master >= 0)
    ::close(master);
  return has;
}

/// What a terminal of so many columns gets.
static std::string shownAt(unsigned short columns,
                           const std::function<void(Progress &)> &use) {
  int master = ::posix_openpt(O_RDWR | O_NOCTTY);
  EXPECT_GE(master, 0);
  ::grantpt(master);
  ::unlockpt(master);
  struct winsize size = {24, columns, 0, 0};
  ::ioctl(master, TIOCSWINSZ, &size);
  std::FILE *terminal = std::fopen(::ptsname(master), "w");
  {
    Progress progress(terminal, true, {200, 99999, 64, 50});
    use(progress);
  }
  std::fclose(terminal);
  // What the system has taken comes in pieces, and then EIO.
  std::string text;
  char piece[256];
  for (ssize_t got; (got = ::read(master, piece, sizeof piece)) > 0;)
    text.append(piece, got);
  ::close(master);
  return text;
}

TEST(Progress, OneLineOnATerminalOfAnyWidth) {
  if (!hasTerminals())
    GTEST_SKIP() << "no /dev/pts here";
  auto use = [](Progress &progress) {
    progress.step(10123, 20, 1.25f, 32, 64);
    progress.step(99999, 200, 1.25f, 32, 64);
  };
  for (unsigned short columns : {1, 10, 20, 40, 60, 79, 80, 200}) {
    std::string text = shownAt(columns, use);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << columns;
    size_t width = 0;
    for (char c : text) {
      width = c == '\r' ? 0 : width + 1;
      EXPECT_LT(width, std::max<size_t>(columns, 3)) << columns << ": " << text;
    }
  }
  EXPECT_THAT(shownAt(40, use), HasSubstr("step 10123/99999  loss 1.2500"));
  EXPECT_THAT(shownAt(100, use),
              HasSubstr("epoch 20/200  step 10123/99999  loss 1.2500  top-1 "
                        "50.00 %"));
}

TEST(Progress, ALineThatCannotBeWrittenIsRemembered) {
  std::FILE *full = std::fopen("/dev/full", "w");
  Progress progress(full, false, {2, 8, 10, 4});
  EXPECT_EQ(progress.failure(), 0);
  progress.line("lost");
  EXPECT_EQ(progress.failure(), ENOSPC);
  std::fclose(full);
}

TEST(Progress, EpochsAreSummedUp) {
  outputOf(false, [](Progress &progress) {
    progress.step(1, 1, 2.0f, 5, 10);
    progress.step(2, 1, 4.0f, 10, 10);
    std::optional<EpochMeans> means = progress.endEpoch();
    ASSERT_TRUE(means);
    EXPECT_EQ(means->loss, 3);
    EXPECT_EQ(means->first, 0.75);
    progress.step(3, 2, 1.0f, 0, 10);
    means = progress.endEpoch();
    ASSERT_TRUE(means);
    EXPECT_EQ(means->loss, 1);
    EXPECT_EQ(means->first, 0);
    EXPECT_FALSE(progress.endEpoch());
  });
}
