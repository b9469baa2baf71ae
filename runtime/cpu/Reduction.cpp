//===- Reduction.cpp - Sums, means and maxima over axes -------------------===//
//
// The loops over x are parted into kept and reduced ones. If the innermost loop
// of x is reduced, a result is a sum of runs; if it is kept, rows are added to
// a block of results. Either way a few elements are added in float and their
// sums in double. Long sums are cut into chunks that depend on the shape alone,
// so that the result does not depend on the number of threads.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Reduction.h"
#include "runtime/core/LoopNest.h"
#include "runtime/core/Math.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"
#include "runtime/cpu/Rows.h"

#include <algorithm>

namespace lwcc::rt {

static constexpr int64_t blockColumns = 256; ///< results summed side by side
static constexpr int64_t floatRows = 32;     ///< rows added in float

namespace {
struct Reduction {
  LoopNest<2> kept;    ///< of x and y, without `columns`
  LoopNest<1> reduced; ///< of x, without `run`
  int64_t columns = 1, xColumn = 0, yColumn = 0; ///< innermost kept loop
  int64_t run = 1, xRun = 0;                     ///< innermost reduced loop
  int64_t chunks = 1, rowsPerChunk = 1;          ///< of `reduced`
  double divisor = 1;

  Reduction(const Tensor &y, const Tensor &x, const ReduceParams &params);

