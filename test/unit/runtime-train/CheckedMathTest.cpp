//===- CheckedMathTest.cpp - Sizes that do not fit ------------------------===//

#include "runtime/core/CheckedMath.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

using namespace lwcc::rt;

static constexpr int64_t most = std::numeric_limits<int64_t>::max();

TEST(CheckedMath, ProductsThatFit) {
  EXPECT_EQ(checkedProduct(3, 4), 12);
  EXPECT_EQ(checkedProduct(most, 1), most);
  EXPECT_EQ(checkedProduct(4, std::vector<int64_t>{2, 3}), 24);
  EXPECT_EQ(checkedProduct(4, std::vector<int64_t>{}), 4);
  EXPECT_EQ(checkedProduct(4, std::vector<int64_t>{2, 0}), 0);
}

TEST(CheckedMath, ProductsThatDoNot) {
  EXPECT_FALSE(checkedProduct(most, 2));
  EXPECT_FALSE(checkedProduct(-1, 2));
  EXPECT_FALSE(checkedProduct(-1, -1));
  // Modulo 2^64 these are 0 and 4.
  EXPECT_FALSE(
      checkedProduct(1, std::vector<int64_t>{int64_t(1) << 40, 1 << 24}));
  EXPECT_FALSE(checkedProduct(4, std::vector<int64_t>{(int64_t(1) << 62) + 1}));
}

TEST(CheckedMath, AZeroHidesNothing) {
  int64_t big = int64_t(1) << 40;
  for (const std::vector<int64_t> &dims : std::vector<std::vector<int64_t>>{
           {0, big, big}, {big, 0, big}, {big, big, 0}})
    EXPECT_FALSE(checkedProduct(1, dims));
  EXPECT_FALSE(checkedProduct(0, std::vector<int64_t>{-1}));
}

TEST(CheckedMath, Sums) {
  EXPECT_EQ(checkedSum(3, 4), 7);
  EXPECT_FALSE(checkedSum(most, 1));
  EXPECT_FALSE(checkedSum(-1, 1));
}
