//===- Setting.h - What a plan is priced in ---------------------*- C++ -*-===//
//
// Defines the nouns of prices:
//
//   setting    the model, the machine and the cost model: all that a price
//              depends on besides the plan
//   exchange   what devices send each other for a tensor or a parameter
//              (Exchanges.h)
//   sum        OptCNN's price: all costs of a plan added up (Price.h)
//   step       forward pass, backward pass and updates of one batch, as
//              simulated (Simulator.h) or as a program does it (ProgramTime.h)
//   program    what a plan was compiled to (../model/Program.h)
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
