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
// scalars. Where tensors are not float32, it has Elements (core/Elements.h).
// mapBlocks is what lies below, for a kernel that is not known at
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

#include "runtime/core/Elements.h"
#include "runtime/core/Math.h"
#include "runtime/core/Ops.h"
#include "runtime/core/Philox.h"
#include "runtime/core/Scalars.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace lwcc::rt {

/// `rows` runs of `n` elements; strides are in elements. Run r of operand k
/// starts at element r * xRow[k] of x[k].
struct MapBlock {
  int64_t rows = 1, n = 0;
  void *y = nullptr;
  int64_t yStride = 1, yRow = 0;
  const void *const *x = nullptr; ///< one per input
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
LWCC_PROGRAM_CLONES void
mapChunkOf(const StepScalars &s, uint64_t index, int64_t indexStride, int64_t n,
           float *y, const float *const *x, std::index_sequence<K...>) {
  // The only overlap allowed is y with an input that lies alike.
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i)
    y[i] = F::at(s, index + static_cast<uint64_t>(i * indexStride), x[K][i]...);
}

/// Elements [begin, begin + n) of a run as floats next to one another: where
/// they lie if they are that, else in `gathered`. Not inlined: one body serves
/// all kernels, so that programs compile faster.
template <typename X>
[[gnu::noinline]] const float *mapInput(const X *x, int64_t stride,
                                        int64_t begin, int64_t n,
                                        float *gathered) {
  if constexpr (std::is_same_v<X, float>)
    if (stride == 1)
      return x + begin;
  if (stride != 0)
    for (int64_t i = 0; i < n; ++i)
      gathered[i] = static_cast<float>(x[(begin + i) * stride]);
  else if (begin == 0)
    std::fill_n(gathered, n, static_cast<float>(*x));
  return gathered;
}

template <typename F, size_t... K>
void mapRow(const MapBlock &b, int64_t row, std::index_sequence<K...> inputs) {
  using Elements = ElementsOf<F>;
  using Y = typename Elements::Result;
  float gathered[F::inputs + 1][mapChunk]; // the last one for y
  for (int64_t begin = 0; begin < b.n; begin += mapChunk) {
    int64_t n = std::min(mapChunk, b.n - begin);
    const float *at[F::inputs + 1] = {mapInput(
        static_cast<const typename Elements::template Input<K> *>(b.x[K]) +
            row * b.xRow[K],
        b.xStride[K], begin, n, gathered[K])...};
    Y *y = static_cast<Y *>(b.y) + row * b.yRow + begin * b.yStride;
    float *to = gathered[F::inputs];
    if constexpr (std::is_same_v<Y, float>)
      if (b.yStride == 1)
        to = y;
    uint64_t index = b.index + static_cast<uint64_t>(row * b.indexRow +
                                                     begin * b.indexStride);
    StepScalars s = *b.scalars; // a copy that stores to y cannot change
    mapChunkOf<F>(s, index, b.indexStride, n, to, at, inputs);
    if (to == gathered[F::inputs])
      for (int64_t i = 0; i < n; ++i)
        y[i * b.yStride] = storedAs<Y>(to[i]);
  }
}

} // namespace detail

template <typename F>
void map(Lane &lane, Tensor y, const Tensors &xs, Tensor scalars = {},
         const MapParams &params = {}) {
  assert(haveElementsOf<F>(y, xs) && "a kernel's tensors have its types");
  mapBlocks(
      lane, "map", y, xs, scalars, F::indexed, params,
      [](const MapBlock &b) {
        for (int64_t row = 0; row < b.rows; ++row)
          detail::mapRow<F>(b, row, std::make_index_sequence<F::inputs>());
      },
      /*rows=*/true);
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_MAP_H
