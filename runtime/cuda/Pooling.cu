//===- Pooling.cu - Pooling -----------------------------------------------===//
//
// A thread handles one or four neighbouring channels of one pixel with the
// bodies that the CPU runs too (PoolBody.h). Not run on a GPU by the tests of
// the build machine; see tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/PoolBody.h"
#include "runtime/cuda/CudaMachine.h"

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

/// A pixel's place and the first of a thread's channels.
struct Pixel {
  int image, row, column, channel;
};

template <int V>
__device__ Pixel pixelOf(int64_t item, int rows, int columns, int channels) {
  Pixel p;
  const int groups = channels / V;
  int64_t pixel = item / groups;
  p.channel = static_cast<int>(item - pixel * groups) * V;
  const int64_t row = pixel / columns;
  p.column = static_cast<int>(pixel - row * columns);
  p.image = static_cast<int>(row / rows);
  p.row = static_cast<int>(row - int64_t(p.image) * rows);
  return p;
}

template <int V>
__device__ void store(float *to, const float (&values)[V]) {
  if constexpr (V == 4) {
    *reinterpret_cast<float4 *>(to) =
        float4{values[0], values[1], values[2], values[3]};
  } else {
    for (int v = 0; v < V; ++v)
      to[v] = values[v];
  }
}

/// Grid-stride loop over the pixels of x (`overInput`) or y.
template <int V, bool overInput, typename Body>
__device__ void forEachPixel(const PoolGeometry &g, const Body &body) {
  const int rows = overInput ? g.h.in : g.h.out;
  const int columns = overInput ? g.w.in : g.w.out;
  const int64_t items = int64_t(g.images) * rows * columns * (g.channels / V);
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t item = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
       item < items; item += stride)
    body(pixelOf<V>(item, rows, columns, g.channels));
}

__device__ int64_t outOffset(const PoolGeometry &g, const Pixel &p) {
  return p.image * g.outImage + p.row * g.outRow + p.column * g.outColumn +
         p.channel;
}
__device__ int64_t inOffset(const PoolGeometry &g, const Pixel &p) {
  return p.image * g.inImage + p.row * g.inRow + p.column * g.inColumn +
         p.channel;
}

template <int V, typename Index>
__global__ void __launch_bounds__(256)
    maxPool(const PoolGeometry g, float *y, Index *index, const float *x) {
  forEachPixel<V, false>(g, [&](const Pixel &p) {
    float best[V];
    int tap[V];
    maxPoolAt<V>(g, x + p.image * g.inImage + p.channel, tapRange(g.h, p.row),
                 tapRange(g.w, p.column), best, tap);
    const int64_t at = outOffset(g, p);
    store(y + at, best);
    if (index)
      for (int v = 0; v < V; ++v)
        index[at + v] = static_cast<Index>(tap[v]);
  });
}

template <int V, typename Index>
__global__ void __launch_bounds__(256)
    maxPoolGrad(const PoolGeometry g, float *dx, const float *dy,
                const Index *index) {
  forEachPixel<V, true>(g, [&](const Pixel &p) {
    float sum[V];
    const int64_t image = p.image * g.outImage + p.channel;
    maxPoolGradAt<V>(g, dy + image, index + image, p.row, p.column, sum);
    store(dx + inOffset(g, p), sum);
  });
}

template <int V>
__global__ void __launch_bounds__(256)
    avgPool(const PoolGeometry g, float *y, const float *x) {
  forEachPixel<V, false>(g, [&](const Pixel &p) {
    float mean[V];
    avgPoolAt<V>(g, x + p.image * g.inImage + p.channel, tapRange(g.h, p.row),
                 tapRange(g.w, p.column), mean);
    store(y + outOffset(g, p), mean);
  });
}

