//===- Map.cpp - Elementwise kernels on the CPU -----------------*- C++ -*-===//
//
// The loops over the result, its inputs and the logical index are collapsed
// together; a thread takes a range of their iterations and cuts it into blocks.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Map.h"
#include "runtime/core/LoopNest.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>

namespace lwcc::rt {

namespace {
/// The loops of a map. Operand 0 is y, then come the inputs, then the index if
/// there is one.
struct MapLoops {
  int rank = 0;
  int64_t extent[maxNest] = {};
  std::vector<std::array<int64_t, maxNest>> stride;
  std::vector<int64_t> innerStride, rowStride; ///< per operand
  Tensor y;
  Tensors xs;
  bool indexed;
  int64_t firstIndex = 0;

  MapLoops(const Tensor &y, const Tensors &xs, bool indexed,
           const MapParams &part)
      : stride(1 + xs.size() + (indexed ? 1 : 0)), y(y), xs(xs),
        indexed(indexed) {
    rank = y.rank;
    for (int d = 0; d < y.rank; ++d) {
      extent[d] = y.dim[d];
      stride[0][d] = y.stride[d];
    }
    for (size_t k = 0; k < xs.size(); ++k)
      broadcastStrides(xs[k], y, stride[1 + k].data());
    if (indexed)
      firstIndex = partStrides(y, part.begin, part.dims, stride.back().data());
    collapseLoops(rank, extent, stride, static_cast<int>(stride.size()));
    for (const auto &s : stride) {
      innerStride.push_back(s[rank - 1]);
      rowStride.push_back(rank > 1 ? s[rank - 2] : 0);
    }
  }

  void run(int64_t begin, int64_t end, const StepScalars *scalars,
           const MapFunction &function, bool rows) const;
};
} // namespace

void MapLoops::run(int64_t begin, int64_t end, const StepScalars *scalars,
                   const MapFunction &function, bool rows) const {
  constexpr size_t usual = 15; // inputs, without an allocation
  const void *few[usual];
  std::vector<const void *> many(xs.size() > usual ? xs.size() : 0);
  const void **x = xs.size() > usual ? many.data() : few;

  int64_t n = extent[rank - 1];
  int64_t height = rank > 1 ? extent[rank - 2] : 1;
  MapBlock block;
  block.x = x;
  block.xStride = innerStride.data() + 1;
  block.xRow = rowStride.data() + 1;
  block.yStride = innerStride[0];
  block.yRow = rowStride[0];
  if (indexed) {
    block.indexStride = innerStride.back();
    block.indexRow = rowStride.back();
  }
  block.scalars = scalars;
  for (int64_t at = begin; at < end; at += block.rows * block.n) {
    // As many whole rows as are left here, else what is left of this one.
    int64_t column = at % n, row = at / n % height;
    block.rows = 1;
    block.n = std::min(n - column, end - at);
    if (rows && column == 0 && end - at >= n)
      block.rows = std::min(height - row, (end - at) / n);
    auto offset = [&](size_t k) { // in elements
      int64_t left = at, sum = 0;
      for (int d = rank - 1; d >= 0; --d) {
        sum += left % extent[d] * stride[k][d];
        left /= extent[d];
      }
      return sum;
    };
    block.y = y.as<char>() + offset(0) * sizeOf(y.type);
    for (size_t k = 0; k < xs.size(); ++k)
      x[k] = xs[k].as<char>() + offset(1 + k) * sizeOf(xs[k].type);
    if (indexed)
      block.index = static_cast<uint64_t>(firstIndex + offset(1 + xs.size()));
    function(block);
  }
}

void mapBlocks(Lane &lane, const char *name, Tensor y, const Tensors &xs,
               Tensor scalars, bool indexed, const MapParams &params,
               MapFunction function, bool rows) {
  static const StepScalars none;
  CpuLane &on = cpuLane(lane);
  const StepScalars *s = scalars ? scalars.as<StepScalars>() : &none;
  on.append(name, {y},
            [loops = MapLoops(y, xs, indexed, params), s, function, rows,
             threads = on.threads] {
              parallelFor(threads, loops.y.elements(), 8192,
                          [&](int64_t begin, int64_t end) {
                            loops.run(begin, end, s, function, rows);
                          });
            });
}

} // namespace lwcc::rt
