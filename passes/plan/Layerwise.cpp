//===- Layerwise.cpp - The exact layer-wise search --------------*- C++ -*-===//
//
// Jia et al., "Exploring Hidden Dimensions in Parallelizing Convolutional
// Neural Networks", 2018: of all ways to cut each layer (CostTables.h) those
// whose sum of costs is least, found by elimination (MinSum.h). Elementwise
// layers are cut like what they follow. Beyond the paper, layers are cut along
// their reduction, too.
//
//===----------------------------------------------------------------------===//

#include "passes/plan/CostTables.h"

using namespace lwcc::plan;

Plan lwcc::plan::solveLayerwise(const Problem &problem) {
  CostTables tables(problem);
  return tables.planOf(solve(tables.sum()).choice, "layerwise");
}