template <int V>
__global__ void __launch_bounds__(256)
    avgPoolGrad(const PoolGeometry g, float *dx, const float *dy) {
  forEachPixel<V, true>(g, [&](const Pixel &p) {
    float sum[V];
    avgPoolGradAt<V>(g, dy + p.image * g.outImage + p.channel, p.row, p.column,
                     sum);
    store(dx + inOffset(g, p), sum);
  });
}

} // namespace

/// Whether four neighbouring channels can be loaded and stored at a time.
static bool takesFour(const PoolGeometry &g,
                      std::initializer_list<const Tensor *> tensors) {
  bool four = g.channels % 4 == 0;
  for (const Tensor *t : tensors)
    four &= reinterpret_cast<uintptr_t>(t->data) % 16 == 0;
  return four;
}

static int64_t items(const Tensor &t, bool four) {
  return t.elements() / (four ? 4 : 1);
}

void rt::max_pool(Lane &base, Tensor y, Tensor index, Tensor x,
                  const MaxPoolParams &params) {
  CudaLane &lane = cudaLane(base);
  PoolGeometry g = poolGeometry(x, y, params);
  lane.append("max_pool", {y, index}, [=, &lane] {
    const bool four = takesFour(g, {&y});
    auto launch = [&](auto kernel, auto *indices) {
      lane.launch(kernel, lane.blocksFor(items(y, four), 256), 256, g,
                  y.as<float>(), indices, x.as<const float>());
    };
    if (index && index.type == DType::i32)
      four ? launch(maxPool<4, int32_t>, index.as<int32_t>())
           : launch(maxPool<1, int32_t>, index.as<int32_t>());
    else
      four ? launch(maxPool<4, uint8_t>, index.as<uint8_t>())
           : launch(maxPool<1, uint8_t>, index.as<uint8_t>());
  });
}

void rt::max_pool_grad(Lane &base, Tensor dx, Tensor dy, Tensor index,
                       const MaxPoolParams &params) {
  CudaLane &lane = cudaLane(base);
  PoolGeometry g = poolGeometry(dx, dy, params);
  lane.append("max_pool_grad", {dx}, [=, &lane] {
    const bool four = takesFour(g, {&dx});
    auto launch = [&](auto kernel, auto *indices) {
      lane.launch(kernel, lane.blocksFor(items(dx, four), 256), 256, g,
                  dx.as<float>(), dy.as<const float>(), indices);
    };
    if (index.type == DType::i32)
      four ? launch(maxPoolGrad<4, int32_t>, index.as<const int32_t>())
           : launch(maxPoolGrad<1, int32_t>, index.as<const int32_t>());
    else
      four ? launch(maxPoolGrad<4, uint8_t>, index.as<const uint8_t>())
           : launch(maxPoolGrad<1, uint8_t>, index.as<const uint8_t>());
  });
}

void rt::avg_pool(Lane &base, Tensor y, Tensor x, const AvgPoolParams &params) {
  CudaLane &lane = cudaLane(base);
  PoolGeometry g = poolGeometry(x, y, params);
  g.countPad = params.count_include_pad;
  lane.append("avg_pool", {y}, [=, &lane] {
    const bool four = takesFour(g, {&y});
    lane.launch(four ? avgPool<4> : avgPool<1>,
                lane.blocksFor(items(y, four), 256), 256, g, y.as<float>(),
                x.as<const float>());
  });
}

void rt::avg_pool_grad(Lane &base, Tensor dx, Tensor dy,
                       const AvgPoolParams &params) {
  CudaLane &lane = cudaLane(base);
  PoolGeometry g = poolGeometry(dx, dy, params);
  g.countPad = params.count_include_pad;
  lane.append("avg_pool_grad", {dx}, [=, &lane] {
    const bool four = takesFour(g, {&dx});
    lane.launch(four ? avgPoolGrad<4> : avgPoolGrad<1>,
                lane.blocksFor(items(dx, four), 256), 256, g, dx.as<float>(),
                dy.as<const float>());
  });
}
