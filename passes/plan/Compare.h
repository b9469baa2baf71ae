//===- Compare.h - What each strategy would cost ----------------*- C++ -*-===//
//
// A table for people: the plans of all strategies for one problem, priced by
// one sum (Price.h), cheapest first.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_COMPARE_H
#define LWCC_PASSES_PLAN_COMPARE_H

#include "passes/plan/Solvers.h"

namespace lwcc::plan {

std::string compareStrategies(const Problem &problem);

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_COMPARE_H
