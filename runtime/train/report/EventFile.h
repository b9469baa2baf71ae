//===- EventFile.h - Losses and accuracies for TensorBoard ------*- C++ -*-===//
//
// --tensorboard=DIR: a file of events in the folder, which TensorBoard shows
// while it is written. Each run makes a file of its own; one that is resumed
// says from which step on it replaces what others have.
//
// An event is a protocol buffer (tensorflow/core/util/event.proto), framed as a
// TFRecord: its length, the length's checksum, its bytes, their checksum.
//
// Why no library: an event has four fields, and the trainer links neither
// Protobuf nor TensorFlow.
//
// Does not decide what is logged, nor when (Trainer.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_REPORT_EVENTFILE_H
#define LWCC_RUNTIME_TRAIN_REPORT_EVENTFILE_H

#include "runtime/train/files/LineFile.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lwcc::rt::train {

/// "loss/train" and its value.
using Scalar = std::pair<std::string, float>;

class EventFile {
public:
  /// No folder: nothing is written. `firstStep` is the first that this run
  /// makes. Throws Error.
  EventFile(const std::string &folder, int64_t firstStep);

  bool isOpen() const { return file.isOpen(); }
  /// Is in the file, whole, when this returns. Throws Error.
  void add(int64_t step, const std::vector<Scalar> &scalars);

private:
  void write(std::string_view event);

  LineFile file;
};

/// The checksum of TFRecords: CRC-32C (Castagnoli), rotated and shifted so that
/// one of bytes that hold checksums is sound.
uint32_t maskedChecksum(std::string_view bytes);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_REPORT_EVENTFILE_H
