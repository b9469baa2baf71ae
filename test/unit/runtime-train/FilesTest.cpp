//===- FilesTest.cpp - Files appear whole or not at all -------------------===//

#include "runtime/train/Files.h"
#include "TestFiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace lwcc::rt;
using namespace lwcc::rt::train;
using testing::HasSubstr;

TEST(Files, AtomicWriteReplaces) {
  TempFolder folder;
  std::string path = folder / "out";
  writeFile(path, "old");
  writeAtomically(path, [&](FileWriter &file) {
    file.write("new");
    EXPECT_EQ(readFile(path), "old");
  });
  EXPECT_EQ(readFile(path), "new");
}

TEST(Files, AtomicWriteThatFailsLeavesNothing) {
  TempFolder folder;
  std::string path = folder / "out";
  writeFile(path, "old");
  EXPECT_EQ(errorOf([&] {
              writeAtomically(path, [](FileWriter &file) {
                file.write("half");
                throw Error("enough");
              });
            }),
            "enough");
  EXPECT_EQ(readFile(path), "old");
  EXPECT_EQ(
      std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(Files, FullDevice) {
  FileWriter file("/dev/full");
  EXPECT_EQ(errorOf([&] { file.write("x"); }),
            "/dev/full: cannot write: No space left on device");
}

TEST(Files, CheckWritable) {
  TempFolder folder;
  checkWritable(folder / "new");
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  writeFile(folder / "kept", "kept");
  checkWritable(folder / "kept");
  EXPECT_EQ(readFile(folder / "kept"), "kept");
  checkWritable("/dev/null");
  EXPECT_THAT(errorOf([&] { checkWritable(folder / "none/new"); }),
              HasSubstr("none/new: cannot write: No such file"));
  EXPECT_THAT(errorOf([&] { checkWritable(folder.path()); }),
              HasSubstr("is a directory"));
}

TEST(Files, EmptyFilesCanBeMapped) {
  TempFolder folder;
  writeFile(folder / "empty", "");
  EXPECT_EQ(MappedFile(folder / "empty").size(), 0);
}
