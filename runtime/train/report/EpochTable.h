//===- EpochTable.h - A line of CSV for every epoch -------------*- C++ -*-===//
//
// --log-csv, for spreadsheets and pandas.read_csv:
//
//   epoch,step,lr,loss,top1,val_loss,val_top1,val_top5
//   1,46,0.01,1.1314,0.6501,0.4033,0.8956,0.9966
//
// A row per epoch that ended, in the names and units of --log: `step` and
// `epoch` count from 1, `lr` is that of the epoch's last step, `loss` and
// `top1` are means over the steps of the epoch that this run has made. The last
// three are empty without a validation. A resumed training appends. Other
// losses have other columns than top1 and top5 (Metric.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_EPOCHTABLE_H
#define LWCC_RUNTIME_TRAIN_REPORT_EPOCHTABLE_H

#include "runtime/train/files/LineFile.h"
#include "runtime/train/report/Metric.h"

#include <cstdint>
#include <optional>
#include <string>

namespace lwcc::rt::train {

/// Mean loss, and the mean of what is counted (Metric.h).
struct EpochMeans {
  double loss = 0, first = 0;
};

/// The same of a validation, with the second that is counted.
struct ValidationMeans {
  double loss = 0, first = 0, second = 0;
};

struct EpochRow {
  int64_t epoch = 0, step = 0;
  double lr = 0;
  std::optional<EpochMeans> training; ///< nothing where it made no step
  std::optional<ValidationMeans> validation;
};

class EpochTable {
public:
  /// No path: nothing is written. Throws Error.
  EpochTable(const std::string &path, bool append, const Metric &metric);
  /// Throws Error.
  void add(const EpochRow &row);

private:
  LineFile file;
  bool hasSecond;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_EPOCHTABLE_H
