//===- Copy.cpp - Copies and fills of strided tensors -----------*- C++ -*-===//
//
// A copy is a batch of planes, each of two loops. One is the innermost loop, in
// which the target is contiguous. The other is the loop in which the source is
// contiguous, if there is one; then the plane is a transposition, which is done
// in tiles that fit the cache. Else it is the next loop. Threads share blocks
// of this other loop.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Copy.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <cstring>

namespace lwcc::rt {

/// Fewest elements for which a further thread pays.
static constexpr int64_t copyGrain = 16384;
/// Side of a transposition's tile: one cache line of floats.
static constexpr int64_t tile = 16;

namespace {
/// The two loops of a plane: `rows` times `columns`, the target's innermost.
struct Plane {
  int64_t rows = 1, columns = 1;
  int64_t toRow = 0, toColumn = 0, fromRow = 0, fromColumn = 0;
};
} // namespace

/// Copies rows [r0, r1) and columns [c0, c1) of a plane.
template <typename T>
static void copyBox(const Plane &p, int64_t r0, int64_t r1, int64_t c0,
                    int64_t c1, T *to, const T *from) {
  if (p.toColumn == 1 && p.fromColumn == 1) {
    for (int64_t r = r0; r < r1; ++r)
      std::memcpy(to + r * p.toRow + c0, from + r * p.fromRow + c0,
                  (c1 - c0) * sizeof(T));
    return;
  }
  for (int64_t rt = r0; rt < r1; rt += tile)
    for (int64_t ct = c0; ct < c1; ct += tile)
      for (int64_t r = rt; r < std::min(rt + tile, r1); ++r)
        for (int64_t c = ct; c < std::min(ct + tile, c1); ++c)
          to[r * p.toRow + c * p.toColumn] =
              from[r * p.fromRow + c * p.fromColumn];
}

/// Takes loop `d` out of the nest.
template <int N>
static void removeLoop(LoopNest<N> &nest, int d) {
  for (int e = d; e + 1 < nest.rank; ++e) {
    nest.extent[e] = nest.extent[e + 1];
    for (int k = 0; k < N; ++k)
      nest.stride[k][e] = nest.stride[k][e + 1];
  }
  --nest.rank;
}

template <typename T>
static void copyTyped(int threads, LoopNest<2> nest, T *to, const T *from) {
  int64_t total = iterations(nest);
  if (total == 0)
    return;
  Plane p;
  int inner = nest.rank - 1;
  p.columns = nest.extent[inner];
  p.toColumn = nest.stride[0][inner];
  p.fromColumn = nest.stride[1][inner];
  removeLoop(nest, inner);
  if (nest.rank > 0) {
    int other = nest.rank - 1;
    if (p.fromColumn != 1)
      for (int d = 0; d < nest.rank; ++d)
        if (nest.stride[1][d] == 1)
          other = d;
    p.rows = nest.extent[other];
    p.toRow = nest.stride[0][other];
    p.fromRow = nest.stride[1][other];
    removeLoop(nest, other);
  }

  // Items are boxes of about a grain each, and at least a tile high.
  int64_t width = std::min(p.columns, copyGrain);
  int64_t height = std::max(copyGrain / width, tile) / tile * tile;
  height = std::min(height, p.rows);
  int64_t across = (p.columns + width - 1) / width;
  int64_t boxes = (p.rows + height - 1) / height * across;
  parallelFor(threads, iterations(nest) * boxes,
              std::max<int64_t>(copyGrain / (height * width), 1),
              [&](int64_t begin, int64_t end) {
                for (int64_t item = begin; item < end; ++item) {
                  int64_t offset[2];
                  offsetsAt(nest, item / boxes, offset);
                  int64_t r = item % boxes / across * height;
                  int64_t c = item % across * width;
                  copyBox(p, r, std::min(r + height, p.rows), c,
                          std::min(c + width, p.columns), to + offset[0],
                          from + offset[1]);
                }
              });
}

void runCopy(int threads, const LoopNest<2> &nest, int64_t elementSize,
             void *to, const void *from) {
  if (elementSize == 1)
    copyTyped(threads, nest, static_cast<uint8_t *>(to),
              static_cast<const uint8_t *>(from));
  else
    copyTyped(threads, nest, static_cast<uint32_t *>(to),
              static_cast<const uint32_t *>(from));
}

void copyTensor(int threads, const Tensor &to, const Tensor &from) {
  runCopy(threads, copyNest(to, from), sizeOf(to.type), to.data, from.data);
}

template <typename T>
static void fillTyped(int threads, const Tensor &to, T value) {
  LoopNest<1> nest = logicalNest(to);
  collapse(nest);
  int64_t columns = nest.extent[nest.rank - 1];
  int64_t stride = nest.stride[0][nest.rank - 1];
  --nest.rank;
  // Split the single row of a contiguous tensor, else the rows.
  if (nest.rank == 0) {
    parallelFor(threads, columns, copyGrain, [&](int64_t b, int64_t e) {
      for (int64_t i = b; i < e; ++i)
        to.as<T>()[i * stride] = value;
    });
    return;
  }
  int64_t grain =
      std::max<int64_t>(copyGrain / std::max<int64_t>(columns, 1), 1);
  parallelFor(threads, iterations(nest), grain, [&](int64_t b, int64_t e) {
    for (int64_t row = b; row < e; ++row) {
      int64_t offset[1];
      offsetsAt(nest, row, offset);
      for (int64_t i = 0; i < columns; ++i)
        to.as<T>()[offset[0] + i * stride] = value;
    }
  });
}

void fillTensor(int threads, const Tensor &to, float value) {
  switch (to.type) {
  case DType::f32:
    return fillTyped(threads, to, value);
  case DType::i32:
    return fillTyped(threads, to, static_cast<int32_t>(value));
  case DType::u8:
    return fillTyped(threads, to, static_cast<uint8_t>(value));
  }
}

} // namespace lwcc::rt
