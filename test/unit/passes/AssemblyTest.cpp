//===- AssemblyTest.cpp - The calls that deliver a tensor -----------------===//
//
// Each kind of exchange by itself. That all of them together are what programs
// do is shown by test/passes/plan/judge.test.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/Assembly.h"

#include "gtest/gtest.h"

#include <random>

using namespace lwcc;
using namespace lwcc::plan;
using tiling::Box;

namespace {

constexpr int64_t images = 2, channels = 128, side = 8;

/// Images, cut to these intervals of n, c and h.
Box region(tiling::Interval n, tiling::Interval c, tiling::Interval h) {
  return {n, c, h, {0, side}};
}
constexpr tiling::Interval all = {0, images}, every = {0, channels},
                           high = {0, side};

Assembly assembled(const std::vector<PlacedRegion> &made,
                   const std::vector<PlacedRegion> &read) {
  return assemble(made, read, 4, /*withKeys=*/true);
}
double bytesOf(const Box &box) { return 4 * volume(box); }

TEST(Assembly, aHaloIsReadWhereItLiesByTheConcatThatJoinsIt) {
  Assembly result = assembled(
      {{region(all, every, {0, 4}), 0}, {region(all, every, {4, side}), 1}},
      {{region(all, every, {0, 5}), 0}, {region(all, every, {3, side}), 1}});
  EXPECT_TRUE(result.sent.empty());
  ASSERT_EQ(result.calls.size(), 2u);
  for (const Assembly::Call &call : result.calls) {
    EXPECT_EQ(call.work.bytes, 2 * bytesOf(region(all, every, {0, 5})));
    ASSERT_EQ(call.remote.size(), 1u);
    EXPECT_EQ(call.remote[0].from, 1 - call.device);
    EXPECT_EQ(call.remote[0].bytes, bytesOf(region(all, every, {0, 1})));
  }
  EXPECT_EQ(result.calls[0].work.key,
            "concat axis=2 2x128x5x8 < 2x128x4x8 2x128x1x8@");
}

TEST(Assembly, samplesAreSentIntoTheirPlace) {
  Assembly result = assembled(
      {{region({0, 1}, every, high), 0}, {region({1, 2}, every, high), 1}},
      {{region(all, every, high), 0}});
  EXPECT_TRUE(result.calls.empty());
  ASSERT_EQ(result.sent.size(), 1u);
  EXPECT_EQ(result.sent[0].bytes, bytesOf(region({1, 2}, every, high)));
}

TEST(Assembly, channelsOfAnotherDeviceAreCutThereAndSent) {
  Assembly result = assembled({{region(all, every, high), 0}},
                              {{region(all, {0, 64}, high), 1}});
  ASSERT_EQ(result.calls.size(), 1u);
  EXPECT_EQ(result.calls[0].device, 0);
  EXPECT_TRUE(result.calls[0].sends);
  // It reads no more than it makes.
  EXPECT_EQ(result.calls[0].work.bytes,
            2 * bytesOf(region(all, {0, 64}, high)));
  ASSERT_EQ(result.sent.size(), 1u);
  EXPECT_EQ(result.sent[0].to, 1);
}

TEST(Assembly, partialSumsAreAddedByAllThatReadThem) {
  Assembly result =
      assembled({{region(all, every, high), 0}, {region(all, every, high), 1}},
                {{region(all, {0, 64}, high), 0},
                 {region(all, {64, channels}, high), 1}});
  EXPECT_TRUE(result.sent.empty());
  ASSERT_EQ(result.calls.size(), 2u);
  for (const Assembly::Call &call : result.calls) {
    EXPECT_EQ(call.work.bytes, 3 * bytesOf(region(all, {0, 64}, high)));
    ASSERT_EQ(call.remote.size(), 1u);
    EXPECT_EQ(call.remote[0].bytes, bytesOf(region(all, {0, 64}, high)));
  }
}

TEST(Assembly, whatOverlapsInPartIsPaddedAndAdded) {
  Assembly result = assembled(
      {{region(all, every, {0, 5}), 0}, {region(all, every, {4, 8}), 0}},
      {{region(all, every, high), 0}});
  ASSERT_EQ(result.calls.size(), 3u);
  EXPECT_EQ(result.calls[0].work.key.substr(0, 3), "pad");
  EXPECT_EQ(result.calls[2].work.key, "sum 2x128x8x8 < 2x128x8x8 2x128x8x8");
}

TEST(Assembly, whatIsThereTakesNothingAndEveryoneIsServedOnce) {
  PlacedRegion whole = {region(all, every, high), 0};
  Assembly result = assembled({whole}, {whole, whole});
  EXPECT_TRUE(result.calls.empty() && result.sent.empty());
  PlacedRegion elsewhere = {whole.region, 1};
  result = assembled({whole}, {elsewhere, elsewhere});
  EXPECT_EQ(result.sent.size(), 1u);
}

/// Whatever the cuts, a device gets each element that it lacks just once.
TEST(Assembly, devicesGetJustWhatTheyLack) {
  std::mt19937 random(3);
  auto from1To = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const tiling::Shape shape = {from1To(4), from1To(9), from1To(9),
                                 from1To(9)};
    auto cut = [&](int64_t halo) {
      std::vector<PlacedRegion> parts;
      std::vector<int64_t> degrees;
      int64_t tiles = 1;
      for (int64_t extent : shape)
        tiles *= degrees.emplace_back(from1To(std::min<int64_t>(extent, 2)));
      const int64_t first = from1To(4);
      for (int64_t t = 0, rest; t < tiles; ++t) {
        Box box;
        rest = t;
        for (size_t d = 0; d < shape.size(); ++d) {
          tiling::Interval part =
              tiling::partOf(shape[d], degrees[d], rest % degrees[d]);
          rest /= degrees[d];
          box.push_back(tiling::intersect(
              {0, shape[d]}, {part.begin - halo, part.end + halo}));
        }
        parts.push_back({box, (first + t) % 16});
      }
      return parts;
    };
    const std::vector<PlacedRegion> made = cut(0), read = cut(from1To(2) - 1);
    double lacked = 0, got = 0;
    for (const PlacedRegion &reader : read)
      for (const PlacedRegion &maker : made)
        if (reader.device != maker.device)
          lacked += bytesOf(intersect(reader.region, maker.region));
    const Assembly assembly = assembled(made, read);
    for (const Flow &flow : assembly.sent)
      got += flow.bytes;
    for (const Assembly::Call &call : assembly.calls)
      for (const Flow &flow : call.remote)
        got += flow.bytes;
    EXPECT_EQ(got, lacked) << "round " << round;
  }
}

} // namespace
