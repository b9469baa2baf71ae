//===- SystemMemoryTest.cpp - Memory within control groups ----------------===//

#include "runtime/core/SystemMemory.h"

#include "TestFiles.h"

#include "gtest/gtest.h"

using namespace lwcc::rt;

namespace {
struct SystemMemoryTest : testing::Test {
  void write(const std::string &path, const std::string &text) {
    writeFile(folder.path() + path, text);
  }
  SystemMemoryTest() {
    write("/proc/meminfo", "MemTotal:       4096 kB\nMemFree:  1 kB\n"
                           "MemAvailable:   3072 kB\nHugePages_Total:  0\n"
                           "Hugepagesize:  2048 kB\n");
  }
  void expectMemory(int64_t total, int64_t available) const {
    SystemMemory memory = systemMemory(folder.path());
    EXPECT_EQ(memory.total, total);
    EXPECT_EQ(memory.available, available);
  }
  TempFolder folder;
};
} // namespace

TEST_F(SystemMemoryTest, IsTheMachinesWithoutGroups) {
  expectMemory(4096 << 10, 3072 << 10);
}

TEST_F(SystemMemoryTest, IsAContainersWithinItsLimit) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/memory.max", "1000000\n");
  write("/sys/fs/cgroup/memory.stat", "anon 300000\nfile 600000\n");
  expectMemory(1000000, 700000);
}

TEST_F(SystemMemoryTest, IsTheLeastOfAllGroupsAbove) {
  write("/proc/self/cgroup", "0::/a/b/c\n");
  write("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
  write("/sys/fs/cgroup/a/b/memory.max", "900000\n");
  write("/sys/fs/cgroup/a/b/memory.stat", "anon 1000000\n");
  write("/sys/fs/cgroup/a/memory.max", "2000000\n");
  expectMemory(900000, 0);
}

TEST_F(SystemMemoryTest, KnowsGroupsOfTheFirstVersion) {
  write("/proc/self/cgroup", "9:cpu,cpuacct:/x\n7:memory:/docker/1\n0::/y\n");
  // Seen from within: the container's own group is the topmost one.
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "800000\n");
  write("/sys/fs/cgroup/memory/memory.stat", "cache 5\ntotal_rss 100000\n");
  expectMemory(800000, 700000);
}

TEST_F(SystemMemoryTest, PassesOverGroupsWithoutALimit) {
  write("/proc/self/cgroup", "broken\n4:memory:/\n0::/\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory.max", "max\n");
  expectMemory(4096 << 10, 3072 << 10);
}
