//===- Metric.h - What is counted beside the loss ---------------*- C++ -*-===//
//
// A program gives two sums over the labels that count (Program::correct):
//
// - of class labels: how many have the largest score, one of the five largest
// - of bce: how many are decided right, twice
// - of output, which is the loss itself: its sum, twice
// - of other losses of numbers: sums of absolute errors, of squared errors
//
// Decides what their means are called, in lines for people and in logs.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_METRIC_H
#define LWCC_RUNTIME_TRAIN_REPORT_METRIC_H

#include "runtime/core/Program.h"

#include <string>

namespace lwcc::rt::train {

struct Metric {
  std::string key;    ///< "top1", "accuracy", "mae"
  std::string second; ///< "top5", "rmse"; "" if there is only one
  bool isFraction = true;

  /// Of the mean: "top-1 98.99 %", "mae 0.125".
  std::string text(double mean) const;
  /// The second, with two blanks in front; "" if there is none.
  std::string secondText(double mean) const;
  /// The second as it is logged, of the mean of its sums.
  double secondValue(double mean) const;
};

Metric metricOf(const Program &program);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_METRIC_H
