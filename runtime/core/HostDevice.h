//===- HostDevice.h - How functions are compiled ----------------*- C++ -*-===//
//
// LWCC_HD marks a function that the CPU runtime and the CUDA kernels both
// call: its arithmetic and its index calculus are tested without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_HOSTDEVICE_H
#define LWCC_RUNTIME_CORE_HOSTDEVICE_H

#ifdef __CUDACC__
#define LWCC_HD __host__ __device__ inline
#else
#define LWCC_HD inline
#endif

// Before a short loop over neighbouring elements that do not depend on one
// another: vectors on the CPU (with -fopenmp), registers in CUDA.
#ifdef __CUDACC__
#define LWCC_NEIGHBOURS _Pragma("unroll")
#elif !defined(_OPENMP)
#define LWCC_NEIGHBOURS
#else
#define LWCC_NEIGHBOURS _Pragma("omp simd")
#endif

// Before a function that is called once, to record a sequence: it is compiled
// for size, and by g++ with few optimizations, in much less time. The loops
// that it names are templates, which are optimized all the same.
#if defined(__GNUC__) && !defined(__clang__)
#define LWCC_ONCE [[gnu::cold, gnu::optimize("O1")]]
#else
#define LWCC_ONCE [[gnu::cold]]
#endif

#endif // LWCC_RUNTIME_CORE_HOSTDEVICE_H
