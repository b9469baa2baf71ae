//===- Phases.cpp - Which of the backward pass no other layer waits for ---===//
//
// Moves ops from the phase `backward` to `weight`: the gradients of a layer's
// parameters, and what only these need. No other layer waits for them, so that
// schedules may delay them (zero bubble pipelines; Qi et al., "Zero Bubble
// Pipeline Parallelism", 2024).
//
// What leads to another layer's gradient is `backward`, also behind the first
// layer with parameters: all of the backward pass ends in updates.
//
// The phase follows from data flow. It is therefore not a decision that later
// passes keep: where ops are made anew, for tiles, it is found anew.
//
//===----------------------------------------------------------------------===//

#include "ir/train/Train.h"
#include "passes/Passes.h"

namespace lwcc {
#define GEN_PASS_DEF_PHASES
#include "passes/Passes.h.inc"
} // namespace lwcc

using namespace mlir;
using namespace lwcc;
using namespace lwcc::train;

namespace {
struct Phases : lwcc::impl::PhasesBase<Phases> {
  void runOnOperation() override {
    auto step = getOperation().lookupSymbol<func::FuncOp>(trainStepFunc);
    if (!step)
      return;
    auto isBackward = [](Operation *op) {
      return phaseOf(op) == Phase::backward || phaseOf(op) == Phase::weight;
    };
    // Users first.
    Block &body = step.getBody().front();
    for (Operation &op : llvm::reverse(body.without_terminator())) {
      if (!isBackward(&op))
        continue;
      bool waitedFor = llvm::any_of(op.getUsers(), [&](Operation *user) {
        return phaseOf(user) != Phase::update &&
               (phaseOf(user) != Phase::weight ||
                layerOf(user) != layerOf(&op));
      });
      setWork(&op, layerOf(&op), waitedFor ? Phase::backward : Phase::weight,
              workOf(&op).getTile());
    }
  }
};
} // namespace
