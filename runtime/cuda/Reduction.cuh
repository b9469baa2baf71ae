//===- Reduction.cuh - Deterministic sums over some dimensions --*- C++ -*-===//
//
// Sums over the "reduced" loops for every iteration of the "kept" loops, in two
// levels: slices of the reduced loops are summed by blocks of threads into the
// lane's workspace, then the slices are summed in order, in double. No atomics,
// so that every run gives the same bits.
//
// What is summed is a functor's business:
//
//   struct F {
//     static constexpr int width;              // sums per kept element
//     struct State;                            // what a kept element needs
//     State begin(int64_t y) const;            // y: offset in the result
//     void add(const State &, int64_t x, float (&sum)[width]) const;
//     void finish(int64_t y, const double (&sum)[width]) const;
//   };
//
// Two kernels: one gives a column of threads to neighbouring kept elements
// (channels-last tensors, or few terms), the other a whole block to one kept
// element (rows).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_REDUCTION_CUH
#define LWCC_RUNTIME_CUDA_REDUCTION_CUH

#include "runtime/core/LoopNest.h"
#include "runtime/core/SampleGroups.h"
#include "runtime/cuda/BlockReduce.cuh"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>

namespace lwcc::rt::cuda {

struct ReduceLoops {
  LoopNest<2> kept;    ///< operand 0: x, 1: y; x runs through memory in order
  LoopNest<1> reduced; ///< x
  int64_t keptCount = 1, terms = 1;
  int64_t slices = 1, termsPerSlice = 1;
  float *partial = nullptr; ///< [slices][keptCount][width]
};

/// Loops over x with `axes` summed. y has x's shape without the axes, or with
/// extent 1 there.
inline ReduceLoops reduceLoops(const Tensor &y, const Tensor &x,
                               const bool (&isReduced)[maxRank]) {
  ReduceLoops loops;
  int outer = 0;
  for (int d = 0; d < x.rank; ++d) {
    if (isReduced[d]) {
      loops.reduced.extent[loops.reduced.rank] = x.dim[d];
      loops.reduced.stride[0][loops.reduced.rank++] = x.stride[d];
      outer += y.rank == x.rank ? 1 : 0;
      continue;
    }
    loops.kept.extent[loops.kept.rank] = x.dim[d];
    loops.kept.stride[0][loops.kept.rank] = x.stride[d];
    loops.kept.stride[1][loops.kept.rank++] = y.stride[outer++];
  }
  collapse(loops.kept);
  collapse(loops.reduced);
  loops.keptCount = iterations(loops.kept);
  loops.terms = iterations(loops.reduced);
  return loops;
}

/// Loops over x for each index of its second dimension. The result is [c].
inline ReduceLoops channelLoops(const Tensor &x) {
  bool isReduced[maxRank] = {};
  for (int d = 0; d < x.rank; ++d)
    isReduced[d] = d != 1;
  return reduceLoops(Tensor(nullptr, DType::f32, {x.dim[1]}, Layout::dense), x,
                     isReduced);
}

/// Loops over x, which begins with the run's first sample, for each group of
/// the run and each channel. The result is [groups, c], from the run's first
/// group on.
inline ReduceLoops groupLoops(const Tensor &x, const GroupRun &run) {
  ReduceLoops loops;
  auto keep = [&](int64_t extent, int64_t from, int64_t to) {
    loops.kept.extent[loops.kept.rank] = extent;
    loops.kept.stride[0][loops.kept.rank] = from;
    loops.kept.stride[1][loops.kept.rank++] = to;
  };
  keep(run.count, run.samples * x.stride[0], x.dim[1]);
  keep(x.dim[1], x.stride[1], 1);
  for (int d = 0; d < x.rank; ++d)
    if (d != 1) {
      loops.reduced.extent[loops.reduced.rank] = d ? x.dim[d] : run.samples;
      loops.reduced.stride[0][loops.reduced.rank++] = x.stride[d];
    }
  collapse(loops.kept);
  collapse(loops.reduced);
  loops.keptCount = iterations(loops.kept);
  loops.terms = iterations(loops.reduced);
  return loops;
}

inline constexpr int columnWidth = 32, columnHeight = 8;

/// One past the last term of this block's slice.
__device__ inline int64_t sliceEnd(const ReduceLoops &loops) {
  const int64_t end = (blockIdx.y + 1) * loops.termsPerSlice;
  return end < loops.terms ? end : loops.terms;
}

template <class F>
__device__ void finishSlice(const F &f, const ReduceLoops &loops, int64_t kept,
                            int64_t y, const float (&sum)[F::width]) {
  if (loops.slices == 1) {
    double total[F::width];
    for (int k = 0; k < F::width; ++k)
      total[k] = sum[k];
    f.finish(y, total);
    return;
  }
  float *to = loops.partial + (blockIdx.y * loops.keptCount + kept) * F::width;
  for (int k = 0; k < F::width; ++k)
    to[k] = sum[k];
}

/// Adds every `step`-th term from `first` on. `at`: of the kept element.
template <class F>
__device__ void addTerms(const F &f, const ReduceLoops &loops,
                         const typename F::State &state, int64_t at,
                         int64_t first, int64_t end, int64_t step,
                         float (&sum)[F::width]) {
  if (loops.reduced.rank == 1) {
    // Without branches between them several loads are under way at a time,
    // which alone keeps the memory busy.
    const int64_t stride = loops.reduced.stride[0][0];
#pragma unroll 8
    for (int64_t t = first; t < end; t += step)
      f.add(state, at + t * stride, sum);
    return;
  }
  for (int64_t t = first; t < end; t += step) {
    int64_t x[1];
    offsetsAt(loops.reduced, t, x);
    f.add(state, at + x[0], sum);
  }
}

/// Block (32, 8): 32 kept elements, 8 threads each. Grid (kept / 32, slices).
template <class F>
__global__ void __launch_bounds__(columnWidth *columnHeight)
    reduceColumns(const F f, const ReduceLoops loops) {
  __shared__ float shared[F::width][columnHeight][columnWidth];
  const int64_t end = sliceEnd(loops);
  for (int64_t tile = blockIdx.x; tile * columnWidth < loops.keptCount;
       tile += gridDim.x) {
    const int64_t kept = tile * columnWidth + threadIdx.x;
    const bool inside = kept < loops.keptCount;
    int64_t at[2] = {0, 0};
    float sum[F::width] = {};
    if (inside) {
      offsetsAt(loops.kept, kept, at);
      addTerms(f, loops, f.begin(at[1]), at[0],
               blockIdx.y * loops.termsPerSlice + threadIdx.y, end,
               columnHeight, sum);
    }
    for (int k = 0; k < F::width; ++k)
      shared[k][threadIdx.y][threadIdx.x] = sum[k];
    __syncthreads();
    if (inside && threadIdx.y == 0) {
      for (int k = 0; k < F::width; ++k)
        for (int row = 1; row < columnHeight; ++row)
          sum[k] += shared[k][row][threadIdx.x];
      finishSlice(f, loops, kept, at[1], sum);
    }
    __syncthreads(); // shared is written again
  }
}

/// A block for one kept element. Grid (kept, slices).
template <class F>
__global__ void __launch_bounds__(256)
    reduceRows(const F f, const ReduceLoops loops) {
  const int64_t end = sliceEnd(loops);
  for (int64_t kept = blockIdx.x; kept < loops.keptCount; kept += gridDim.x) {
    int64_t at[2];
    offsetsAt(loops.kept, kept, at);
    float sum[F::width] = {};
    addTerms(f, loops, f.begin(at[1]), at[0],
             blockIdx.y * loops.termsPerSlice + threadIdx.x, end, blockDim.x,
             sum);
    for (int k = 0; k < F::width; ++k)
      sum[k] = blockReduce(sum[k], Add());
    if (threadIdx.x == 0)
      finishSlice(f, loops, kept, at[1], sum);
  }
}

/// The slices of each kept element in order.
template <class F>
__global__ void __launch_bounds__(256)
    reduceSlices(const F f, const ReduceLoops loops) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t kept = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       kept < loops.keptCount; kept += stride) {
    double sum[F::width] = {};
    for (int64_t s = 0; s < loops.slices; ++s)
      for (int k = 0; k < F::width; ++k)
        sum[k] += loops.partial[(s * loops.keptCount + kept) * F::width + k];
    int64_t at[2];
    offsetsAt(loops.kept, kept, at);
    f.finish(at[1], sum);
  }
}

