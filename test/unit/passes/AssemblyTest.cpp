//===- AssemblyTest.cpp - The calls that deliver a tensor -----------------===//
//
// Each kind of exchange by itself. That all of them together are what programs
// do is shown by test/passes/plan/judge.test.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/price/GridAssembly.h"
#include "test/unit/passes/Grids.h"

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

/// The regions of a grid, on devices in turn from `first` on.
std::vector<PlacedRegion> inTurn(const LayerTiles::Regions &regions,
                                 int64_t first) {
  std::vector<PlacedRegion> placed;
  for (const std::optional<Box> &region : regions)
    placed.push_back({*region, first++ % 64});
  return placed;
}

/// Calls and flows as text, in no order.
std::vector<std::string> textOf(const Assembly &assembly) {
  std::vector<std::string> rows;
  for (const Assembly::Call &call : assembly.calls) {
    std::vector<std::string> remote;
    for (const Flow &flow : call.remote)
      remote.push_back(std::to_string(flow.from) + ":" +
                       std::to_string(flow.bytes));
    std::sort(remote.begin(), remote.end());
    std::string text = "call on " + std::to_string(call.device) + " " +
                       std::to_string(call.work.bytes) + " " +
                       std::to_string(call.made) + (call.sends ? " sends" : "");
    for (const std::string &from : remote)
      text += " " + from;
    rows.push_back(text);
  }
  for (const Flow &flow : assembly.sent)
    rows.push_back("send " + std::to_string(flow.from) + " " +
                   std::to_string(flow.to) + " " + std::to_string(flow.bytes));
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(Assembly, ofGridsInClosedFormIsTheSame) {
  std::mt19937 random(7);
  auto from1To = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  int compared = 0;
  for (int round = 0; round < 3000; ++round) {
    tiling::Shape shape;
    // Large and small rows, so that parts are stored aligned or not.
    for (int64_t rank = from1To(4); rank > 0; --rank)
      shape.push_back(from1To(3) == 1 ? 64 * from1To(3) : from1To(9));
    auto cut = [&] {
      std::vector<int64_t> degrees;
      for (int64_t extent : shape)
        degrees.push_back(from1To(std::min<int64_t>(extent, 3)));
      std::vector<int64_t> whole(shape.size(), 1);
      if (from1To(5) == 1)
        degrees = whole;
      const int64_t copies = from1To(4) == 1 ? from1To(3) : 1;
      const int64_t first = from1To(8), halo = from1To(3) == 1 ? 1 : 0;
      return inTurn(grid(shape, degrees, halo, copies), first);
    };
    const std::vector<PlacedRegion> made = cut(), read = cut();
    if (made.size() > 64 || read.size() > 64)
      continue;
    AxisOverlaps overlaps;
    auto setOf = [&](const std::vector<PlacedRegion> &regions) {
      LayerTiles::Regions boxes;
      std::vector<int64_t> devices;
      for (const PlacedRegion &each : regions) {
        boxes.push_back(each.region);
        devices.push_back(each.device);
      }
      return RegionSet(boxes, devices, overlaps);
    };
    auto devicesOf = [](const std::vector<PlacedRegion> &regions) {
      std::vector<int> devices;
      for (const PlacedRegion &each : regions)
        devices.push_back(static_cast<int>(each.device));
      return devices;
    };
    std::optional<GridAssembly> closed =
        GridAssembly::of(setOf(made), setOf(read), 4, overlaps);
    if (!closed)
      continue;
    ++compared;
    ASSERT_EQ(textOf(closed->on(devicesOf(made), devicesOf(read))),
              textOf(assemble(made, read, 4, false)))
        << "round " << round;
  }
  EXPECT_GT(compared, 1000);
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
      std::vector<int64_t> degrees;
      for (int64_t extent : shape)
        degrees.push_back(from1To(std::min<int64_t>(extent, 2)));
      return inTurn(grid(shape, degrees, halo, 1), from1To(4));
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
