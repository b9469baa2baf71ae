//===- BatchNorm.cpp - The reductions of batch normalization ----*- C++ -*-===//
//
// Mean and variance in one pass over the data, with almost the accuracy of
// double. Blocks of a few rows are summed in float, after one of the block's
// values is subtracted, so that no large numbers cancel. The blocks' moments
// are combined in double (Chan, Golub and LeVeque, "Algorithms for computing
// the sample variance", 1983). The rows are cut into chunks by the shape alone,
// so that the result does not depend on the number of threads. Groups of
// samples come one after the other.
//
//===----------------------------------------------------------------------===//
#include "runtime/core/LoopNest.h"
#include "runtime/core/SampleGroups.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/cpu/Lane.h"
#include "runtime/cpu/Parallel.h"

#include <algorithm>
#include <cmath>

namespace lwcc::rt {

static constexpr int64_t blockRows = 32;      ///< summed in float
static constexpr int64_t blockChannels = 256; ///< accumulators in the L1 cache

namespace {
/// x as rows of channels, cut into chunks of rows.
struct Rows {
  int64_t channels, channelStride;
  LoopNest<1> nest; ///< rows
  int64_t rows, chunks, rowsPerChunk, channelBlocks;

  explicit Rows(const Tensor &x) {
    channels = x.dim[1];
    channelStride = x.stride[1];
    nest.rank = x.rank;
    for (int d = 0; d < x.rank; ++d) {
      nest.extent[d] = d == 1 ? 1 : x.dim[d];
      nest.stride[0][d] = x.stride[d];
    }
    collapse(nest);
    rows = iterations(nest);
    rowsPerChunk = std::max<int64_t>((rows + 63) / 64, 1);
    rowsPerChunk = (rowsPerChunk + blockRows - 1) / blockRows * blockRows;
    chunks = (rows + rowsPerChunk - 1) / rowsPerChunk;
    channelBlocks = (channels + blockChannels - 1) / blockChannels;
  }

  int64_t rowOffset(int64_t row) const {
    if (nest.rank == 1)
      return row * nest.stride[0][0];
    int64_t at[1];
    offsetsAt(nest, row, at);
    return at[0];
  }

  /// Two doubles per chunk and channel.
  int64_t workspaceBytes() const {
    return chunks * channels * 2 * static_cast<int64_t>(sizeof(double));
  }

