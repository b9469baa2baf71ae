//===- EventFileTest.cpp - Frames of event files --------------------------===//
//
// What TensorBoard would read is test/e2e/tensorboard.test's.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/report/EventFile.h"
#include "TestFiles.h"
#include "runtime/core/Error.h"

#include <gmock/gmock.h>

#include <filesystem>

using namespace lwcc::rt;
using namespace lwcc::rt::train;

TEST(EventFile, TheChecksumIsCrc32c) {
  // That of "123456789" is 0xe3069283 (RFC 3720); then rotated and shifted.
  const uint32_t plain = 0xe3069283;
  EXPECT_EQ(maskedChecksum("123456789"),
            (plain >> 15 | plain << 17) + 0xa282ead8u);
}

TEST(EventFile, NoFolderNoFile) {
  EventFile events("", 1);
  EXPECT_FALSE(events.isOpen());
  events.add(1, {{"loss", 1.0f}});
}

TEST(EventFile, EveryRunHasAFileOfItsOwn) {
  TempFolder folder;
  EventFile one(folder / "runs", 1), other(folder / "runs", 1);
  one.add(1, {{"loss", 1.0f}});
  int64_t files = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(folder / "runs")) {
    EXPECT_THAT(entry.path().filename().string(),
                testing::StartsWith("events.out.tfevents."));
    ++files;
  }
  EXPECT_EQ(files, 2);
}

TEST(EventFile, AFolderThatCannotBeIsAnError) {
  TempFolder folder;
  writeFile(folder / "file", "");
  EXPECT_THROW(EventFile(folder / "file", 1), Error);
}
