//===- Work.h - What work a step consists of --------------------*- C++ -*-===//
//
// Defines the nouns of work, for plans, IR, printer and reports alike:
//
//   layer   one operator of the model, with its backward pass and the update of
//           its parameters; known by the name of its ONNX node
//   tile    one of the parts into which a plan cuts a layer, counted row-major
//           over (n, c, h, w, k)
//   phase   when in a step a piece of work is done, and what for
//   work    what one op or one call serves: a layer in one phase, or just one
//           tile of it (#train.work)
//   task    work of a lane that a plan puts in order (#train.task; text in plan
//           files only)
//
// Names of phases and tasks are written and read here alone.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_IR_PLACE_WORK_H
#define LWCC_IR_PLACE_WORK_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace lwcc {

/// In the order of a step. `weight` is that part of the backward pass for which
/// no other layer waits: the gradients of parameters.
enum class Phase { forward, backward, weight, update };

inline constexpr Phase allPhases[] = {Phase::forward, Phase::backward,
                                      Phase::weight, Phase::update};

llvm::StringRef phaseName(Phase phase); ///< "forward", ...
std::optional<Phase> phaseNamed(llvm::StringRef name);

/// Names work of one lane, in the order that a plan gives it.
struct Task {
  std::string layer;
  std::optional<int64_t> tile; ///< absent: all tiles on the lane
  Phase phase = Phase::forward;

  bool operator==(const Task &) const = default;
  /// As in plan files: "conv1", "conv1[2]", "conv1[2] backward", "conv1[2]
  /// weight".
  std::string text() const;
};

/// The reverse of Task::text. Every text is one: what is no tile and no phase
/// is a layer's name.
Task parseTask(llvm::StringRef text);

} // namespace lwcc

#endif // LWCC_IR_PLACE_WORK_H
