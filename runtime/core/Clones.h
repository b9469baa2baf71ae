//===- Clones.h - Functions for several processors --------------*- C++ -*-===//
//
// What a loop is compiled for beside the oldest x86-64, and where that cannot
// be.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_CLONES_H
#define LWCC_RUNTIME_CORE_CLONES_H

// A function with this attribute is compiled for AVX2 and AVX-512 as well and
// chosen when the program starts. Contraction is off, so all versions round
// alike. Not with sanitizers: their run time is not up yet when the choice is
// made. Nor with clang, which does not inline what clones call.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) &&                    \
    !defined(__SANITIZE_ADDRESS__) && !defined(__clang__)
#define LWCC_CLONES                                                            \
  __attribute__((target_clones("default", "avx2", "avx512f"), flatten))
// The same in programs, which are compiled for one processor or newer ones.
#define LWCC_PROGRAM_CLONES                                                    \
  __attribute__((target_clones("default", "avx512f"), flatten))
// The same with AVX-512 and fused multiply-adds for what is bound by
// arithmetic; such a function rounds as its clone does.
#define LWCC_FAST_CLONES                                                       \
  __attribute__((target_clones("default", "arch=haswell", "avx512f"), flatten))
#else
#define LWCC_CLONES
#define LWCC_PROGRAM_CLONES
#define LWCC_FAST_CLONES
#endif

#endif // LWCC_RUNTIME_CORE_CLONES_H
