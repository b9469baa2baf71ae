//===- Libraries.cpp - What tests may choose of the libraries -------------===//

#include "test/cuda-emulation/libraries/Libraries.h"
#include "test/cuda-emulation/Emulation.h"

#include <algorithm>
#include <bit>
#include <cmath>

using namespace lwcc;

emulation::LibraryOptions &emulation::libraryOptions() {
  static LibraryOptions options;
  return options;
}

/// The finalizer of SplitMix64.
static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

uint64_t emulation::drawOf(std::initializer_list<uint64_t> parts) {
  uint64_t value = mix(seed() + libraryOptions().seed + 0x9e3779b97f4a7c15u);
  for (uint64_t part : parts)
    value = mix(value + part + 0x9e3779b97f4a7c15u);
  return value;
}

void emulation::jitter(float *values, size_t count) {
  for (size_t i = 0; i < count; ++i)
    if (std::isnormal(values[i]) && random() % 2)
      values[i] = std::nextafter(values[i], 0.0f);
}

float emulation::roundToTf32(float value) {
  if (!std::isfinite(value))
    return value;
  // Half of the lowest bit that stays; a carry into the exponent is right.
  return std::bit_cast<float>((std::bit_cast<uint32_t>(value) + 0x1000u) &
                              0xffffe000u);
}

void emulation::noteRun(const char *name, cudaStream_t stream, uint64_t what) {
  static std::set<std::pair<int, uint64_t>> known;
  if (known.insert({deviceOf(stream), what}).second && isCapturing(stream))
    fault(std::string(name) + ": captured before it was run once");
}

bool emulation::forEachRun(const Strided &shape,
                           const std::function<bool(int64_t, int64_t)> &f) {
  // Dimensions that lead nowhere else do not count; the rest by stride.
  std::vector<std::pair<int64_t, int64_t>> loops; // stride, extent
  for (size_t d = 0; d < shape.dims.size(); ++d)
    if (shape.dims[d] != 1 && shape.strides[d] != 0)
      loops.push_back({shape.strides[d], shape.dims[d]});
  std::sort(loops.begin(), loops.end());
  int64_t run = 1;
  size_t first = 0;
  while (first < loops.size() && loops[first].first == run)
    run *= loops[first++].second;
  std::vector<int64_t> index(loops.size());
  for (int64_t offset = 0;;) {
    if (!f(offset, run))
      return false;
    size_t d = first;
    for (; d < loops.size(); ++d) {
      offset += loops[d].first;
      if (++index[d] < loops[d].second)
        break;
      offset -= loops[d].first * loops[d].second;
      index[d] = 0;
    }
    if (d == loops.size())
      return true;
  }
}

bool emulation::readAll(const float *data, const Strided &shape) {
  return forEachRun(shape, [&](int64_t offset, int64_t elements) {
    return read(data + offset, static_cast<size_t>(elements) * sizeof(float));
  });
}

bool emulation::writeAll(float *data, const Strided &shape) {
  return forEachRun(shape, [&](int64_t offset, int64_t elements) {
    return write(data + offset, static_cast<size_t>(elements) * sizeof(float));
  });
}
