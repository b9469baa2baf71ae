//===- MapLoops.h - The loops of an elementwise kernel ----------*- C++ -*-===//
//
// From tensors to MapArguments: which loops a map runs over, and whether four
// neighbours can be handled at a time. Host code without CUDA calls, so that it
// is tested without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CUDA_MAPLOOPS_H
#define LWCC_RUNTIME_CUDA_MAPLOOPS_H

#include "runtime/cuda/Map.cuh"

namespace lwcc::rt::cuda {

struct MapLoops {
  bool vector = false;    ///< `main` counts items of four elements
  MapArguments main;      ///< all elements, or all but the tail
  MapArguments tail = {}; ///< at most three elements; items is 0 if none
};

/// Throws Error where the loops do not fit the kernels.
MapLoops mapLoops(const Tensor &y, const Tensors &xs, const Tensor &scalars,
                  const MapParams &params = {});

} // namespace lwcc::rt::cuda

#endif // LWCC_RUNTIME_CUDA_MAPLOOPS_H
