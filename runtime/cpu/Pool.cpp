//===- Pool.cpp - Pooling ---------------------------------------*- C++ -*-===//
//
// Loops over pixels and groups of channels around the bodies of
// core/PoolBody.h. Channels lie next to one another, so a group is a vector.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/PoolBody.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

namespace lwcc::rt {

namespace {
/// A group of V channels; the bodies' template argument.
template <int V>
struct Group {
  static constexpr int size = V;
};
} // namespace

/// Calls body(Group<V>, channel) for groups that cover all channels.
template <typename Body>
static inline void forEachGroup(int channels, const Body &body) {
  int c = 0;
  for (; c + 16 <= channels; c += 16)
    body(Group<16>(), c);
  for (; c + 4 <= channels; c += 4)
    body(Group<4>(), c);
  for (; c < channels; ++c)
    body(Group<1>(), c);
}

/// Rows [begin, end) of all images' rows: calls body(image, row).
template <typename Body>
static inline void forEachRow(int rows, int64_t begin, int64_t end,
                              const Body &body) {
  for (int64_t r = begin; r < end; ++r)
    body(r / rows, static_cast<int>(r % rows));
}

template <typename Index>
static inline void maxPoolRows(const PoolGeometry &g, float *y, Index *index,
                               const float *x, int64_t begin, int64_t end) {
  forEachRow(g.h.out, begin, end, [&](int64_t image, int oh) {
    for (int ow = 0; ow < g.w.out; ++ow) {
      int64_t at = image * g.outImage + oh * g.outRow + ow * g.outColumn;
      forEachGroup(g.channels, [&](auto group, int c) {
        constexpr int V = decltype(group)::size;
        float best[V];
        int tap[V];
        maxPoolAt<V>(g, x + image * g.inImage + c, oh, ow, best, tap);
        for (int v = 0; v < V; ++v) {
          y[at + c + v] = best[v];
          if (index)
            index[at + c + v] = static_cast<Index>(tap[v]);
        }
      });
    }
  });
}

template <typename Index>
static inline void maxPoolGradRows(const PoolGeometry &g, float *dx,
                                   const float *dy, const Index *index,
                                   int64_t begin, int64_t end) {
  forEachRow(g.h.in, begin, end, [&](int64_t image, int ih) {
    for (int iw = 0; iw < g.w.in; ++iw) {
      float *to = dx + image * g.inImage + ih * g.inRow + iw * g.inColumn;
      forEachGroup(g.channels, [&](auto group, int c) {
        constexpr int V = decltype(group)::size;
        float sum[V];
        maxPoolGradAt<V>(g, dy + image * g.outImage + c,
                         index + image * g.outImage + c, ih, iw, sum);
        for (int v = 0; v < V; ++v)
          to[c + v] = sum[v];
      });
    }
  });
}

LWCC_CLONES static void maxPoolU8(const PoolGeometry &g, float *y,
                                  uint8_t *index, const float *x, int64_t begin,
                                  int64_t end) {
  maxPoolRows(g, y, index, x, begin, end);
}

LWCC_CLONES static void maxPoolI32(const PoolGeometry &g, float *y,
                                   int32_t *index, const float *x,
                                   int64_t begin, int64_t end) {
  maxPoolRows(g, y, index, x, begin, end);
}

LWCC_CLONES static void maxPoolGradU8(const PoolGeometry &g, float *dx,
                                      const float *dy, const uint8_t *index,
                                      int64_t begin, int64_t end) {
  maxPoolGradRows(g, dx, dy, index, begin, end);
}

LWCC_CLONES static void maxPoolGradI32(const PoolGeometry &g, float *dx,
                                       const float *dy, const int32_t *index,
                                       int64_t begin, int64_t end) {
  maxPoolGradRows(g, dx, dy, index, begin, end);
}

LWCC_CLONES static void avgPoolRows(const PoolGeometry &g, float *y,
                                    const float *x, int64_t begin,
                                    int64_t end) {
  forEachRow(g.h.out, begin, end, [&](int64_t image, int oh) {
    for (int ow = 0; ow < g.w.out; ++ow) {
      float *to = y + image * g.outImage + oh * g.outRow + ow * g.outColumn;
      forEachGroup(g.channels, [&](auto group, int c) {
        constexpr int V = decltype(group)::size;
        float mean[V];
        avgPoolAt<V>(g, x + image * g.inImage + c, oh, ow, mean);
        for (int v = 0; v < V; ++v)
          to[c + v] = mean[v];
      });
    }
  });
}

LWCC_CLONES static void avgPoolGradRows(const PoolGeometry &g, float *dx,
                                        const float *dy, int64_t begin,
                                        int64_t end) {
  forEachRow(g.h.in, begin, end, [&](int64_t image, int ih) {
    for (int iw = 0; iw < g.w.in; ++iw) {
      float *to = dx + image * g.inImage + ih * g.inRow + iw * g.inColumn;
      forEachGroup(g.channels, [&](auto group, int c) {
        constexpr int V = decltype(group)::size;
        float sum[V];
        avgPoolGradAt<V>(g, dy + image * g.outImage + c, ih, iw, sum);
        for (int v = 0; v < V; ++v)
          to[c + v] = sum[v];
      });
    }
  });
}

/// Rows that are worth a thread, `columns` pixels each.
static int64_t rowGrain(const PoolGeometry &g, int columns) {
  return std::max<int64_t>(4096 / (int64_t(columns) * g.channels + 1), 1);
}

void max_pool(Lane &lane, Tensor y, Tensor index, Tensor x,
              const MaxPoolParams &params) {
  PoolGeometry g = poolGeometry(x, y, params);
  CpuLane &on = cpuLane(lane);
  on.append("max_pool", {y, index}, [=, threads = on.threads] {
    auto rows = [&](int64_t b, int64_t e) {
      if (index.type == DType::i32)
        maxPoolI32(g, y.as<float>(), index.as<int32_t>(), x.as<float>(), b, e);
      else
        maxPoolU8(g, y.as<float>(), index.as<uint8_t>(), x.as<float>(), b, e);
    };
    parallelFor(threads, int64_t(g.images) * g.h.out, rowGrain(g, g.w.out),
                rows);
  });
}

void max_pool_grad(Lane &lane, Tensor dx, Tensor dy, Tensor index,
                   const MaxPoolParams &params) {
  PoolGeometry g = poolGeometry(dx, dy, params);
  CpuLane &on = cpuLane(lane);
  on.append("max_pool_grad", {dx}, [=, threads = on.threads] {
    auto rows = [&](int64_t b, int64_t e) {
      if (index.type == DType::i32)
        maxPoolGradI32(g, dx.as<float>(), dy.as<float>(), index.as<int32_t>(),
                       b, e);
      else
        maxPoolGradU8(g, dx.as<float>(), dy.as<float>(), index.as<uint8_t>(), b,
                      e);
    };
    parallelFor(threads, int64_t(g.images) * g.h.in, rowGrain(g, g.w.in), rows);
  });
}

void avg_pool(Lane &lane, Tensor y, Tensor x, const AvgPoolParams &params) {
  PoolGeometry g = poolGeometry(x, y, params);
  g.countPad = params.count_include_pad;
  CpuLane &on = cpuLane(lane);
  on.append("avg_pool", {y}, [=, threads = on.threads] {
    parallelFor(threads, int64_t(g.images) * g.h.out, rowGrain(g, g.w.out),
                [&](int64_t b, int64_t e) {
                  avgPoolRows(g, y.as<float>(), x.as<float>(), b, e);
                });
  });
}

void avg_pool_grad(Lane &lane, Tensor dx, Tensor dy,
                   const AvgPoolParams &params) {
  PoolGeometry g = poolGeometry(dx, dy, params);
  g.countPad = params.count_include_pad;
  CpuLane &on = cpuLane(lane);
  on.append("avg_pool_grad", {dx}, [=, threads = on.threads] {
    parallelFor(threads, int64_t(g.images) * g.h.in, rowGrain(g, g.w.in),
                [&](int64_t b, int64_t e) {
                  avgPoolGradRows(g, dx.as<float>(), dy.as<float>(), b, e);
                });
  });
}

} // namespace lwcc::rt