  /// Calls body(chunk, first row, end row, first channel, channels).
  template <typename Body>
  void forEachPart(int threads, const Body &body) const {
    int64_t grain = rows * channels > 32768 ? 1 : chunks * channelBlocks;
    parallelFor(threads, chunks * channelBlocks, grain,
                [&](int64_t begin, int64_t end) {
                  for (int64_t part = begin; part < end; ++part) {
                    int64_t chunk = part / channelBlocks;
                    int64_t c = part % channelBlocks * blockChannels;
                    int64_t row = chunk * rowsPerChunk;
                    body(chunk, row, std::min(row + rowsPerChunk, rows), c,
                         std::min(blockChannels, channels - c));
                  }
                });
  }
};
} // namespace

/// Adds one row to sums about a shift.
LWCC_CLONES static void addMoments(const float *x, int64_t stride, int64_t n,
                                   const float *shift, float *sum,
                                   float *squares) {
  if (stride == 1) {
    for (int64_t c = 0; c < n; ++c) {
      float d = x[c] - shift[c];
      sum[c] += d;
      squares[c] += d * d;
    }
    return;
  }
  for (int64_t c = 0; c < n; ++c) {
    float d = x[c * stride] - shift[c];
    sum[c] += d;
    squares[c] += d * d;
  }
}

/// Mean and sum of squared deviations of rows [row, end), per channel: pairs of
/// doubles at `out`.
static void momentsOf(const Rows &r, const float *x, int64_t row, int64_t end,
                      int64_t channels, double *out) {
  float shift[blockChannels], sum[blockChannels], squares[blockChannels];
  std::fill(out, out + 2 * channels, 0.0);
  for (int64_t done = 0; row < end;) {
    int64_t n = std::min(blockRows, end - row);
    const float *first = x + r.rowOffset(row);
    for (int64_t c = 0; c < channels; ++c) {
      shift[c] = first[c * r.channelStride];
      sum[c] = squares[c] = 0.0f;
    }
    for (int64_t i = 1; i < n; ++i)
      addMoments(x + r.rowOffset(row + i), r.channelStride, channels, shift,
                 sum, squares);
    double total = static_cast<double>(done + n);
    for (int64_t c = 0; c < channels; ++c) {
      double s = sum[c];
      double mean = shift[c] + s / n, m2 = squares[c] - s * s / n;
      double delta = mean - out[2 * c];
      out[2 * c] += delta * n / total;
      out[2 * c + 1] += m2 + delta * delta * done * n / total;
    }
    done += n;
    row += n;
  }
}

namespace {
/// One group of samples, and where it lies.
struct Group {
  Rows rows;
  int64_t offset;     ///< of its first sample in the images
  int64_t statistics; ///< of its first channel in the statistics
};
} // namespace

/// The groups of images; gives the lane the workspace that one group needs.
static std::vector<Group> groupsOf(CpuLane &on, const Tensor &x, int64_t group,
                                   int64_t skip) {
  std::vector<Group> groups;
  for (const GroupRun &run : groupRuns(x.dim[0], group, skip))
    for (int64_t i = 0; i < run.count; ++i) {
      int64_t begin = run.begin + i * run.samples;
      Rows rows(alongAxis(x, 0, begin, run.samples));
      on.needWorkspace(rows.workspaceBytes());
      groups.push_back(
          {rows, begin * x.stride[0], (run.first + i) * rows.channels});
    }
  return groups;
}

static float *at(const Tensor &t, int64_t offset) {
  return t ? t.as<float>() + offset : nullptr;
}

/// Mean, variance and inverse deviation of the images of one group.
static void statisticsOf(CpuLane &on, const Rows &r, const float *x,
                         float *mean, float *variance, float *invstd,
                         float epsilon) {
  double *partial = reinterpret_cast<double *>(on.workspace());
  r.forEachPart(on.threads, [&](int64_t chunk, int64_t row, int64_t end,
                                int64_t c, int64_t channels) {
    momentsOf(r, x + c * r.channelStride, row, end, channels,
              partial + (chunk * r.channels + c) * 2);
  });
  for (int64_t c = 0; c < r.channels; ++c) {
    double m = 0, m2 = 0;
    for (int64_t chunk = 0; chunk < r.chunks; ++chunk) {
      const double *p = partial + (chunk * r.channels + c) * 2;
      double before = static_cast<double>(chunk * r.rowsPerChunk);
      double n = static_cast<double>(
          std::min(r.rowsPerChunk, r.rows - chunk * r.rowsPerChunk));
      double delta = p[0] - m;
      m += delta * n / (before + n);
      m2 += p[1] + delta * delta * before * n / (before + n);
    }
    double v = m2 / static_cast<double>(r.rows);
    if (mean)
      mean[c] = static_cast<float>(m);
    if (variance)
      variance[c] = static_cast<float>(v);
    if (invstd)
      invstd[c] = static_cast<float>(1.0 / std::sqrt(v + epsilon));
  }
}

void batch_norm_stats(Lane &lane, Tensor mean, Tensor variance, Tensor invstd,
                      Tensor x, const BatchNormParams &params) {
  CpuLane &on = cpuLane(lane);
  std::vector<Group> groups = groupsOf(on, x, params.group, params.skip);
  on.append("batch_norm_stats", {mean, variance, invstd}, [=, &on] {
    for (const Group &g : groups)
      statisticsOf(on, g.rows, x.as<float>() + g.offset, at(mean, g.statistics),
                   at(variance, g.statistics), at(invstd, g.statistics),
                   params.epsilon);
  });
}

/// Adds one row to the two sums of the gradient.
LWCC_CLONES static void addGradients(const float *dy, const float *x,
                                     int64_t stride, int64_t n,
                                     const float *mean, float *sum,
                                     float *dot) {
  if (stride == 1) {
    for (int64_t c = 0; c < n; ++c) {
      sum[c] += dy[c];
      dot[c] += dy[c] * (x[c] - mean[c]);
    }
    return;
  }
  for (int64_t c = 0; c < n; ++c) {
    sum[c] += dy[c * stride];
    dot[c] += dy[c * stride] * (x[c * stride] - mean[c]);
  }
}

static void gradientsOf(const Rows &r, const float *dy, const float *x,
                        const float *mean, int64_t row, int64_t end,
                        int64_t channels, double *out) {
  float center[blockChannels], sum[blockChannels], dot[blockChannels];
  std::copy(mean, mean + channels, center);
  std::fill(out, out + 2 * channels, 0.0);
  while (row < end) {
    int64_t n = std::min(blockRows, end - row);
    std::fill(sum, sum + channels, 0.0f);
    std::fill(dot, dot + channels, 0.0f);
    for (int64_t i = 0; i < n; ++i) {
      int64_t at = r.rowOffset(row + i);
      addGradients(dy + at, x + at, r.channelStride, channels, center, sum,
                   dot);
    }
    for (int64_t c = 0; c < channels; ++c) {
      out[2 * c] += sum[c];
      out[2 * c + 1] += dot[c];
    }
    row += n;
  }
}

/// The two sums of the gradient over the images of one group.
static void gradientSums(CpuLane &on, const Rows &r, const float *dy,
                         const float *x, const float *mean, const float *invstd,
                         float *dscale, float *dbias) {
  double *partial = reinterpret_cast<double *>(on.workspace());
  r.forEachPart(on.threads, [&](int64_t chunk, int64_t row, int64_t end,
                                int64_t c, int64_t channels) {
    gradientsOf(r, dy + c * r.channelStride, x + c * r.channelStride, mean + c,
                row, end, channels, partial + (chunk * r.channels + c) * 2);
  });
  for (int64_t c = 0; c < r.channels; ++c) {
    double sum = 0, dot = 0;
    for (int64_t chunk = 0; chunk < r.chunks; ++chunk) {
      const double *p = partial + (chunk * r.channels + c) * 2;
      sum += p[0];
      dot += p[1];
    }
    if (dbias)
      dbias[c] = static_cast<float>(sum);
    if (dscale)
      dscale[c] = static_cast<float>(dot * invstd[c]);
  }
}

void batch_norm_grad_stats(Lane &lane, Tensor dscale, Tensor dbias, Tensor dy,
                           Tensor x, Tensor mean, Tensor invstd,
                           const GroupParams &params) {
  assert(dy.stride == x.stride && "dy and x lie alike");
  CpuLane &on = cpuLane(lane);
  std::vector<Group> groups = groupsOf(on, x, params.group, params.skip);
  on.append("batch_norm_grad_stats", {dscale, dbias}, [=, &on] {
    for (const Group &g : groups)
      gradientSums(on, g.rows, dy.as<float>() + g.offset,
                   x.as<float>() + g.offset, at(mean, g.statistics),
                   at(invstd, g.statistics), at(dscale, g.statistics),
                   at(dbias, g.statistics));
  });
}

} // namespace lwcc::rt
