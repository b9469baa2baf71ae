//===- WindowTest.cpp - The window calculus, by enumeration -----*- C++ -*-===//
//
// Both backends rest on these functions; here they are compared with a plain
// enumeration of taps for every small window.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/Window.h"

#include <gtest/gtest.h>
#include <set>

using namespace lwcc::rt;

static void check(const WindowAxis &a) {
  for (int o = 0; o < a.out; ++o) {
    std::set<int> inside;
    int padded = 0;
    for (int tap = 0; tap < a.kernel; ++tap) {
      int i = o * a.stride - a.padLow + tap * a.dilation;
      padded += i < a.in + a.padHigh;
      if (i >= 0 && i < a.in) {
        inside.insert(tap);
        ASSERT_LE(outBegin(a, i), o);
        ASSERT_GT(outEnd(a, i), o);
        ASSERT_EQ(tapOf(a, o, i), tap);
      }
    }
    std::set<int> calculated;
    for (int tap = tapBegin(a, o); tap < tapEnd(a, o); ++tap)
      calculated.insert(tap);
    ASSERT_EQ(calculated, inside);
    ASSERT_EQ(tapsInPadded(a, o), padded);
  }
  // No output outside [outBegin, outEnd) sees the input, and between them a
  // tap is named only where there is one.
  for (int i = 0; i < a.in; ++i)
    for (int o = outBegin(a, i); o < outEnd(a, i); ++o) {
      int tap = tapOf(a, o, i);
      ASSERT_LT(tap, a.kernel);
      if (tap >= 0) {
        ASSERT_EQ(windowStart(a, o) + tap * a.dilation, i);
      }
    }
}

TEST(WindowTest, AllSmallWindows) {
  for (int in = 1; in <= 7; ++in)
    for (int kernel = 1; kernel <= 4; ++kernel)
      for (int stride = 1; stride <= 4; ++stride)
        for (int dilation = 1; dilation <= 3; ++dilation)
          for (int low = 0; low <= 3; ++low)
            for (int high = 0; high <= 3; ++high)
              // One output more than fits: an overhang.
              for (int out = 1; out <= (in + low + high) / stride + 1; ++out)
                check({in, out, kernel, stride, dilation, low, high});
}
