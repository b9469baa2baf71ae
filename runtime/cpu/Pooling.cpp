//===- Pooling.cpp - Pooling ----------------------------------------------===//
//
// Forward: loops over output pixels and groups of channels around the bodies of
// core/PoolBody.h. Channels lie next to one another, so a group is a vector.
// Backward: every output pixel adds to the input pixels of its window, in an
// order that gives the same sums as the gathering bodies of core/PoolBody.h;
// threads take whole images or bands of channels, which never meet.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/PoolBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace lwcc::rt {

namespace {
/// A group of V channels; the bodies' template argument.
template <int V>
struct Group {
  static constexpr int size = V;
};

/// The geometry, with every window's taps worked out when the step is recorded.
struct Windows {
  PoolGeometry g;
  std::vector<TapRange> rows, columns;

  explicit Windows(const PoolGeometry &g) : g(g) {
    for (int o = 0; o < g.h.out; ++o)
      rows.push_back(tapRange(g.h, o));
    for (int o = 0; o < g.w.out; ++o)
      columns.push_back(tapRange(g.w, o));
  }
};

/// A part of the work of a gradient: channels [first, last) of an image.
struct Band {
  int64_t image;
  int first, last;
};
} // namespace

/// Calls body(Group<V>, channel) for groups that cover all channels; the last
/// one may overlap the one before it, so a body must not read what it writes.
template <typename Body>
static inline void forEachGroup(int channels, const Body &body) {
  int c = 0;
  for (; c + 16 <= channels; c += 16)
    body(Group<16>(), c);
  for (; c + 4 <= channels; c += 4)
    body(Group<4>(), c);
  if (c < channels && channels >= 4)
    return body(Group<4>(), channels - 4);
  for (; c < channels; ++c)
    body(Group<1>(), c);
}

/// Output pixels of rows [begin, end) of all images' rows: calls
/// body(image, window, window, offset of the pixel). The usual windows, whole
/// and of 2x2 or 3x3 taps, are passed as constants, so that the body's loops
/// over the taps are unrolled.
template <typename Body>
static inline void forEachPixel(const Windows &windows, int64_t begin,
                                int64_t end, const Body &body) {
  const PoolGeometry &g = windows.g;
  auto whole = [](TapRange taps, int kernel) {
    return taps.begin == 0 && taps.end == kernel;
  };
  for (int64_t r = begin; r < end; ++r) {
    int64_t image = r / g.h.out, oh = r % g.h.out;
    int64_t at = image * g.outImage + oh * g.outRow;
    TapRange h = windows.rows[oh];
    for (int ow = 0; ow < g.w.out; ++ow, at += g.outColumn) {
      TapRange w = windows.columns[ow];
      auto constant = [&](auto group) {
        constexpr int taps = decltype(group)::size;
        body(image, TapRange{0, taps, h.start, taps},
             TapRange{0, taps, w.start, taps}, at);
      };
      bool square = g.h.kernel == g.w.kernel && whole(h, g.h.kernel) &&
                    whole(w, g.w.kernel);
      if (square && g.h.kernel == 2)
        constant(Group<2>());
      else if (square && g.h.kernel == 3)
        constant(Group<3>());
      else
        body(image, h, w, at);
    }
  }
}

template <typename Index>
static inline void maxPoolRows(const Windows &windows, float *y, Index *index,
                               const float *x, int64_t begin, int64_t end) {
  const PoolGeometry &g = windows.g;
  forEachPixel(windows, begin, end,
               [&](int64_t image, TapRange h, TapRange w, int64_t at) {
                 forEachGroup(g.channels, [&](auto group, int c) {
                   constexpr int size = decltype(group)::size;
                   float best[size];
                   int tap[size];
                   maxPoolAt<size>(g, x + image * g.inImage + c, h, w, best,
                                   tap);
                   for (int v = 0; v < size; ++v) {
                     y[at + c + v] = best[v];
                     if (index)
                       index[at + c + v] = static_cast<Index>(tap[v]);
                   }
                 });
               });
}

LWCC_CLONES static void avgPoolRows(const Windows &windows, float *y,
                                    const float *x, int64_t begin,
                                    int64_t end) {
  const PoolGeometry &g = windows.g;
  forEachPixel(windows, begin, end,
               [&](int64_t image, TapRange h, TapRange w, int64_t at) {
                 forEachGroup(g.channels, [&](auto group, int c) {
                   constexpr int size = decltype(group)::size;
                   float mean[size];
                   avgPoolAt<size>(g, x + image * g.inImage + c, h, w, mean);
                   for (int v = 0; v < size; ++v)
                     y[at + c + v] = mean[v];
                 });
               });
}

static inline void clear(const PoolGeometry &g, float *dx, Band band) {
  for (int ih = 0; ih < g.h.in; ++ih)
    for (int iw = 0; iw < g.w.in; ++iw) {
      float *to = dx + band.image * g.inImage + ih * g.inRow + iw * g.inColumn;
      std::fill(to + band.first, to + band.last, 0.0f);
    }
}

template <typename Index>
static inline void maxPoolGradBand(const Windows &windows, float *dx,
                                   const float *dy, const Index *index,
                                   const int64_t *tapOffset, Band band) {
  const PoolGeometry &g = windows.g;
  clear(g, dx, band);
  forEachPixel(windows, band.image * g.h.out, (band.image + 1) * g.h.out,
               [&](int64_t image, TapRange h, TapRange w, int64_t at) {
                 if (h.begin == h.end || w.begin == w.end)
                   return;
                 float *to =
                     dx + image * g.inImage + inputOffset(g, h, 0, w, 0);
                 for (int c = band.first; c < band.last; ++c)
                   to[tapOffset[index[at + c]] + c] += dy[at + c];
               });
}

