//===- Optimizers.cpp - The table of optimizers ---------------------------===//
//
// The rows of the table. Hyper-parameters are flags of the trainer and reach
// the update in `scalars`, so that no row mentions them.
//
//===----------------------------------------------------------------------===//

#include "passes/differentiate/Optimizers.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace lwcc::train;

static Operation *buildSgd(OpBuilder &builder, Location loc,
                           const UpdateInputs &in) {
  Type type = in.parameter.getType();
  return SgdOp::create(builder, loc, type, type, in.parameter, in.states[0],
                       in.scalars, in.loss, in.gradient);
}
static constexpr OptimizerState sgdStates[] = {{"momentum", 0.0}};

ArrayRef<Optimizer> lwcc::train::optimizers() {
  static const Optimizer table[] = {{"sgd", sgdStates, buildSgd}};
  return table;
}

const Optimizer *lwcc::train::findOptimizer(StringRef name) {
  ArrayRef<Optimizer> table = optimizers();
  auto row = llvm::find_if(table, [&](auto &r) { return r.name == name; });
  return row == table.end() ? nullptr : &*row;
}
