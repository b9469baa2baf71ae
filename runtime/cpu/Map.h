//===- Map.h - Elementwise kernels on the CPU -------------------*- C++ -*-===//
//
// A generated kernel is a struct with one function from elements to an element:
//
//   struct Relu {
//     static constexpr int inputs = 1;
//     static constexpr bool indexed = false;
//     LWCC_HD static float at(const StepScalars &s, uint64_t i, float x0);
//   };
//
// and map<Relu>(lane, y, {x}) applies it with numpy's broadcasting; `i` is the
// row-major logical index of the element (only if `indexed`), `s` the step's
// scalars. mapBlocks is what lies below, for a kernel that is not known at
// compile time: it collapses the loops, shares them out over the lane's threads
// and calls a function on runs of elements. Every element is computed on its
// own, so how the loops are cut never changes a bit.
//
// Must be compiled with -ffp-contract=off (the library's target carries it), or
// the same kernel rounds differently in the emitted program and in lwcc-run.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_MAP_H
#define LWCC_RUNTIME_CPU_MAP_H

#include "runtime/core/Math.h"
#include "runtime/core/Ops.h"
#include "runtime/core/Philox.h"
#include "runtime/core/Scalars.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace lwcc::rt {

/// `rows` runs of `n` elements; strides are in elements. Run r of operand k
/// starts at x[k] + r * xRow[k].
struct MapBlock {
  int64_t rows = 1, n = 0;
  float *y = nullptr;
  int64_t yStride = 1, yRow = 0;
  const float *const *x = nullptr; ///< one per input
  const int64_t *xStride = nullptr, *xRow = nullptr;
  uint64_t index = 0; ///< logical index of the first element
  int64_t indexStride = 1, indexRow = 0;
  const StepScalars *scalars = nullptr; ///< never null
};
using MapFunction = std::function<void(const MapBlock &)>;

/// Appends a map. With `indexed`, blocks are cut so that an element's index is
/// index + row * indexRow + i * indexStride; without, the index is meaningless.
/// y may be one of xs if it lies alike. Blocks have one row unless `rows`.
void mapBlocks(Lane &lane, const char *name, Tensor y, const Tensors &xs,
               Tensor scalars, bool indexed, const MapParams &params,
               MapFunction function, bool rows = false);

/// As above; a kernel is indexed if it is given scalars.
inline void mapBlocks(Lane &lane, const char *name, Tensor y, const Tensors &xs,
                      Tensor scalars, const MapParams &params,
                      MapFunction function) {
  mapBlocks(lane, name, y, xs, scalars, bool(scalars), params,
            std::move(function));
}

namespace detail {

/// Elements that are computed in one vector loop; operands that do not lie
/// next to one another are gathered into as long a buffer first.
inline constexpr int64_t mapChunk = 256;

template <typename F, size_t... K>
void mapChunkOf(const StepScalars &s, uint64_t index, int64_t indexStride,
                int64_t n, float *y, const float *const *x,
                std::index_sequence<K...>) {
  // The only overlap allowed is y with an input that lies alike.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    y[i] = F::at(s, index + static_cast<uint64_t>(i * indexStride), x[K][i]...);
}

template <typename F>
void mapRow(const MapBlock &b, int64_t row) {
  float gathered[F::inputs + 1][mapChunk]; // the last one for y
  const float *at[F::inputs + 1];
  for (int64_t begin = 0; begin < b.n; begin += mapChunk) {
    int64_t n = std::min(mapChunk, b.n - begin);
    for (int k = 0; k < F::inputs; ++k) {
      const float *x = b.x[k] + row * b.xRow[k];
      int64_t stride = b.xStride[k];
      at[k] = stride == 1 ? x + begin : gathered[k];
      if (stride == 0 && begin == 0)
        std::fill_n(gathered[k], n, *x);
      else if (stride != 1 && stride != 0)
        for (int64_t i = 0; i < n; ++i)
          gathered[k][i] = x[(begin + i) * stride];
    }
    float *y = b.y + row * b.yRow + begin * b.yStride;
    float *to = b.yStride == 1 ? y : gathered[F::inputs];
    uint64_t index = b.index + static_cast<uint64_t>(row * b.indexRow +
                                                     begin * b.indexStride);
    StepScalars s = *b.scalars; // a copy that stores to y cannot change
    mapChunkOf<F>(s, index, b.indexStride, n, to, at,
                  std::make_index_sequence<F::inputs>());
    if (b.yStride != 1)
      for (int64_t i = 0; i < n; ++i)
        y[i * b.yStride] = to[i];
  }
}

} // namespace detail

template <typename F>
void map(Lane &lane, Tensor y, const Tensors &xs, Tensor scalars = {},
         const MapParams &params = {}) {
  mapBlocks(
      lane, "map", y, xs, scalars, F::indexed, params,
      [](const MapBlock &b) {
        for (int64_t row = 0; row < b.rows; ++row)
          detail::mapRow<F>(b, row);
      },
      /*rows=*/true);
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_MAP_H
