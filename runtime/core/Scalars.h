//===- Scalars.h - What changes from step to step ---------------*- C++ -*-===//
//
// The numbers that differ between steps: learning rate, seed, number of the
// step and others. A step is recorded once and replayed unchanged, so they lie
// in device memory as this struct. The trainer writes it before each step.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_SCALARS_H
#define LWCC_RUNTIME_CORE_SCALARS_H

#include <cstdint>
#include <limits>

namespace lwcc::rt {

/// 64 bytes: the tensor<64xui8> named `scalars` in the IR.
struct StepScalars {
  uint64_t seed = 0;
  uint32_t step = 0;     ///< number of this step over all epochs, from 1
  uint32_t nesterov = 0; ///< 0 or 1
  float lr = 0.0f;
  /// What the running average of the gradient keeps: SGD's momentum, beta1.
  float momentum = 0.0f;
  float weight_decay = 0.0f;    ///< added to the gradient
  float decoupled_decay = 0.0f; ///< taken off the weight (AdamW, Lion)
  float clip_value = std::numeric_limits<float>::infinity(); ///< of gradients
  float beta2 = 0.0f; ///< the same of the gradient's square
  /// One less momentum and beta2, as rounded from double precision.
  float one_minus_beta1 = 1.0f, one_minus_beta2 = 1.0f;
  float trust_coefficient = 0.0f; ///< of LARS
  /// Adam's corrections of this step: 1 - beta1^step, root of 1 - beta2^step.
  float bias1 = 1.0f, root_bias2 = 1.0f;
  float eps = 0.0f;
};
static_assert(sizeof(StepScalars) == 64, "the IR's type of scalars");

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_SCALARS_H