LWCC_CLONES static void avgPoolGradBand(const Windows &windows, float *dx,
                                        const float *dy, Band band) {
  const PoolGeometry &g = windows.g;
  clear(g, dx, band);
  forEachPixel(windows, band.image * g.h.out, (band.image + 1) * g.h.out,
               [&](int64_t image, TapRange h, TapRange w, int64_t at) {
                 float divisor = avgPoolDivisor(g, h, w);
                 for (int kh = h.begin; kh < h.end; ++kh)
                   for (int kw = w.begin; kw < w.end; ++kw) {
                     float *to =
                         dx + image * g.inImage + inputOffset(g, h, kh, w, kw);
#pragma omp simd
                     for (int c = band.first; c < band.last; ++c)
                       to[c] += dy[at + c] / divisor;
                   }
               });
}

LWCC_CLONES static void maxPoolU8(const Windows &windows, float *y,
                                  uint8_t *index, const float *x, int64_t begin,
                                  int64_t end) {
  maxPoolRows(windows, y, index, x, begin, end);
}

LWCC_CLONES static void maxPoolI32(const Windows &windows, float *y,
                                   int32_t *index, const float *x,
                                   int64_t begin, int64_t end) {
  maxPoolRows(windows, y, index, x, begin, end);
}

/// Calls body(begin, end) for parts of the output's rows.
template <typename Body>
static void forRows(int threads, const PoolGeometry &g, const Body &body) {
  int64_t grain = 4096 / (int64_t(g.w.out) * g.channels + 1);
  parallelFor(threads, int64_t(g.images) * g.h.out, std::max<int64_t>(grain, 1),
              body);
}

/// Calls body(band) for all images; channels are cut into bands where there are
/// too few images for the threads.
template <typename Body>
static void forBands(int threads, const PoolGeometry &g, const Body &body) {
  constexpr int width = 16; // channels: a cache line
  int bands = g.images >= threads
                  ? 1
                  : std::min((g.channels + width - 1) / width, threads);
  int64_t grain = 4096 / (int64_t(g.h.in) * g.w.in * g.channels / bands + 1);
  parallelFor(threads, int64_t(g.images) * bands, std::max<int64_t>(grain, 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  int band = static_cast<int>(i % bands);
                  auto edge = [&](int b) {
                    return b == bands ? g.channels
                                      : g.channels * b / bands / width * width;
                  };
                  body(Band{i / bands, edge(band), edge(band + 1)});
                }
              });
}

void max_pool(Lane &lane, Tensor y, Tensor index, Tensor x,
              const MaxPoolParams &params) {
  CpuLane &on = cpuLane(lane);
  auto windows = std::make_shared<const Windows>(poolGeometry(x, y, params));
  on.append("max_pool", {y, index}, [=, threads = on.threads] {
    forRows(threads, windows->g, [&](int64_t b, int64_t e) {
      if (index.type == DType::i32)
        maxPoolI32(*windows, y.as<float>(), index.as<int32_t>(), x.as<float>(),
                   b, e);
      else
        maxPoolU8(*windows, y.as<float>(), index.as<uint8_t>(), x.as<float>(),
                  b, e);
    });
  });
}

void max_pool_grad(Lane &lane, Tensor dx, Tensor dy, Tensor index,
                   const MaxPoolParams &params) {
  CpuLane &on = cpuLane(lane);
  auto windows = std::make_shared<const Windows>(poolGeometry(dx, dy, params));
  const PoolGeometry &g = windows->g;
  std::vector<int64_t> offsets; // of a tap from its window's first
  for (int kh = 0; kh < g.h.kernel; ++kh)
    for (int kw = 0; kw < g.w.kernel; ++kw)
      offsets.push_back(kh * g.h.dilation * g.inRow +
                        kw * g.w.dilation * g.inColumn);
  on.append("max_pool_grad", {dx},
            [=, threads = on.threads, offsets = std::move(offsets)] {
              forBands(threads, windows->g, [&](Band band) {
                if (index.type == DType::i32)
                  maxPoolGradBand(*windows, dx.as<float>(), dy.as<float>(),
                                  index.as<int32_t>(), offsets.data(), band);
                else
                  maxPoolGradBand(*windows, dx.as<float>(), dy.as<float>(),
                                  index.as<uint8_t>(), offsets.data(), band);
              });
            });
}

void avg_pool(Lane &lane, Tensor y, Tensor x, const AvgPoolParams &params) {
  CpuLane &on = cpuLane(lane);
  PoolGeometry g = poolGeometry(x, y, params);
  g.countPad = params.count_include_pad;
  auto windows = std::make_shared<const Windows>(g);
  on.append("avg_pool", {y}, [=, threads = on.threads] {
    forRows(threads, windows->g, [&](int64_t b, int64_t e) {
      avgPoolRows(*windows, y.as<float>(), x.as<float>(), b, e);
    });
  });
}

void avg_pool_grad(Lane &lane, Tensor dx, Tensor dy,
                   const AvgPoolParams &params) {
  CpuLane &on = cpuLane(lane);
  PoolGeometry g = poolGeometry(dx, dy, params);
  g.countPad = params.count_include_pad;
  auto windows = std::make_shared<const Windows>(g);
  on.append("avg_pool_grad", {dx}, [=, threads = on.threads] {
    forBands(threads, windows->g, [&](Band band) {
      avgPoolGradBand(*windows, dx.as<float>(), dy.as<float>(), band);
    });
  });
}

} // namespace lwcc::rt