/// A reduction; `f` is copied into the kernels' arguments.
template <class F>
Work reductionWork(CudaLane &lane, const F &f, ReduceLoops loops) {
  const int inner = loops.kept.rank - 1;
  const bool columns = loops.terms < 64 || (loops.kept.stride[0][inner] == 1 &&
                                            loops.kept.extent[inner] >= 8);
  const int64_t tiles = columns
                            ? (loops.keptCount + columnWidth - 1) / columnWidth
                            : loops.keptCount;
  const int64_t threads = columns ? columnHeight : 256;
  // Enough blocks to fill the GPU, and no thread adds more than 256 terms, for
  // accuracy; but no slice with less than 4 terms for each thread.
  int64_t slices = (int64_t(lane.gpu.processors) * 8 + tiles - 1) / tiles;
  slices = std::min(slices, loops.terms / (threads * 4));
  slices = std::max(slices, loops.terms / (threads * 256));
  slices = std::clamp<int64_t>(slices, 1, 65535);
  loops.termsPerSlice = (loops.terms + slices - 1) / slices;
  loops.slices = (loops.terms + loops.termsPerSlice - 1) / loops.termsPerSlice;
  const int64_t bytes = loops.slices == 1 ? 0
                                          : loops.slices * loops.keptCount *
                                                F::width * sizeof(float);
  auto run = [&lane, f, loops, columns, tiles]() mutable {
    loops.partial = reinterpret_cast<float *>(lane.workspace());
    dim3 grid(static_cast<unsigned>(std::min<int64_t>(tiles, INT32_MAX)),
              static_cast<unsigned>(loops.slices));
    if (columns)
      lane.launch(reduceColumns<F>, grid, dim3(columnWidth, columnHeight), f,
                  loops);
    else
      lane.launch(reduceRows<F>, grid, 256, f, loops);
    if (loops.slices > 1)
      lane.launch(reduceSlices<F>, lane.blocksFor(loops.keptCount, 256), 256, f,
                  loops);
  };
  return {run, bytes};
}