  int64_t columnBlocks() const {
    return (columns + blockColumns - 1) / blockColumns;
  }
  /// Doubles, one per chunk and result.
  int64_t results() const { return iterations(kept) * columns; }
  int64_t workspaceBytes() const {
    return chunks * results() * static_cast<int64_t>(sizeof(double));
  }
};
} // namespace

Reduction::Reduction(const Tensor &y, const Tensor &x,
                     const ReduceParams &params) {
  bool isReduced[maxRank] = {};
  for (int64_t axis : params.axes)
    isReduced[axis] = true;
  int yAxis = 0;
  for (int d = 0; d < x.rank; ++d) {
    if (isReduced[d]) {
      reduced.extent[reduced.rank] = x.dim[d];
      reduced.stride[0][reduced.rank++] = x.stride[d];
      yAxis += y.rank == x.rank;
      continue;
    }
    assert(y.dim[yAxis] == x.dim[d] && "shape of a reduction's result");
    kept.extent[kept.rank] = x.dim[d];
    kept.stride[0][kept.rank] = x.stride[d];
    kept.stride[1][kept.rank++] = y.stride[yAxis++];
  }
  collapse(kept);
  collapse(reduced);
  int64_t count = iterations(reduced);
  if (params.mean)
    divisor = static_cast<double>(count);

  int innerKept = kept.rank - 1, innerReduced = reduced.rank - 1;
  bool keepInner =
      reduced.extent[innerReduced] == 1 ||
      (kept.extent[innerKept] > 1 &&
       kept.stride[0][innerKept] < reduced.stride[0][innerReduced]);
  if (keepInner) {
    columns = kept.extent[innerKept];
    xColumn = kept.stride[0][innerKept];
    yColumn = kept.stride[1][innerKept];
    --kept.rank;
  } else {
    run = reduced.extent[innerReduced];
    xRun = reduced.stride[0][innerReduced];
    --reduced.rank;
    // A single long run is cut into rows, so that it can be shared out.
    constexpr int64_t part = 8192;
    if (reduced.rank == 0 && run > part && run % part == 0) {
      reduced.rank = 1;
      reduced.extent[0] = run / part;
      reduced.stride[0][0] = xRun * part;
      run = part;
    }
  }

  // Chunks where there are fewer independent results than threads may be.
  int64_t rows = iterations(reduced);
  int64_t items = iterations(kept) * columnBlocks();
  int64_t perRow = run * std::min(columns, blockColumns);
  if (items < 64) {
    int64_t worth = std::max<int64_t>(8192 / std::max<int64_t>(perRow, 1), 1);
    chunks =
        std::clamp<int64_t>(rows / worth, 1, 64 / std::max<int64_t>(items, 1));
  }
  rowsPerChunk = std::max<int64_t>((rows + chunks - 1) / chunks, 1);
  chunks = std::max<int64_t>((rows + rowsPerChunk - 1) / rowsPerChunk, 1);
}

/// Sum of a run: 16 float sums side by side, short enough to stay accurate.
LWCC_CLONES static double sumRun(const float *x, int64_t n, int64_t stride) {
  constexpr int lanes = 16;
  double total = 0;
  int64_t i = 0;
  while (stride == 1 && n - i >= lanes) {
    float sum[lanes] = {};
    int64_t end = std::min(n, i + lanes * floatRows);
    for (; i + lanes <= end; i += lanes)
      for (int l = 0; l < lanes; ++l)
        sum[l] += x[i + l];
    for (float part : sum)
      total += part;
  }
  for (; i < n; ++i)
    total += x[i * stride];
  return total;
}

LWCC_CLONES static void addRow(const float *x, int64_t stride, int64_t n,
                               float *sum) {
  if (stride == 1) {
    for (int64_t c = 0; c < n; ++c)
      sum[c] += x[c];
    return;
  }
  for (int64_t c = 0; c < n; ++c)
    sum[c] += x[c * stride];
}

/// Sums rows [row, end) of the reduced loops into n columns at `out`.
static void sumRows(const Reduction &r, const float *x, int64_t row,
                    int64_t end, int64_t n, double *out) {
  std::fill(out, out + n, 0.0);
  int64_t at[1];
  if (r.run > 1 || r.columns == 1) {
    for (; row < end; ++row) {
      offsetsAt(r.reduced, row, at);
      out[0] += sumRun(x + at[0], r.run, r.xRun);
    }
    return;
  }
  float sum[blockColumns];
  while (row < end) {
    std::fill(sum, sum + n, 0.0f);
    for (int64_t stop = std::min(end, row + floatRows); row < stop; ++row) {
      offsetsAt(r.reduced, row, at);
      addRow(x + at[0], r.xColumn, n, sum);
    }
    for (int64_t c = 0; c < n; ++c)
      out[c] += sum[c];
  }
}

void appendReduce(Lane &lane, const char *op, Tensor y, Tensor x,
                  const ReduceParams &params) {
  CpuLane &on = cpuLane(lane);
  Reduction r(y, x, params);
  if (r.chunks > 1)
    on.needWorkspace(r.workspaceBytes());
  on.append(op, {y}, [=, &on] {
    double *partial = reinterpret_cast<double *>(on.workspace());
    int64_t blocks = r.columnBlocks(), rows = iterations(r.reduced);
    int64_t items = r.chunks * iterations(r.kept) * blocks;
    int64_t work = r.rowsPerChunk * r.run * std::min(r.columns, blockColumns);
    int64_t grain = std::max<int64_t>(8192 / std::max<int64_t>(work, 1), 1);
    auto finish = [&](double sum) {
      return static_cast<float>(sum / r.divisor);
    };
    parallelFor(on.threads, items, grain, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        int64_t chunk = item % r.chunks, result = item / r.chunks;
        int64_t c = result % blocks * blockColumns, k = result / blocks;
        int64_t n = std::min(blockColumns, r.columns - c);
        int64_t at[2];
        offsetsAt(r.kept, k, at);
        int64_t row = chunk * r.rowsPerChunk;
        double sums[blockColumns];
        sumRows(r, x.as<float>() + at[0] + c * r.xColumn, row,
                std::min(row + r.rowsPerChunk, rows), n, sums);
        if (r.chunks > 1) {
          std::copy(sums, sums + n,
                    partial + chunk * r.results() + k * r.columns + c);
          continue;
        }
        for (int64_t i = 0; i < n; ++i)
          y.as<float>()[at[1] + (c + i) * r.yColumn] = finish(sums[i]);
      }
    });
    if (r.chunks == 1)
      return;
    for (int64_t result = 0; result < r.results(); ++result) {
      int64_t at[2];
      offsetsAt(r.kept, result / r.columns, at);
      double sum = 0;
      for (int64_t chunk = 0; chunk < r.chunks; ++chunk)
        sum += partial[chunk * r.results() + result];
      y.as<float>()[at[1] + result % r.columns * r.yColumn] = finish(sum);
    }
  });
}

void reduce(Lane &lane, Tensor y, Tensor x, const ReduceParams &params) {
  appendReduce(lane, "reduce", y, x, params);
}

void reduce_max(Lane &lane, Tensor y, Tensor x, const AxisParams &params) {
  CpuLane &on = cpuLane(lane);
  AxisRows<2> rows({x, y}, static_cast<int>(params.axis));
  on.append("reduce_max", {y}, [=, threads = on.threads] {
    rows.forEach(threads, [&](int64_t, const int64_t (&at)[2]) {
      const float *from = x.as<float>() + at[0];
      float largest = from[0];
      for (int64_t i = 1; i < rows.length; ++i)
        largest = max(largest, from[i * rows.step[0]]);
      y.as<float>()[at[1]] = largest;
    });
  });
}

} // namespace lwcc::rt
