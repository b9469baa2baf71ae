//===- Progress.h - What a person sees while it trains ----------*- C++ -*-===//
//
// On a terminal one line that is rewritten, else a line every few steps:
//
//   epoch 2/10  step 150/1000  loss 0.4321  top-1 87.50 %  1234 images/s  0:42
//   left
//
// On a terminal that is too narrow for it the least important parts are left
// out. Loss and accuracy are means over the steps since the last report.
// This decides when and how to print. What is measured is decided by the
// trainer, and so is what follows when standard output is closed (failure()).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_PROGRESS_H
#define LWCC_RUNTIME_TRAIN_REPORT_PROGRESS_H

#include "runtime/train/report/EpochTable.h"
#include "runtime/train/report/Metric.h"

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace lwcc::rt::train {

class Progress {
public:
  struct Extent {
    int64_t epochs = 0;
    int64_t steps = 0; ///< at the end of the training
    int64_t batch = 0;
    int64_t interval = 50;      ///< steps between plain lines
    std::string noun = "image"; ///< what a batch is of
    Metric metric = {"top1", "top5", true};
  };
  Progress(std::FILE *out, bool terminal, const Extent &extent);
  /// What follows, an error perhaps, stands on a line of its own.
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// A step is over, with the sum of what is counted (Metric.h) over so many
  /// labels; steps and epochs count from 1. Returns samples per second since
  /// the one before.
  double step(int64_t step, int64_t epoch, float loss, double sum,
              int64_t labels);
  /// A whole line, above the one that is rewritten.
  void line(const std::string &text);
  /// What was not training time: a validation, a checkpoint.
  void pause();
  /// Ends an epoch. Mean loss and accuracy of its steps, of those that this run
  /// saw; nothing if there were none.
  std::optional<EpochMeans> endEpoch();
  /// errno of the first line that could not be written, or 0.
  int failure() const { return failed; }

private:
  using Clock = std::chrono::steady_clock;
  struct Mean {
    int64_t steps = 0, labels = 0;
    double loss = 0, first = 0;
    void add(float stepLoss, double stepFirst, int64_t stepLabels) {
      ++steps;
      loss += stepLoss;
      first += stepFirst;
      labels += stepLabels;
    }
  };
  std::optional<EpochMeans> meansOf(const Mean &mean) const;
  void report(int64_t step, int64_t epoch, Clock::time_point now);
  void print(const std::string &text);
  size_t columns() const;

  std::FILE *out;
  bool terminal;
  Extent extent;
  Mean sinceReport, ofEpoch;
  Clock::time_point lastStep, lastReport;
  double trained = 0;      ///< seconds, of this run
  int64_t counted = 0;     ///< the steps in `trained`
  double sinceSeconds = 0; ///< of the steps since the last report
  bool first = true;
  size_t shown = 0; ///< width of the line on the terminal
  int failed = 0;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_PROGRESS_H
