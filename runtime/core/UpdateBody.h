//===- UpdateBody.h - One parameter element's update ------------*- C++ -*-===//
//
// The arithmetic of each optimizer on one element, which both backends share.
// A body is a struct with the number of its states, and `apply`, which gets the
// weight, the gradient and the states. Rounded as PyTorch rounds: what it
// computes in double precision for all elements comes in `scalars`.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_UPDATEBODY_H
#define LWCC_RUNTIME_CORE_UPDATEBODY_H

#include "runtime/core/Math.h"
#include "runtime/core/Ops.h"
#include "runtime/core/Scalars.h"

namespace lwcc::rt {

/// Whether the step may change anything: the loss is neither NaN nor infinite.
LWCC_HD bool isFiniteLoss(float loss) { return abs(loss) < INFINITY; }

/// The step's numbers as they are for one parameter.
LWCC_HD StepScalars scalarsFor(StepScalars s, const UpdateParams &params) {
  s.lr = s.lr * params.lr_scale;
  s.weight_decay = s.weight_decay * params.decay_scale;
  s.decoupled_decay = s.decoupled_decay * params.decay_scale;
  return s;
}

/// torch.nn.utils.clip_grad_value_; NaN stays.
template <typename T>
LWCC_HD T clipped(const StepScalars &s, const T &gradient) {
  const T high = T{} + s.clip_value, low = T{} - s.clip_value;
  T g = gradient > high ? high : gradient;
  return g < low ? low : g;
}

/// torch.optim.SGD with dampening 0. The momentum buffer starts at zero: the
/// first step then leaves the gradient in it, as PyTorch does. T is float, or a
/// vector of floats.
struct SgdBody {
  static constexpr int states = 1;
  template <typename T>
  LWCC_HD static void apply(const StepScalars &s, T &w, const T &gradient,
                            T *state) {
    T &m = state[0];
    T g = clipped(s, gradient) + s.weight_decay * w;
    m = s.momentum * m + g;
    T direction = s.nesterov ? g + s.momentum * m : m;
    w = w - s.lr * direction;
  }
};

/// torch.optim.Adam and AdamW (Kingma and Ba, 2015; Loshchilov and Hutter,
/// 2019).
struct AdamBody {
  static constexpr int states = 2;
  LWCC_HD static void apply(const StepScalars &s, float &w, float gradient,
                            float *state) {
    float &m = state[0], &v = state[1];
    w = w * (1.0f - s.lr * s.decoupled_decay);
    float g = clipped(s, gradient) + s.weight_decay * w;
    m = m + s.one_minus_beta1 * (g - m);
    v = s.beta2 * v + s.one_minus_beta2 * g * g;
    w = w - s.lr / s.bias1 * m / (sqrt(v) / s.root_bias2 + s.eps);
  }
};

/// torch.optim.RMSprop (Tieleman and Hinton, 2012), not centered; its alpha is
/// beta2. The momentum is there also where it is 0.
struct RmsPropBody {
  static constexpr int states = 2;
  LWCC_HD static void apply(const StepScalars &s, float &w, float gradient,
                            float *state) {
    float &v = state[0], &m = state[1];
    float g = clipped(s, gradient) + s.weight_decay * w;
    v = s.beta2 * v + s.one_minus_beta2 * g * g;
    m = s.momentum * m + g / (sqrt(v) + s.eps);
    w = w - s.lr * m;
  }
};

/// torch.optim.Adagrad (Duchi et al., 2011). What its lr_decay leaves of the
/// learning rate is lr.
struct AdagradBody {
  static constexpr int states = 1;
  LWCC_HD static void apply(const StepScalars &s, float &w, float gradient,
                            float *state) {
    float &v = state[0];
    float g = clipped(s, gradient) + s.weight_decay * w;
    v = v + g * g;
    w = w - s.lr * g / (sqrt(v) + s.eps);
  }
};

/// Lion (Chen et al., "Symbolic discovery of optimization algorithms", 2023).
struct LionBody {
  static constexpr int states = 1;
  LWCC_HD static void apply(const StepScalars &s, float &w, float gradient,
                            float *state) {
    float &m = state[0];
    w = w * (1.0f - s.lr * s.decoupled_decay);
    float g = clipped(s, gradient) + s.weight_decay * w;
    float u = s.momentum * m + s.one_minus_beta1 * g;
    float sign = u > 0.0f ? 1.0f : u < 0.0f ? -1.0f : u; // of 0 and NaN: itself
    w = w - s.lr * sign;
    m = s.beta2 * m + s.one_minus_beta2 * g;
  }
};

//===----------------------------------------------------------------------===//
// By norms of the whole parameter: `prepare` returns the element of the vector
// whose norm is compared with the weight's; `finish` updates, times `trust`.
//===----------------------------------------------------------------------===//

/// LARS (You et al., "Large batch training of convolutional networks", 2017),
/// as timm has it: without weight decay, plain SGD.
struct LarsBody {
  static constexpr int states = 1;
  LWCC_HD static float prepare(const StepScalars &s, float /*w*/,
                               float gradient, float * /*state*/) {
    return clipped(s, gradient);
  }
  LWCC_HD static float trust(const StepScalars &s, float weight, float vector) {
    if (s.weight_decay == 0.0f || !(weight > 0.0f && vector > 0.0f))
      return 1.0f;
    return s.trust_coefficient * weight /
           (vector + weight * s.weight_decay + s.eps);
  }
  LWCC_HD static void finish(const StepScalars &s, float trust, float &w,
                             float gradient, float *state) {
    float &m = state[0];
    float g = trust * (clipped(s, gradient) + s.weight_decay * w);
    m = s.momentum * m + g;
    w = w - s.lr * (s.nesterov ? g + s.momentum * m : m);
  }
};

/// LAMB (You et al., "Large batch optimization for deep learning", 2020), as
/// timm has it, but for its bound of all gradients' norm: without weight decay,
/// plain Adam.
struct LambBody {
  static constexpr int states = 2;
  LWCC_HD static float direction(const StepScalars &s, float w,
                                 const float *state) {
    return state[0] / s.bias1 / (sqrt(state[1]) / s.root_bias2 + s.eps) +
           s.weight_decay * w;
  }
  LWCC_HD static float prepare(const StepScalars &s, float w, float gradient,
                               float *state) {
    float &m = state[0], &v = state[1];
    float g = clipped(s, gradient);
    m = s.momentum * m + s.one_minus_beta1 * g;
    v = s.beta2 * v + s.one_minus_beta2 * g * g;
    return direction(s, w, state);
  }
  LWCC_HD static float trust(const StepScalars &s, float weight, float vector) {
    return s.weight_decay != 0.0f && weight > 0.0f && vector > 0.0f
               ? weight / vector
               : 1.0f;
  }
  LWCC_HD static void finish(const StepScalars &s, float trust, float &w,
                             float /*gradient*/, float *state) {
    w = w - s.lr * (trust * direction(s, w, state));
  }
};

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CORE_UPDATEBODY_H
