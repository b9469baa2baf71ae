//===- Updates.h - Optimizers, as their papers have them --------*- C++ -*-===//
//
// A row per optimizer: the call, and one element's update in double precision,
// as torch.optim documents it. Read by the checks of both backends.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_OPS_UPDATES_H
#define LWCC_TEST_OPS_UPDATES_H

#include "runtime/core/Ops.h"
#include "runtime/core/Scalars.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace lwcc::check {

struct Update {
  const char *name;
  size_t states;
  /// Calls the runtime's function, with w and the states as its results, too.
  void (*append)(rt::Lane &lane, const rt::Tensor &w, const rt::Tensors &states,
                 const rt::Tensor &scalars, const rt::Tensor &loss,
                 const rt::Tensors &gs, const rt::UpdateParams &params);
  /// Learning rate and weight decay are those of the parameter already.
  void (*element)(const rt::StepScalars &s, double g, double &w, double *state);
  /// Instead, of an optimizer that needs norms: the element whose vector's norm
  /// is compared with the weights', with the states updated; and what follows.
  double (*vector)(const rt::StepScalars &s, double g, double w, double *state);
  double (*trust)(const rt::StepScalars &s, double weights, double vector);
  void (*finish)(const rt::StepScalars &s, double trust, double g, double &w,
                 double *state);
};

/// Numbers of a third step that tell all of them apart.
inline rt::StepScalars stepOfUpdate(bool nesterov) {
  rt::StepScalars s;
  s.step = 3;
  s.nesterov = nesterov;
  s.lr = 0.1f;
  s.weight_decay = 0.01f;
  s.decoupled_decay = 0.02f;
  s.clip_value = 0.75f;
  s.momentum = 0.8f;
  s.beta2 = 0.95f;
  s.one_minus_beta1 = 0.2f;
  s.one_minus_beta2 = 0.05f;
  s.bias1 = 0.488f;
  s.root_bias2 = 0.37766f;
  s.eps = 1e-3f;
  s.trust_coefficient = 0.3f;
  return s;
}

inline double clippedGradient(const rt::StepScalars &s, double g) {
  const double limit = s.clip_value;
  return std::clamp(g, -limit, limit);
}

