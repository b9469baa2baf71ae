//===- ThreadsTest.cpp - Threads that have a core for themselves -*- C++
//-*-===//

#include "runtime/cpu/Threads.h"

#include <atomic>
#include <gtest/gtest.h>

using namespace lwcc::rt;

namespace {

/// Four busy threads a core leave none to anybody, however the system shares.
TEST(ThreadsTest, BusyCoresAreLeftAlone) {
  std::atomic<bool> stop = false;
  std::vector<std::thread> busy;
  int cores = static_cast<int>(std::thread::hardware_concurrency());
  for (int i = 0; i < 4 * cores; ++i)
    busy.emplace_back([&] {
      while (!stop)
        ;
    });
  EXPECT_EQ(threadsWithCore(cores), 1);
  stop = true;
  for (std::thread &thread : busy)
    thread.join();
}

TEST(ThreadsTest, NeverMoreThanAskedFor) {
  for (int most : {1, 2, 3}) {
    int count = threadsWithCore(most);
    EXPECT_GE(count, 1);
    EXPECT_LE(count, most);
  }
}

} // namespace
