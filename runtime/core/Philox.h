//===- Philox.h - Counter-based random numbers ------------------*- C++ -*-===//
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011). A value depends only on (seed, stream, step, element), never on
// who draws it, so dropout masks, noise and initial weights are the same under
// every plan, device count and target.
//
//   key      low and high half of the seed
//   counter  {low half of element/4, high half of element/4, stream, step}
//   stream   streamOf(name): of the parameter, or of the output of the dropout
//            or of the node that draws noise
//   step     0 for initial weights, else StepScalars::step
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_PHILOX_H
#define LWCC_RUNTIME_CORE_PHILOX_H

#include "runtime/core/HostDevice.h"
#include "runtime/core/Scalars.h"

#include <cmath>
#include <cstdint>
#include <string_view>

namespace lwcc::rt {

/// FNV-1a, 32 bits.
inline uint32_t streamOf(std::string_view name) {
  uint32_t hash = 2166136261u;
  for (char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

struct Philox4 {
  uint32_t v[4];
};

LWCC_HD Philox4 philox(uint64_t seed, uint64_t block, uint32_t stream,
                       uint32_t step) {
  uint32_t c0 = static_cast<uint32_t>(block);
  uint32_t c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = stream, c3 = step;
  uint32_t k0 = static_cast<uint32_t>(seed);
  uint32_t k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    uint64_t p0 = uint64_t(0xD2511F53u) * c0;
    uint64_t p1 = uint64_t(0xCD9E8D57u) * c2;
    uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    uint32_t n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform in [0, 1) with 24 bits.
LWCC_HD float uniformOf(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 5.9604644775390625e-8f;
}

/// Element `i` (row-major, logical, of the global tensor) of a tensor that is
/// drawn uniformly from [0, 1).
LWCC_HD float random_uniform(const StepScalars &s, uint64_t i,
                             uint32_t stream) {
  // Word i & 3, selected rather than indexed: this vectorizes, and CUDA keeps
  // the words in registers.
  Philox4 words = philox(s.seed, i >> 2, stream, s.step);
  uint32_t low = i & 1 ? words.v[1] : words.v[0];
  uint32_t high = i & 1 ? words.v[3] : words.v[2];
  return uniformOf(i & 2 ? high : low);
}

/// The same of the standard normal distribution: Box and Muller's, as initial
/// weights are drawn, but in float.
LWCC_HD float random_normal(const StepScalars &s, uint64_t i, uint32_t stream) {
  Philox4 words = philox(s.seed, i >> 2, stream, s.step);
  uint32_t first = i & 2 ? words.v[2] : words.v[0];
  uint32_t second = i & 2 ? words.v[3] : words.v[1];
  constexpr float scale = 2.3283064365386963e-10f; // 2^-32
  constexpr float pi = 3.14159265358979f;
  float radius =
      ::sqrtf(-2.0f * ::logf((static_cast<float>(first) + 1.0f) * scale));
  float angle = 2.0f * pi * (static_cast<float>(second) * scale);
  // The sine of the angle for every second element.
  return radius * ::cosf(i & 1 ? angle - 0.5f * pi : angle);
}

/// What dropout multiplies element `i` (row-major, logical, of the global
/// tensor) with: 0, or 1/(1-ratio).
LWCC_HD float dropout_mask(const StepScalars &s, uint64_t i, float ratio,
                           uint32_t stream) {
  return random_uniform(s, i, stream) >= ratio ? 1.0f / (1.0f - ratio) : 0.0f;
}

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_PHILOX_H
