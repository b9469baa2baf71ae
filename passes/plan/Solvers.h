//===- Solvers.h - The table of planning strategies -------------*- C++ -*-===//
//
// A strategy is one row: a function from the layers and the machine to a plan.
// A new one is a new row; the IR, the code generator and the runtime never
// learn of it.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_SOLVERS_H
#define LWCC_PASSES_PLAN_SOLVERS_H

#include "passes/plan/Plan.h"

#include "llvm/ADT/ArrayRef.h"

namespace lwcc::plan {

struct Solver {
  llvm::StringRef name;
  llvm::StringRef summary;
  Plan (*solve)(const LayerGraph &graph, const Machine &machine);
};

llvm::ArrayRef<Solver> solvers();
const Solver *findSolver(llvm::StringRef name);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_SOLVERS_H
