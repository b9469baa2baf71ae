//===- Update.h - An optimizer's update on the CPU --------------*- C++ -*-===//
//
// What all optimizers share: gradients are summed, and a function updates piece
// after piece. An optimizer is such a function, made of its body
// (core/UpdateBody.h), and compiled for several processors (LWCC_CLONES).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CPU_UPDATE_H
#define LWCC_RUNTIME_CPU_UPDATE_H

#include "runtime/core/UpdateBody.h"

namespace lwcc::rt {

/// Most states that an optimizer keeps.
inline constexpr size_t maxStates = 2;

/// Updates n elements of w and of the states by the gradient g.
using UpdateRange = void (*)(const StepScalars &s, int64_t n, float *w,
                             const float *g, float *const *states);

template <typename Body>
inline void updateRange(const StepScalars &scalars, int64_t n, float *w,
                        const float *g, float *const *states) {
  static_assert(Body::states <= maxStates);
  const StepScalars s = scalars; // a copy that the stores below cannot change
  float *at[Body::states];
  for (int k = 0; k < Body::states; ++k)
    at[k] = states[k];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float state[Body::states];
    for (int k = 0; k < Body::states; ++k)
      state[k] = at[k][i];
    Body::apply(s, w[i], g[i], state);
    for (int k = 0; k < Body::states; ++k)
      at[k][i] = state[k];
  }
}

/// The two passes of an optimizer that needs norms of the whole parameter.
struct NormPasses {
  /// Of n elements; adds the squares of the weights and of what is compared
  /// with them to norms[0] and norms[1].
  void (*prepare)(const StepScalars &s, int64_t n, const float *w,
                  const float *g, float *const *states, double *norms);
  float (*trust)(const StepScalars &s, float weight, float vector);
  void (*finish)(const StepScalars &s, float trust, int64_t n, float *w,
                 const float *g, float *const *states);
};

template <typename Body>
inline void prepareRange(const StepScalars &scalars, int64_t n, const float *w,
                         const float *g, float *const *states, double *norms) {
  const StepScalars s = scalars;
  double weight = 0, vector = 0;
  for (int64_t i = 0; i < n; ++i) {
    float state[Body::states];
    for (int k = 0; k < Body::states; ++k)
      state[k] = states[k][i];
    const double u = Body::prepare(s, w[i], g[i], state);
    for (int k = 0; k < Body::states; ++k)
      states[k][i] = state[k];
    weight += double(w[i]) * w[i];
    vector += u * u;
  }
  norms[0] += weight;
  norms[1] += vector;
}

template <typename Body>
inline void finishRange(const StepScalars &scalars, float trust, int64_t n,
                        float *w, const float *g, float *const *states) {
  const StepScalars s = scalars;
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    float state[Body::states];
    for (int k = 0; k < Body::states; ++k)
      state[k] = states[k][i];
    Body::finish(s, trust, w[i], g[i], state);
    for (int k = 0; k < Body::states; ++k)
      states[k][i] = state[k];
  }
}

/// Appends an update of the whole w, in two passes.
void appendUpdate(Lane &lane, const char *name, const NormPasses &passes,
                  Tensor w, const Tensors &states, Tensor scalars, Tensor loss,
                  const Tensors &gs, const UpdateParams &params);

/// Appends an update of w and the states in place, by the sum of gs.
void appendUpdate(Lane &lane, const char *name, UpdateRange range, Tensor w,
                  const Tensors &states, Tensor scalars, Tensor loss,
                  const Tensors &gs, const UpdateParams &params);

} // namespace lwcc::rt

#endif // LWCC_RUNTIME_CPU_UPDATE_H
