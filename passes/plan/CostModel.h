//===- CostModel.h - How long a kernel takes --------------------*- C++ -*-===//
//
// A roofline: a kernel computes or it moves bytes, whichever takes longer, and
// starts no sooner than a launch allows. How much of the machine's rate a
// product reaches depends on its shape: libraries work in tiles of some tens of
// rows and columns, so that small tiles are not proportionally cheap.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_PASSES_PLAN_COSTMODEL_H
#define LWCC_PASSES_PLAN_COSTMODEL_H

#include "passes/plan/LayerGraph.h"

namespace lwcc::plan {

class CostModel {
public:
  /// For the products' `precision`, "fp32" or "tf32".
  CostModel(const Machine &machine, llvm::StringRef precision);

  double seconds(const Work &work) const;
  /// How much of the machine's rate a product of this shape reaches.
  static double reached(double m, double n, double k);
  /// What it was made from, for people and for plans.
  std::string source() const;

private:
  double flops, bandwidth, launch;
  std::string name;
};

} // namespace lwcc::plan

#endif // LWCC_PASSES_PLAN_COSTMODEL_H
