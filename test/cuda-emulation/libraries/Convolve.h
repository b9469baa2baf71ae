//===- Convolve.h - Convolutions as loops over dense memory -----*- C++ -*-===//
//
// The arithmetic of a two-dimensional convolution and of its two gradients.
// What a descriptor says (strides, order of the filter, rounding) has been
// applied when operands are brought to the dense orders of here; what it says
// about padding, strides, dilation and groups is in ConvLoops.
//
// Products are added in float over short runs and these in double, so that
// results do not depend on the extents by more than a float's rounding.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_CONVOLVE_H
#define LWCC_TEST_CUDAEMULATION_CONVOLVE_H

#include <cstdint>

namespace lwcc::emulation::dnn {

struct ConvLoops {
  int64_t n = 1, c = 1, h = 1, w = 1; ///< the input
  int64_t k = 1, p = 1, q = 1;        ///< the output: channels, rows, columns
  int64_t r = 1, s = 1;               ///< the filter's rows, columns
  int64_t groups = 1;
  int64_t padTop = 0, padLeft = 0;
  int64_t strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
};

// x and dx are [n][h][w][c], y and dy [n][p][q][k].

/// w is [group][r][s][c in group][k in group].
void convolve(const ConvLoops &loops, const float *x, const float *w, float *y);

/// w is [group][r][s][k in group][c in group].
void convolveGradInput(const ConvLoops &loops, float *dx, const float *w,
                       const float *dy);

/// dw is [group][r][s][c in group][k in group].
void convolveGradWeight(const ConvLoops &loops, const float *x, float *dw,
                        const float *dy);

} // namespace lwcc::emulation::dnn

#endif // LWCC_TEST_CUDAEMULATION_CONVOLVE_H
