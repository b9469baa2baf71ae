//===- Phases.cpp - Which of the backward pass only updates wait for ------===//
//
// Moves ops from the phase `backward` to `weight`: those whose results only
// updates need, the gradients of parameters. Nothing else of a step waits for
// them, so that schedules may delay them (zero bubble pipelines; Qi et al.,
// "Zero Bubble Pipeline Parallelism", 2024).
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
    auto isForUpdates = [](Operation *user) {
      return phaseOf(user) == Phase::weight || phaseOf(user) == Phase::update;
    };
    // Users first.
    Block &body = step.getBody().front();
    for (Operation &op : llvm::reverse(body.without_terminator()))
      if (isBackward(&op))
        setWork(&op, layerOf(&op),
                llvm::all_of(op.getUsers(), isForUpdates) ? Phase::weight
                                                          : Phase::backward,
                workOf(&op).getTile());
  }
};
} // namespace
