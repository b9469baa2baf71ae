//===- HostImageTest.cpp - Pages of another rank's device -----------------===//
//
// Any order of regions, whether they touch or overlap, must leave each of them
// in one registration: a copy must not cross from one to another.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/HostImage.h"
#include "World.h"

#include <gtest/gtest.h>

#include <random>

using namespace lwcc;
using lwcc::rt::cuda::HostImage;

namespace {

TEST(HostImage, EveryRegionLiesInOneRegistration) {
  constexpr int64_t page = 4096, pages = 24;
  for (unsigned seed = 0; seed < 200; ++seed) {
    emulation::World world(seed, 1);
    std::mt19937 random(seed);
    HostImage image(pages * page - 100);
    std::vector<std::pair<char *, int64_t>> regions;
    while (regions.size() < 8) {
      const int64_t begin = random() % (image.bytes() - 1);
      const int64_t most = std::min<int64_t>(image.bytes() - begin, 3 * page);
      const int64_t bytes = 1 + random() % most;
      char *at = image.data() + begin;
      image.pin(at, at + bytes);
      regions.emplace_back(at, bytes);
      for (auto [region, size] : regions)
        ASSERT_TRUE(world.memory.isPinned(region, size)) << seed;
    }
  }
}

TEST(HostImage, TakesNoMemoryForWhatNobodyReads) {
  emulation::World world(1, 1);
  HostImage image(int64_t(1) << 40); // more than any machine has
  image.pin(image.data() + 12345, image.data() + 20000);
  EXPECT_FALSE(world.memory.isPinned(image.data(), 4096));
  EXPECT_TRUE(world.memory.isPinned(image.data() + 12345, 7655));
}

} // namespace
