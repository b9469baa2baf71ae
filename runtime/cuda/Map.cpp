//===- Map.cpp - Launching generated elementwise kernels ------------------===//

#include "runtime/core/LoopNest.h"
#include "runtime/cuda/CudaMachine.h"
#include "runtime/cuda/MapLoops.h"

#include <type_traits>

using namespace lwcc;
using namespace lwcc::rt;
using namespace lwcc::rt::cuda;

/// Whether four neighbours can be loaded at once.
static bool isAligned(const Tensor &tensor) {
  return reinterpret_cast<uintptr_t>(tensor.data) % (4 * sizeOf(tensor.type)) ==
         0;
}

/// The place of an element, as tensors of this type lie.
template <typename Pointer>
static Pointer *advance(Pointer *place, int64_t elements, DType type) {
  using Byte = std::conditional_t<std::is_const_v<Pointer>, const char, char>;
  return static_cast<Byte *>(place) + elements * sizeOf(type);
}

MapLoops cuda::mapLoops(const Tensor &y, const Tensors &xs,
                        const Tensor &scalars, const MapParams &params) {
  const int n = static_cast<int>(xs.size());
  assert(n <= maxMapInputs);
  // Operands of the nest: y, the inputs, the logical index.
  int rank = y.rank;
  int64_t extent[maxNest] = {}, stride[maxMapInputs + 2][maxNest] = {};
  for (int d = 0; d < rank; ++d) {
    extent[d] = y.dim[d];
    stride[0][d] = y.stride[d];
  }
  for (int k = 0; k < n; ++k)
    broadcastStrides(xs[k], y, stride[k + 1]);
  // Only an indexed kernel has scalars; the others need not keep the logical
  // order apart, so that more of their loops merge.
  const bool indexed = static_cast<bool>(scalars);
  int64_t first = 0;
  if (indexed)
    first = partStrides(y, params.begin, params.dims, stride[n + 1]);
  collapseLoops(rank, extent, stride, n + 1 + (indexed ? 1 : 0));

  MapArguments a;
  a.rank = rank;
  a.indexStart = first;
  a.items = 1;
  for (int d = 0; d < rank; ++d)
    a.items *= extent[d];
  a.y = y.data;
  a.scalars = scalars.as<const StepScalars>();
  for (int d = 0; d < rank; ++d) {
    a.extent[d] = static_cast<uint32_t>(extent[d]);
    a.strideY[d] = stride[0][d];
    for (int k = 0; k < n; ++k)
      a.strideX[k][d] = stride[k + 1][d];
    a.strideIndex[d] = indexed ? stride[n + 1][d] : 0;
  }
  for (int k = 0; k < n; ++k)
    a.x[k] = xs[k].data;

  // Four neighbours at a time: the innermost loop runs densely through y, and
  // through each input densely or not at all; other loops keep the alignment.
  const int inner = rank - 1;
  bool vector = a.strideY[inner] == 1 && isAligned(y) && extent[inner] >= 4;
  for (int k = 0; k < n; ++k) {
    a.dense[k] = a.strideX[k][inner] == 1;
    vector &= a.dense[k] ? isAligned(xs[k]) : a.strideX[k][inner] == 0;
  }
  for (int d = 0; d < inner; ++d) {
    vector &= a.strideY[d] % 4 == 0;
    for (int k = 0; k < n; ++k)
      vector &= !a.dense[k] || a.strideX[k][d] % 4 == 0;
  }
  // Items of several loops are divided as 32-bit numbers.
  if (rank > 1 && a.items / (vector ? 4 : 1) > INT64_C(0xFFFFFFFF))
    throw Error("a tensor has too many elements for one kernel; compile with a "
                "smaller --batch");
  MapLoops loops;
  loops.vector = vector;
  loops.main = a;
  if (!vector)
    return loops;

  const int64_t rest = a.items % 4; // only where there is one loop
  if (rest) {
    loops.tail = a;
    loops.tail.items = rest;
    const int64_t done = a.items - rest;
    loops.tail.y = advance(a.y, done * a.strideY[0], y.type);
    for (int k = 0; k < n; ++k)
      loops.tail.x[k] = advance(a.x[k], done * a.strideX[k][0], xs[k].type);
    loops.tail.indexStart += done * a.strideIndex[0];
  }
  MapArguments &m = loops.main;
  m.items /= 4;
  m.extent[inner] /= 4;
  m.indexStep = a.strideIndex[inner];
  m.strideY[inner] *= 4;
  m.strideIndex[inner] *= 4;
  for (int k = 0; k < n; ++k)
    m.strideX[k][inner] *= 4;
  return loops;
}

void cuda::appendMap(Lane &base, const MapKernels &kernels, Tensor y,
                     const Tensors &xs, Tensor scalars,
                     const MapParams &params) {
  assert(static_cast<int>(xs.size()) == kernels.inputs);
  assert((!kernels.indexed || scalars) && "an indexed kernel needs scalars");
  CudaLane &lane = cudaLane(base);
  MapLoops loops =
      mapLoops(y, xs, kernels.indexed ? scalars : Tensor{}, params);
  lane.append("map", {y}, [&lane, kernels, loops]() mutable {
    auto launch = [&](const void *kernel, MapArguments &a) {
      void *arguments[] = {&a};
      lane.launch(kernel, lane.blocksFor(a.items, 256), 256, arguments);
    };
    launch(loops.vector ? kernels.vector : kernels.scalar, loops.main);
    if (loops.tail.items)
      launch(kernels.scalar, loops.tail);
  });
}