inline const std::vector<Update> &updates() {
  using namespace rt;
  static const std::vector<Update> table = {
      {"sgd", 1,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         sgd(lane, w, s[0], w, s[0], scalars, loss, gs, params);
       },
       [](const StepScalars &s, double g, double &w, double *state) {
         const double d = clippedGradient(s, g) + s.weight_decay * w;
         state[0] = s.momentum * state[0] + d;
         w -= s.lr * (s.nesterov ? d + s.momentum * state[0] : state[0]);
       }},
      {"adam", 2,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         adam(lane, w, s[0], s[1], w, s[0], s[1], scalars, loss, gs, params);
       },
       [](const StepScalars &s, double g, double &w, double *state) {
         w -= s.lr * s.decoupled_decay * w;
         const double d = clippedGradient(s, g) + s.weight_decay * w;
         state[0] = s.momentum * state[0] + (1 - s.momentum) * d;
         state[1] = s.beta2 * state[1] + (1 - s.beta2) * d * d;
         const double mean = state[0] / s.bias1,
                      square = state[1] / (s.root_bias2 * s.root_bias2);
         w -= s.lr * mean / (std::sqrt(square) + s.eps);
       }},
      {"rmsprop", 2,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         rmsprop(lane, w, s[0], s[1], w, s[0], s[1], scalars, loss, gs, params);
       },
       [](const StepScalars &s, double g, double &w, double *state) {
         const double d = clippedGradient(s, g) + s.weight_decay * w;
         state[0] = s.beta2 * state[0] + (1 - s.beta2) * d * d;
         state[1] = s.momentum * state[1] + d / (std::sqrt(state[0]) + s.eps);
         w -= s.lr * state[1];
       }},
      {"adagrad", 1,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         adagrad(lane, w, s[0], w, s[0], scalars, loss, gs, params);
       },
       [](const StepScalars &s, double g, double &w, double *state) {
         const double d = clippedGradient(s, g) + s.weight_decay * w;
         state[0] += d * d;
         w -= s.lr * d / (std::sqrt(state[0]) + s.eps);
       }},
      {"lion", 1,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         lion(lane, w, s[0], w, s[0], scalars, loss, gs, params);
       },
       [](const StepScalars &s, double g, double &w, double *state) {
         w -= s.lr * s.decoupled_decay * w;
         const double d = clippedGradient(s, g) + s.weight_decay * w;
         const double u = s.momentum * state[0] + (1 - s.momentum) * d;
         w -= s.lr * (std::isnan(u) ? u : (u > 0) - (u < 0));
         state[0] = s.beta2 * state[0] + (1 - s.beta2) * d;
       }},
      {"lars", 1,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         lars(lane, w, s[0], w, s[0], scalars, loss, gs, params);
       },
       nullptr,
       [](const StepScalars &s, double g, double, double *) {
         return clippedGradient(s, g);
       },
       [](const StepScalars &s, double weights, double vector) {
         return s.trust_coefficient * weights /
                (vector + s.weight_decay * weights + s.eps);
       },
       [](const StepScalars &s, double trust, double g, double &w,
          double *state) {
         const double d = trust * (clippedGradient(s, g) + s.weight_decay * w);
         state[0] = s.momentum * state[0] + d;
         w -= s.lr * (s.nesterov ? d + s.momentum * state[0] : state[0]);
       }},
      {"lamb", 2,
       [](Lane &lane, const Tensor &w, const Tensors &s, const Tensor &scalars,
          const Tensor &loss, const Tensors &gs, const UpdateParams &params) {
         lamb(lane, w, s[0], s[1], w, s[0], s[1], scalars, loss, gs, params);
       },
       nullptr,
       [](const StepScalars &s, double g, double w, double *state) {
         const double d = clippedGradient(s, g);
         state[0] = s.momentum * state[0] + (1 - s.momentum) * d;
         state[1] = s.beta2 * state[1] + (1 - s.beta2) * d * d;
         return state[0] / s.bias1 /
                    (std::sqrt(state[1]) / s.root_bias2 + s.eps) +
                s.weight_decay * w;
       },
       [](const StepScalars &, double weights, double vector) {
         return weights / vector;
       },
       [](const StepScalars &s, double trust, double, double &w,
          double *state) {
         w -= s.lr * trust *
              (state[0] / s.bias1 /
                   (std::sqrt(state[1]) / s.root_bias2 + s.eps) +
               s.weight_decay * w);
       }},
  };
  return table;
}

/// A step of a whole parameter; `states` are those of its elements, one vector
/// a state.
inline void stepOf(const Update &row, const rt::StepScalars &s,
                   const std::vector<double> &g, std::vector<double> &w,
                   std::vector<std::vector<double>> &states) {
  auto forEach = [&](auto update) {
    for (size_t i = 0; i < w.size(); ++i) {
      double own[2] = {};
      for (size_t k = 0; k < row.states; ++k)
        own[k] = states[k][i];
      update(g[i], w[i], own);
      for (size_t k = 0; k < row.states; ++k)
        states[k][i] = own[k];
    }
  };
  if (row.element) {
    forEach([&](double gi, double &wi, double *own) {
      row.element(s, gi, wi, own);
    });
    return;
  }
  double weights = 0, vector = 0;
  forEach([&](double gi, double &wi, double *own) {
    const double u = row.vector(s, gi, wi, own);
    weights += wi * wi;
    vector += u * u;
  });
  const double trust =
      s.weight_decay == 0 || weights == 0 || vector == 0
          ? 1
          : row.trust(s, std::sqrt(weights), std::sqrt(vector));
  forEach([&](double gi, double &wi, double *own) {
    row.finish(s, trust, gi, wi, own);
  });
}

} // namespace lwcc::check

#endif // LWCC_TEST_OPS_UPDATES_H
