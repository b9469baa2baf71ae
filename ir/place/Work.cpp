//===- Work.cpp - What work a step consists of ----------------------------===//

#include "ir/place/Work.h"

#include "llvm/ADT/Twine.h"
#include "llvm/Support/ErrorHandling.h"

using namespace lwcc;

llvm::StringRef lwcc::phaseName(Phase phase) {
  switch (phase) {
  case Phase::forward:
    return "forward";
  case Phase::backward:
    return "backward";
  case Phase::weight:
    return "weight";
  case Phase::update:
    return "update";
  }
  llvm_unreachable("all phases covered");
}

std::optional<Phase> lwcc::phaseNamed(llvm::StringRef name) {
  for (Phase phase : allPhases)
    if (phaseName(phase) == name)
      return phase;
  return std::nullopt;
}

std::string Task::text() const {
  std::string text = layer;
  if (tile)
    text += "[" + std::to_string(*tile) + "]";
  if (phase != Phase::forward)
    text += (" " + phaseName(phase)).str();
  return text;
}

Task lwcc::parseTask(llvm::StringRef text) {
  Task task;
  // The phases that a plan can name: updates have an order of their own.
  for (Phase phase : {Phase::backward, Phase::weight})
    if (text.consume_back((" " + phaseName(phase)).str())) {
      task.phase = phase;
      break;
    }
  task.layer = text.str();
  auto [layer, digits] = text.rsplit('[');
  int64_t tile;
  if (digits.consume_back("]") && !digits.getAsInteger(10, tile) && tile >= 0) {
    task.layer = layer.str();
    task.tile = tile;
  }
  return task;
}
