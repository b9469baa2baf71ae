//===- BoxTest.cpp - Regions of tensors against brute force -----*- C++ -*-===//
//
// What a box of a windowed operator's output needs, found by listing the taps;
// and that parts, cuts and rests of boxes cover what they should exactly once.
//
//===----------------------------------------------------------------------===//
#include "ir/place/Box.h"

#include "gtest/gtest.h"

#include <set>

using namespace lwcc::tiling;

namespace {

TEST(Box, partsCoverTheExtentInOrder) {
  for (int64_t extent = 1; extent < 20; ++extent)
    for (int64_t parts = 1; parts <= extent; ++parts) {
      int64_t next = 0;
      for (int64_t i = 0; i < parts; ++i) {
        Interval part = partOf(extent, parts, i);
        EXPECT_EQ(part.begin, next);
        EXPECT_LE(part.size(), (extent + parts - 1) / parts);
        EXPECT_GE(part.size(), extent / parts);
        next = part.end;
      }
      EXPECT_EQ(next, extent);
    }
}

TEST(Box, largeExtentsAreCutInProportion) {
  // Of a layer of 2^44 elements, an op of as many: the product has 88 bits.
  const int64_t quarter = int64_t(1) << 42;
  const std::vector<int64_t> sizes = {quarter, 3 * quarter};
  EXPECT_EQ(partOf(4 * quarter, sizes, 0), (Interval{0, quarter}));
  EXPECT_EQ(partOf(4 * quarter, sizes, 1), (Interval{quarter, 4 * quarter}));
}

TEST(Box, overlapMeansThatTheIntersectionIsNotEmpty) {
  EXPECT_TRUE(overlap(Box(), Box())); // scalars have one element
  for (int64_t begin = 0; begin < 6; ++begin)
    for (int64_t end = 0; end < 6; ++end)
      for (Interval second : {Interval{0, 2}, Interval{2, 4}, Interval{3, 3}}) {
        Box a = {{2, 4}, {1, 3}}, b = {{begin, end}, second};
        EXPECT_EQ(overlap(a, b), !empty(intersect(a, b)));
      }
}

TEST(Box, whatIsSubtractedAndTheRestAreTheWhole) {
  Box from = {{0, 5}, {2, 6}};
  for (int64_t a = -1; a < 6; ++a)
    for (int64_t b = a; b < 7; ++b)
      for (int64_t c = 1; c < 7; ++c)
        for (int64_t d = c; d < 8; ++d) {
          Box hole = {{a, b}, {c, d}};
          std::vector<Box> rest = subtract(from, hole);
          EXPECT_TRUE(contains(hullOf(from, hole), from));
          EXPECT_TRUE(contains(hullOf(from, hole), hole));
          for (int64_t i = 0; i < 5; ++i)
            for (int64_t j = 2; j < 6; ++j) {
              Box point = {{i, i + 1}, {j, j + 1}};
              int covered = contains(hole, point);
              for (const Box &box : rest)
                covered += contains(box, point);
              ASSERT_EQ(covered, 1);
            }
        }
}

/// The inputs that outputs of `out` look at, one by one.
std::set<int64_t> inputsOf(const Window &w, Interval out) {
  std::set<int64_t> inputs;
  for (int64_t o = out.begin; o < out.end; ++o)
    for (int64_t tap = 0; tap < w.kernel; ++tap)
      if (int64_t i = o * w.stride - w.padLow + tap * w.dilation;
          i >= 0 && i < w.extent)
        inputs.insert(i);
  return inputs;
}

TEST(Box, aWindowsInputIsTheHullOfItsTaps) {
  for (int64_t extent : {1, 4, 7})
    for (int64_t kernel : {1, 2, 3, 5})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t pad = 0; pad < kernel; ++pad) {
            Window w{extent, kernel, stride, dilation, pad, pad};
            int64_t room = extent + 2 * pad - dilation * (kernel - 1) - 1;
            int64_t outputs = room < 0 ? 0 : room / stride + 1;
            for (int64_t b = 0; b < outputs; ++b)
              for (int64_t e = b + 1; e <= outputs; ++e) {
                WindowPart part = inputOf(w, {b, e});
                std::set<int64_t> inputs = inputsOf(w, {b, e});
                ASSERT_FALSE(part.in.empty());
                if (!inputs.empty()) {
                  EXPECT_LE(part.in.begin, *inputs.begin());
                  EXPECT_GT(part.in.end, *inputs.rbegin());
                }
                // The operator on the part alone, with the part's padding,
                // looks at the same inputs.
                Window own{part.in.size(), kernel,      stride,
                           dilation,       part.padLow, part.padHigh};
                std::set<int64_t> shifted;
                for (int64_t i : inputsOf(own, {0, e - b}))
                  shifted.insert(i + part.in.begin);
                EXPECT_EQ(shifted, inputs);
                int64_t span =
                    (e - b - 1) * stride + dilation * (kernel - 1) + 1;
                EXPECT_EQ(part.in.size() + part.padLow + part.padHigh, span);
              }
          }
}

} // namespace
