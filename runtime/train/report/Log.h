//===- Log.h - A line of JSON for every step --------------------*- C++ -*-===//
//
// One object a line:
//   {"step", "epoch", "loss", "top1", "lr", "images_per_s"}   a training step
//   {"step", "epoch", "val_loss", "val_top1", "val_top5", "val_images"}
// Steps and epochs count from 1 over the whole training, resumed or not;
// accuracies are fractions; numbers have the digits to get the float back.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_LOG_H
#define LWCC_RUNTIME_TRAIN_REPORT_LOG_H

#include "runtime/train/files/Json.h"
#include "runtime/train/files/LineFile.h"

#include <string>

namespace lwcc::rt::train {

class Log {
public:
  /// No path: no log. A resumed training appends. Throws Error.
  Log(const std::string &path, bool append) : file(path, append) {}
  /// The line is in the file when this returns. Throws Error.
  void write(const JsonObject &record) {
    if (file.isOpen())
      file.append(record.str());
  }

private:
  LineFile file;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_LOG_H
