//===- TestMemory.h - Floats on the device, for tests -----------*- C++ -*-===//
#ifndef LWCC_TEST_CUDAEMULATION_TESTMEMORY_H
#define LWCC_TEST_CUDAEMULATION_TESTMEMORY_H

#include "test/cuda-emulation/Emulation.h"

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace lwcc::emulation::test {

using Floats = std::vector<float>;

/// Device memory of exactly these floats, `shift` bytes behind an address that
/// is aligned to 256.
class OnDevice {
public:
  explicit OnDevice(const Floats &values, size_t shift = 0)
      : OnDevice(values.size(), shift) {
    cudaMemcpy(data(), values.data(), count * sizeof(float),
               cudaMemcpyHostToDevice);
  }
  /// Of unknown contents.
  explicit OnDevice(size_t count, size_t shift = 0)
      : count(count), shift(shift) {
    cudaMalloc(&base, shift + count * sizeof(float));
    if (shift)
      forbid(base, shift);
  }
  OnDevice(const OnDevice &) = delete;
  ~OnDevice() {
    if (shift)
      allow(base, shift);
    cudaFree(base);
  }

  float *data() const {
    return reinterpret_cast<float *>(static_cast<char *>(base) + shift);
  }
  Floats read() const {
    Floats values(count);
    cudaDeviceSynchronize();
    cudaMemcpy(values.data(), data(), count * sizeof(float),
               cudaMemcpyDeviceToHost);
    return values;
  }

private:
  void *base = nullptr;
  size_t count, shift;
};

/// About [-1, 1], of which TF32 cannot hold the last bits.
inline Floats randomFloats(std::mt19937 &random, size_t count) {
  Floats values(count);
  for (float &value : values)
    value = 1.01f * (static_cast<float>(random() % 4096) / 2048 - 1);
  return values;
}

inline int64_t between(std::mt19937 &random, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(random() % uint64_t(high - low + 1));
}

/// The largest difference; NaN beside NaN is none, beside anything else a large
/// one.
inline double difference(const Floats &a, const std::vector<double> &b) {
  double largest = a.size() == b.size() ? 0 : 1e30;
  for (size_t i = 0; i < a.size() && i < b.size(); ++i) {
    bool nanA = a[i] != a[i], nanB = b[i] != b[i];
    double d = nanA && nanB   ? 0
               : nanA || nanB ? 1e30
                              : static_cast<double>(a[i]) - b[i];
    largest = std::max(largest, d < 0 ? -d : d);
  }
  return largest;
}

/// Whether a finding has this text in it.
inline bool found(const std::string &text) {
  return std::any_of(faults().begin(), faults().end(),
                     [&](const std::string &fault) {
                       return fault.find(text) != std::string::npos;
                     });
}

} // namespace lwcc::emulation::test

#endif // LWCC_TEST_CUDAEMULATION_TESTMEMORY_H
