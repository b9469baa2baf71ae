//===- ExportDamage.h - What an export left out -----------------*- C++ -*-===//
//
// Warns of what an exporter changed or dropped since it takes a model to be
// used, not trained. Goes by traces that exporters leave in names: what leaves
// none, such as a Dropout, cannot be found. What PyTorch's newer exporter lists
// is warned of where parameters are collected (Parameters.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_EXPORTDAMAGE_H
#define LWCC_FRONTEND_EXPORTDAMAGE_H

#include "frontend/Parameters.h"

namespace lwcc {

void warnOfDamage(const OnnxGraph &graph, const Leaves &leaves,
                  Reporter &reporter);

} // namespace lwcc

#endif // LWCC_FRONTEND_EXPORTDAMAGE_H
