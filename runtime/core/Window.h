//===- Window.h - Which taps of a window lie where --------------*- C++ -*-===//
//
// The index calculus of pooling along one axis: output o looks at inputs
// o * stride - pad + tap * dilation. Windows may overhang the padded input at
// the end (ceil_mode). Shared by both backends, so that it is tested on the
// CPU.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_WINDOW_H
#define LWCC_RUNTIME_CORE_WINDOW_H

#include "runtime/core/HostDevice.h"

namespace lwcc::rt {

struct WindowAxis {
  int in = 1, out = 1;
  int kernel = 1, stride = 1, dilation = 1;
  int padLow = 0, padHigh = 0;
};

LWCC_HD int ceilDivide(int a, int b) { return (a + b - 1) / b; }

/// Input index of output o's tap 0; may be negative.
LWCC_HD int windowStart(const WindowAxis &a, int o) {
  return o * a.stride - a.padLow;
}

/// Taps [tapBegin, tapEnd) of output o lie inside the input.
LWCC_HD int tapBegin(const WindowAxis &a, int o) {
  int start = windowStart(a, o);
  int first = start < 0 ? ceilDivide(-start, a.dilation) : 0;
  return first < a.kernel ? first : a.kernel;
}
LWCC_HD int tapEnd(const WindowAxis &a, int o) {
  int start = windowStart(a, o);
  int end = start < a.in ? ceilDivide(a.in - start, a.dilation) : 0;
  end = end < a.kernel ? end : a.kernel;
  int begin = tapBegin(a, o);
  return end > begin ? end : begin;
}

/// How many taps of output o lie inside the padded input.
LWCC_HD int tapsInPadded(const WindowAxis &a, int o) {
  int room = a.in + a.padHigh - windowStart(a, o);
  int end = room > 0 ? ceilDivide(room, a.dilation) : 0;
  return end < a.kernel ? end : a.kernel;
}

/// What a window of output o is made of.
struct TapRange {
  int begin, end; ///< taps inside the input
  int start;      ///< input index of tap 0; may be negative
  int padded;     ///< how many taps lie inside the padded input
};
LWCC_HD TapRange tapRange(const WindowAxis &a, int o) {
  return {tapBegin(a, o), tapEnd(a, o), windowStart(a, o), tapsInPadded(a, o)};
}

/// Outputs [outBegin, outEnd) are those whose window spans input i.
LWCC_HD int outBegin(const WindowAxis &a, int i) {
  int reach = i + a.padLow - (a.kernel - 1) * a.dilation;
  return reach > 0 ? ceilDivide(reach, a.stride) : 0;
}
LWCC_HD int outEnd(const WindowAxis &a, int i) {
  int end = (i + a.padLow) / a.stride + 1;
  return end < a.out ? end : a.out;
}

/// The tap with which output o looks at input i, or -1 if i falls between the
/// taps of a dilated window. o is in [outBegin(i), outEnd(i)).
LWCC_HD int tapOf(const WindowAxis &a, int o, int i) {
  int distance = i - windowStart(a, o);
  return distance % a.dilation == 0 ? distance / a.dilation : -1;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_WINDOW_H
