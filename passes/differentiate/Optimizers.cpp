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

template <typename Op>
static Operation *build(OpBuilder &builder, Location loc,
                        const UpdateInputs &in) {
  SmallVector<Value> operands = {in.parameter};
  llvm::append_range(operands, in.states);
  llvm::append_range(operands,
                     ArrayRef<Value>{in.scalars, in.loss, in.gradient});
  SmallVector<Type> results(1 + in.states.size(), in.parameter.getType());
  auto op = Op::create(builder, loc, TypeRange(results), operands);
  // By name, so that an op cannot get the one for the other.
  op.setDecayScale(llvm::APFloat(in.scales.decay));
  op.setLrScale(llvm::APFloat(in.scales.lr));
  return op;
}

static constexpr OptimizerState momentum[] = {{"momentum", 0.0}},
                                averages[] = {{"exp_avg", 0.0},
                                              {"exp_avg_sq", 0.0}},
                                squareAndMomentum[] = {{"square_avg", 0.0},
                                                       {"momentum_buffer",
                                                        0.0}},
                                sumOfSquares[] = {{"sum", 0.0}},
                                average[] = {{"exp_avg", 0.0}};

ArrayRef<Optimizer> lwcc::train::optimizers() {
  static const Optimizer table[] = {
      {"sgd", momentum, build<SgdOp>},
      {"adam", averages, build<AdamOp>},
      {"adamw", averages, build<AdamOp>},
      {"rmsprop", squareAndMomentum, build<RmsPropOp>},
      {"adagrad", sumOfSquares, build<AdagradOp>},
      {"lion", average, build<LionOp>},
      {"lars", momentum, build<LarsOp>},
      {"lamb", averages, build<LambOp>}};
  return table;
}

const Optimizer *lwcc::train::findOptimizer(StringRef name) {
  ArrayRef<Optimizer> table = optimizers();
  auto row = llvm::find_if(table, [&](auto &r) { return r.name == name; });
  return row == table.end() ? nullptr : &*row;
}
