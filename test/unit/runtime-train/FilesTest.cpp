//===- FilesTest.cpp - Files appear whole or not at all -------------------===//

#include "runtime/train/files/Files.h"
#include "TestFiles.h"
#include "runtime/train/files/OutputFiles.h"
#include "runtime/train/files/Temporaries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

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

static int entriesOf(const std::string &folder) {
  return std::distance(std::filesystem::directory_iterator(folder), {});
}

static void writeNew(const std::string &path) {
  checkWritable(path);
  writeAtomically(path, [](FileWriter &file) { file.write("new"); });
}

/// A process that is no more.
static pid_t deadProcess() {
  pid_t child = fork();
  if (child == 0)
    _exit(0);
  waitpid(child, nullptr, 0);
  return child;
}

TEST(Files, WhatAKilledProcessLeftGoesWithTheNextWrite) {
  for (bool asked : {true, false}) { // by checkWritable, too
    TempFolder folder;
    const std::string dead = std::to_string(deadProcess());
    const std::string stale = "out.lwcc-tmp-" + dead;
    const std::vector<std::string> others = {
        "out.lwcc-tmp-1",        // a process that lives
        "out.lwcc-tmp-0" + dead, // no name of ours
        "out.lwcc-tmp-" + dead + "x",
        "out.lwcc-tmp-",
        "out.tmp-" + dead,
        "other.lwcc-tmp-" + dead, // of another output
    };
    writeFile(folder / stale, "half");
    for (const std::string &name : others)
      writeFile(folder / name, "mine");
    if (asked)
      checkWritable(folder / "out");
    else
      writeAtomically(folder / "out",
                      [](FileWriter &file) { file.write("x"); });
    EXPECT_FALSE(std::filesystem::exists(folder / stale));
    for (const std::string &name : others)
      EXPECT_EQ(readFile(folder / name), "mine") << name;
  }
}

TEST(Files, WhatSomebodyWritesElsewhereStays) {
  TempFolder folder;
  // In a container processes have numbers of their own.
  std::string name = "out.lwcc-tmp-" + std::to_string(deadProcess());
  writeFile(folder / name, "half");
  int file = open((folder / name).c_str(), O_WRONLY);
  ASSERT_EQ(flock(file, LOCK_EX | LOCK_NB), 0);
  checkWritable(folder / "out");
  EXPECT_EQ(readFile(folder / name), "half");
  close(file);
  checkWritable(folder / "out");
  EXPECT_EQ(entriesOf(folder.path()), 0);
  // Neither a link nor a folder is a file of ours.
  std::filesystem::create_directory(folder / name);
  checkWritable(folder / "out");
  EXPECT_TRUE(std::filesystem::is_directory(folder / name));
}

TEST(Files, NobodysLinkIsFollowed) {
  TempFolder folder;
  writeFile(folder / "victim", "mine");
  std::string name = "out.lwcc-tmp-" + std::to_string(getpid());
  std::filesystem::create_symlink("victim", folder / name);
  writeNew(folder / "out");
  EXPECT_EQ(readFile(folder / "victim"), "mine");
  EXPECT_EQ(readFile(folder / "out"), "new");
  EXPECT_EQ(entriesOf(folder.path()), 2);
}

TEST(Files, ALongNameIsShortenedForAWhile) {
  TempFolder folder;
  std::string path = folder / std::string(255, 'x');
  writeNew(path);
  EXPECT_EQ(readFile(path), "new");
  EXPECT_EQ(entriesOf(folder.path()), 1);
}

TEST(Files, AProgramMayBeRun) {
  TempFolder folder;
  auto modeOf = [&](const std::string &name, bool program, bool exists) {
    if (exists) {
      writeFile(folder / name, "old");
      chmod((folder / name).c_str(), 0640);
    }
    writeAtomically(folder / name, [](FileWriter &file) { file.write("x"); },
                    {.program = program});
    struct stat info;
    stat((folder / name).c_str(), &info);
    return info.st_mode & 0777;
  };
  mode_t mask = umask(022);
  EXPECT_EQ(modeOf("data", false, false), 0644u);
  EXPECT_EQ(modeOf("program", true, false), 0755u);
  EXPECT_EQ(modeOf("oldData", false, true), 0640u);
  EXPECT_EQ(modeOf("oldProgram", true, true), 0750u);
  umask(mask);
}

