//===- Role.h - What a tensor of a program is for ---------------*- C++ -*-===//
//
// The one list of it, from the importer, which says what a parameter of the
// model is, over the buffers of `exec` to the program's tables and the trainer.
// The compiler writes a role by its name (ir/train/Attributes.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_CORE_ROLE_H
#define LWCC_RUNTIME_CORE_ROLE_H

#include <string_view>

namespace lwcc {

enum class Role {
  // State: persistent, with an initial value.
  trainable,
  frozen,    ///< a weight that is not trained, but saved like the others
  statistic, ///< running mean or variance
  average,   ///< of a trainable's values over the steps, for inference
  optimizer, ///< momentum, ...; not exported
  constant,  ///< a buffer of the model: neither trained nor saved
  // The trainer writes them before a step, or reads them after it.
  input,
  labels,
  shares,    ///< what part of each sample each class is, in training
  auxiliary, ///< labels of an output beside the main one, in training
  scalars,
  loss,
  metric,
  scores, ///< of an evaluation; a step leaves them
  // Memory of one step.
  activation,
  gradient
};

inline constexpr Role allRoles[] = {
    Role::trainable, Role::frozen,    Role::statistic,  Role::average,
    Role::optimizer, Role::constant,  Role::input,      Role::labels,
    Role::shares,    Role::auxiliary, Role::scalars,    Role::loss,
    Role::metric,    Role::scores,    Role::activation, Role::gradient};

constexpr bool isState(Role role) { return role <= Role::constant; }
/// Whether a state tensor is one of the model's weights.
constexpr bool isWeight(Role role) {
  return role == Role::trainable || role == Role::frozen;
}
/// Whether it is what the trainer puts there before a step.
constexpr bool isGiven(Role role) {
  return role >= Role::input && role <= Role::scalars;
}
/// Whether it says what is right of each sample.
constexpr bool isLabels(Role role) {
  return role == Role::labels || role == Role::auxiliary;
}
/// Whether the trainer reads it after a step.
constexpr bool isResult(Role role) {
  return role >= Role::loss && role <= Role::scores;
}

/// The average of a trainable tensor has this name behind its own.
inline constexpr char averageSuffix[] = ".average";

/// The auxiliary labels of an output have this ahead of its name.
inline constexpr std::string_view auxiliaryPrefix = "labels.";

} // namespace lwcc

#endif // LWCC_RUNTIME_CORE_ROLE_H
