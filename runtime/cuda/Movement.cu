//===- Movement.cu - Data movement and fills ------------------------------===//
//
// Transpose, concat, split, slice, pad, repeat and reshape as strided copies
// (StridedCopy.h), and fill. Copies move 16 bytes at a time where both sides
// allow. Not run on a GPU by the tests of the build machine; see
// tools/gpu-test.sh.
//
//===----------------------------------------------------------------------===//

#include "runtime/core/SampleGroups.h"
#include "runtime/core/StridedCopy.h"
#include "runtime/cuda/CudaMachine.h"

#include <algorithm>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

namespace {

template <typename T>
__global__ void __launch_bounds__(256)
    copyLoops(const LoopNest<2> nest, int64_t items, T *to, const T *from) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    int64_t at[2];
    offsetsAt(nest, i, at);
    to[at[0]] = from[at[1]];
  }
}

/// For a reshape whose two shapes have no loops in common.
template <typename T>
__global__ void __launch_bounds__(256)
    copyLogical(const LoopNest<1> toNest, const LoopNest<1> fromNest,
                int64_t items, T *to, const T *from) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    int64_t toAt[1], fromAt[1];
    offsetsAt(toNest, i, toAt);
    offsetsAt(fromNest, i, fromAt);
    to[toAt[0]] = from[fromAt[0]];
  }
}

template <typename T>
__global__ void __launch_bounds__(256)
    fillLoops(const LoopNest<1> nest, int64_t items, T *to, T value) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < items;
       i += stride) {
    int64_t at[1];
    offsetsAt(nest, i, at);
    to[at[0]] = value;
  }
}

} // namespace

/// Makes a nest count elements of 16 bytes; false where it cannot.
static bool widen(LoopNest<2> &nest, const Tensor &to, const Tensor &from) {
  const int64_t pack = 16 / sizeOf(to.type);
  const int inner = nest.rank - 1;
  bool wide = nest.stride[0][inner] == 1 && nest.stride[1][inner] == 1 &&
              nest.extent[inner] % pack == 0;
  for (const Tensor *t : {&to, &from})
    wide &= reinterpret_cast<uintptr_t>(t->data) % 16 == 0;
  for (int d = 0; d < inner; ++d)
    wide &= nest.stride[0][d] % pack == 0 && nest.stride[1][d] % pack == 0;
  if (!wide)
    return false;
  nest.extent[inner] /= pack;
  for (int d = 0; d < inner; ++d)
    for (int k = 0; k < 2; ++k)
      nest.stride[k][d] /= pack;
  return true;
}

static void launchCopy(CudaLane &lane, LoopNest<2> nest, const Tensor &to,
                       const Tensor &from) {
  const bool wide = widen(nest, to, from);
  const int64_t items = iterations(nest);
  if (items == 0) // of padding that meets nothing
    return;
  auto launch = [&](auto kernel, auto *target, auto *source) {
    lane.launch(kernel, lane.blocksFor(items, 256), 256, nest, items, target,
                source);
  };
  if (wide)
    launch(copyLoops<uint4>, to.as<uint4>(), from.as<const uint4>());
  else if (sizeOf(to.type) == 1)
    launch(copyLoops<uint8_t>, to.as<uint8_t>(), from.as<const uint8_t>());
  else
    launch(copyLoops<uint32_t>, to.as<uint32_t>(), from.as<const uint32_t>());
}

void cuda::launchCopy(CudaLane &lane, const Tensor &to, const Tensor &from) {
  ::launchCopy(lane, copyNest(to, from), to, from);
}

static void launchFill(CudaLane &lane, const Tensor &box, float value) {
  LoopNest<1> nest = logicalNest(box);
  collapse(nest);
  const int64_t items = iterations(nest);
  if (items == 0)
    return;
  auto launch = [&](auto kernel, auto *to, auto converted) {
    lane.launch(kernel, lane.blocksFor(items, 256), 256, nest, items, to,
                converted);
  };
  switch (box.type) {
  case DType::f32:
    return launch(fillLoops<float>, box.as<float>(), value);
  case DType::i32:
    return launch(fillLoops<int32_t>, box.as<int32_t>(),
                  static_cast<int32_t>(value));
  case DType::u8:
    return launch(fillLoops<uint8_t>, box.as<uint8_t>(),
                  static_cast<uint8_t>(value));
  }
}