TEST(Files, AFileInAFolderThatMayNotBeWrittenToIsWrittenThrough) {
  if (geteuid() == 0)
    GTEST_SKIP() << "root may write everywhere";
  TempFolder folder;
  writeFile(folder / "in/out", "old");
  chmod((folder / "in").c_str(), 0555);
  writeNew(folder / "in/out");
  EXPECT_EQ(readFile(folder / "in/out"), "new");
  EXPECT_THAT(errorOf([&] { writeNew(folder / "in/more"); }),
              HasSubstr("more: cannot write: Permission denied"));
  chmod((folder / "in").c_str(), 0755);
}

TEST(Files, ALinkStaysAndItsTargetIsReplaced) {
  TempFolder folder;
  writeFile(folder / "real/target", "old");
  std::filesystem::create_symlink("real/target", folder / "near");
  std::filesystem::create_symlink("near", folder / "far");
  writeNew(folder / "far");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "far"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "near"));
  EXPECT_EQ(readFile(folder / "real/target"), "new");
  EXPECT_EQ(entriesOf(folder / "real"), 1);

  std::filesystem::create_symlink("real/missing", folder / "dangling");
  writeNew(folder / "dangling");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "dangling"));
  EXPECT_EQ(readFile(folder / "real/missing"), "new");

  std::filesystem::create_symlink("loop", folder / "loop");
  EXPECT_THAT(errorOf([&] { writeNew(folder / "loop"); }),
              HasSubstr("loop: cannot write: Too many levels"));
  std::filesystem::create_symlink("no/such/folder", folder / "nowhere");
  EXPECT_THAT(errorOf([&] { writeNew(folder / "nowhere"); }),
              HasSubstr("nowhere: cannot write: No such file"));
}

TEST(Files, APipeIsWrittenThrough) {
  TempFolder folder;
  std::string path = folder / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK);
  writeNew(path);
  char bytes[8] = {};
  EXPECT_EQ(::read(reader, bytes, sizeof bytes), 3);
  EXPECT_STREQ(bytes, "new");
  ::close(reader);
  EXPECT_TRUE(std::filesystem::is_fifo(path));
  EXPECT_EQ(entriesOf(folder.path()), 1);
}

TEST(Files, ADeviceIsWrittenThrough) {
  TempFolder folder;
  std::string path = folder / "null";
  if (::mknod(path.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) != 0)
    GTEST_SKIP() << "only root makes device nodes";
  if (int file = ::open(path.c_str(), O_WRONLY); file < 0)
    GTEST_SKIP() << "this file system has no devices";
  else
    ::close(file);
  writeNew(path);
  EXPECT_TRUE(std::filesystem::is_character_file(path));
  EXPECT_EQ(entriesOf(folder.path()), 1);
}

TEST(Files, ThePermissionsOfAReplacedFileStay) {
  TempFolder folder;
  writeFile(folder / "secret", "old");
  ::chmod((folder / "secret").c_str(), 0600);
  writeNew(folder / "secret");
  EXPECT_EQ(std::filesystem::status(folder / "secret").permissions(),
            std::filesystem::perms(0600));
}

TEST(Files, APipeIsNoInput) {
  TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(errorOf([&] { MappedFile file(folder / "pipe"); }),
              HasSubstr("pipe: not a regular file"));
}

TEST(FilesDeathTest, AFileCutShortUnderItsMapping) {
  TempFolder folder;
  std::string path = folder / "data", left = folder / "left";
  writeFile(path, std::string(1 << 20, 'x'));
  writeFile(left, "half");
  EXPECT_EXIT(
      {
        Temporary temporary(left);
        MappedFile file(path);
        std::filesystem::resize_file(path, 10);
        volatile char last = file.data()[file.size() - 1];
        (void)last;
      },
      testing::ExitedWithCode(1), "data: was cut short");
  EXPECT_FALSE(std::filesystem::exists(left));
}

TEST(FilesDeathTest, TemporariesGoInTheOrderThatEmptiesFolders) {
  TempFolder folder;
  auto endAsBySignal = [&] {
    Temporary outer(folder / "outer");
    Temporary inner(folder / "outer/inner"), kept(folder / "kept");
    writeFile(folder / "outer/inner", "half");
    writeFile(folder / "kept", "whole");
    kept.keep();
    removeTemporaries();
    ::_exit(0);
  };
  EXPECT_EXIT(endAsBySignal(), testing::ExitedWithCode(0), "");
  EXPECT_FALSE(std::filesystem::exists(folder / "outer"));
  EXPECT_TRUE(std::filesystem::exists(folder / "kept"));
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