template <class F>
void appendReduction(Lane &base, const char *op, Tensors results, const F &f,
                     ReduceLoops loops) {
  CudaLane &lane = cudaLane(base);
  Work work = reductionWork(lane, f, loops);
  lane.append(op, std::move(results), std::move(work.run), work.workspaceBytes);
}

/// A reduction per channel of x and of each group of its samples. `make(run)`
/// is the functor of a run of groups.
template <typename Make>
void appendGroupReduction(Lane &base, const char *op, Tensors results,
                          const Tensor &x, int64_t group, int64_t skip,
                          const Make &make) {
  CudaLane &lane = cudaLane(base);
  std::vector<Work> works;
  int64_t bytes = 0;
  for (const GroupRun &run : groupRuns(x.dim[0], group, skip)) {
    works.push_back(reductionWork(lane, make(run), groupLoops(x, run)));
    bytes = std::max(bytes, works.back().workspaceBytes);
  }
  auto run = [works = std::move(works)] {
    for (const Work &work : works)
      work.run();
  };
  lane.append(op, std::move(results), std::move(run), bytes);
}

/// The sum, or the sum times `scale`, of x.
struct SumOf {
  static constexpr int width = 1;
  struct State {};
  const float *x;
  float *y;
  double scale;
  __device__ State begin(int64_t) const { return {}; }
  __device__ void add(const State &, int64_t at, float (&sum)[1]) const {
    sum[0] += x[at];
  }
  __device__ void finish(int64_t at, const double (&sum)[1]) const {
    y[at] = static_cast<float>(sum[0] * scale);
  }
};

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_REDUCTION_CUH
