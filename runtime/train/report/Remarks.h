//===- Remarks.h - Data that can be trained on, but looks wrong -*- C++ -*-===//
//
// What is no error, since somebody may mean it, but makes a training pointless
// more often than not. Says what was found and what would help.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_REMARKS_H
#define LWCC_RUNTIME_TRAIN_REPORT_REMARKS_H

#include "runtime/train/data/DataSource.h"

#include <string>
#include <vector>

namespace lwcc::rt::train {

/// About training data: what its source says, labels of one class, far fewer
/// classes than the loss has columns, values that nobody has scaled. `scaled`:
/// --mean or --std is given.
std::vector<std::string> remarksOn(const DataSource &source,
                                   const std::string &place,
                                   const std::vector<ModelInput> &inputs,
                                   bool scaled);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_REMARKS_H
