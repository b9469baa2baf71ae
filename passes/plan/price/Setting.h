//===- Setting.h - What a plan is priced in ---------------------*- C++ -*-===//
//
// A model's layers, the machine that is to run them, and how long its kernels
// take: what every price of a plan depends on besides the plan.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_PRICE_SETTING_H
#define LWCC_PASSES_PLAN_PRICE_SETTING_H

#include "passes/plan/price/CostModel.h"

namespace lwcc::plan {

struct Setting {
  const LayerGraph &graph;
  const Machine &machine;
  const CostModel &costs;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_PRICE_SETTING_H
