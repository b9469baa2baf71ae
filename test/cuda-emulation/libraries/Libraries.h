//===- Libraries.h - What tests may choose of the libraries -----*- C++ -*-===//
//
// cuBLASLt and cuDNN on the host, for tests: NVIDIA's headers, plain loops.
// What the real libraries leave open (which engine is offered first, which one
// fails, in which order sums are taken) is drawn from a seed here, so that a
// program that counts on more than it was promised is found by some seed.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_CUDAEMULATION_LIBRARIES_H
#define LWCC_TEST_CUDAEMULATION_LIBRARIES_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <set>
#include <vector>

#include <driver_types.h>

namespace lwcc::emulation {

struct LibraryOptions {
  /// Added to the emulation's own.
  uint64_t seed = 0;
  /// Engines of cuDNN (see CudnnEngines.h) that fail when a plan is made of
  /// them, and when they run.
  std::set<int64_t> refusedEngines, failingEngines;
  /// Whether the seed refuses, leaves out and fails engines, too.
  bool capricious = true;
};

/// Of this process. Set before the first call of a library.
LibraryOptions &libraryOptions();

/// A number that depends on the seed and on `parts` only.
uint64_t drawOf(std::initializer_list<uint64_t> parts);

/// Moves floats up or down by their last bit, differently in every call: what a
/// sum in no particular order may do to results.
void jitter(float *values, size_t count);

/// `value` with the 10 bits of mantissa that a tensor core reads.
float roundToTf32(float value);

/// Remembers that `what` (a plan, an algorithm) runs on the stream's device.
/// Libraries load code when they run something for the first time, which they
/// must not while a stream is captured: that is reported, under `name`.
void noteRun(const char *name, cudaStream_t stream, uint64_t what);

/// The extents and strides, in elements, of what lies in memory as floats.
struct Strided {
  std::vector<int64_t> dims, strides;
};
/// Calls f(offset, elements) for every run of adjacent elements, in order of
/// their addresses where strides do not overlap; stops where f is false.
bool forEachRun(const Strided &shape,
                const std::function<bool(int64_t, int64_t)> &f);
/// Checks and notes a read (a write) of all elements of a tensor, and of
/// nothing between them, inside the work of a stream.
bool readAll(const float *data, const Strided &shape);
bool writeAll(float *data, const Strided &shape);

} // namespace lwcc::emulation

#endif // LWCC_TEST_CUDAEMULATION_LIBRARIES_H