void rt::transfer(Lane &base, const Tensors &ys, const Tensors &xs) {
  assert(ys.size() == xs.size() && "one source for each target");
  CudaLane &lane = cudaLane(base);
  lane.append(
      "transfer", ys,
      [=, &lane] {
        // Unified addressing: the driver knows whose memory each side is.
        if (lane.isRunning())
          for (size_t i = 0; i < ys.size(); ++i)
            check(cudaMemcpyAsync(ys[i].data, xs[i].data,
                                  static_cast<size_t>(ys[i].bytes()),
                                  cudaMemcpyDefault, lane.stream),
                  "moving a tensor between devices");
      },
      0, xs);
}

void rt::reshape(Lane &base, Tensor y, Tensor x) {
  CudaLane &lane = cudaLane(base);
  LoopNest<2> nest;
  if (reshapeNest(y, x, nest)) {
    lane.append("reshape", {y}, [=, &lane] { launchCopy(lane, nest, y, x); });
    return;
  }
  lane.append("reshape", {y}, [=, &lane] {
    const int64_t items = y.elements();
    auto launch = [&](auto kernel, auto *to, auto *from) {
      lane.launch(kernel, lane.blocksFor(items, 256), 256, logicalNest(y),
                  logicalNest(x), items, to, from);
    };
    if (sizeOf(y.type) == 1)
      launch(copyLogical<uint8_t>, y.as<uint8_t>(), x.as<const uint8_t>());
    else
      launch(copyLogical<uint32_t>, y.as<uint32_t>(), x.as<const uint32_t>());
  });
}

static void appendCopy(Lane &base, const char *op, const Tensor &result,
                       const Tensor &to, const Tensor &from) {
  CudaLane &lane = cudaLane(base);
  lane.append(op, {result}, [=, &lane] { launchCopy(lane, to, from); });
}

void rt::transpose(Lane &lane, Tensor y, Tensor x,
                   const TransposeParams &params) {
  appendCopy(lane, "transpose", y, y, permuted(x, params.perm.data()));
}

void rt::concat(Lane &base, Tensor y, const Tensors &xs,
                const AxisParams &params) {
  CudaLane &lane = cudaLane(base);
  auto copy = [=, &lane] {
    int64_t at = 0;
    for (const Tensor &x : xs) {
      launchCopy(lane, alongAxis(y, params.axis, at, x.dim[params.axis]), x);
      at += x.dim[params.axis];
    }
  };
  lane.append("concat", {y}, copy, 0, xs);
}

void rt::split(Lane &base, const Tensors &ys, Tensor x,
               const SplitParams &params) {
  CudaLane &lane = cudaLane(base);
  lane.append("split", ys, [=, &lane] {
    int64_t at = 0;
    for (size_t i = 0; i < ys.size(); ++i) {
      if (ys[i])
        launchCopy(lane, ys[i], alongAxis(x, params.axis, at, params.sizes[i]));
      at += params.sizes[i];
    }
  });
}

void rt::pad(Lane &base, Tensor y, Tensor x, const PadParams &params) {
  CudaLane &lane = cudaLane(base);
  lane.append("pad", {y}, [=, &lane] {
    Overlap o = overlapOf(y, x, params.low.data());
    forEachFrameBox(y, o.begin, o.end, [&](const Tensor &box) {
      launchFill(lane, box, params.value);
    });
    launchCopy(lane, o.inY, o.inX);
  });
}

void rt::slice(Lane &lane, Tensor y, Tensor x, const SliceParams &params) {
  appendCopy(lane, "slice", y, y,
             sliced(x, y, params.start.data(), params.step.data()));
}

void rt::repeat(Lane &base, Tensor y, Tensor x, const GroupParams &params) {
  CudaLane &lane = cudaLane(base);
  lane.append("repeat", {y}, [=, &lane] {
    for (const GroupRun &run : groupRuns(y.dim[0], params.group, params.skip))
      launchCopy(lane, repeatNest(y, x, run),
                 alongAxis(y, 0, run.begin, run.count * run.samples),
                 alongAxis(x, 0, run.first, run.count));
  });
}

void rt::slice_grad(Lane &base, Tensor dx, Tensor dy,
                    const SliceParams &params) {
  CudaLane &lane = cudaLane(base);
  lane.append("slice_grad", {dx}, [=, &lane] {
    launchFill(lane, dx, 0.0f);
    launchCopy(lane, sliced(dx, dy, params.start.data(), params.step.data()),
               dy);
  });
}

void rt::fill(Lane &base, Tensor y, const FillParams &params) {
  CudaLane &lane = cudaLane(base);
  lane.append("fill", {y}, [=, &lane] { launchFill(lane, y, params.value); });
}
