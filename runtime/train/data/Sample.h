//===- Sample.h - One sample as its source has it ---------------*- C++ -*-===//
//
// The nouns of this room, in the order in which data passes through it:
//
//   array      typed elements of a file, without a meaning yet (Array.h)
//   sample     one image, one row of features, or one sequence of tokens, in
//              the element type, the layout and the size that its file has: a
//              byte stays a byte, and channels-last stays channels-last (this
//              file)
//   source     a numbered set of samples with their labels (DataSource.h)
//   key        which sample of a training: seed, epoch and index (Transform.h)
//   transform  from a sample to the floats of the model's input (Transform.h)
//   order      the permutation of an epoch (DataOrder.h)
//   batch      as many inputs and labels as a step takes, laid out in pinned
//              memory as the devices store them (BatchLoader.h)
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_SAMPLE_H
#define LWCC_RUNTIME_TRAIN_DATA_SAMPLE_H

#include "runtime/train/data/Array.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lwcc::rt::train {

/// How the elements of a sample with several channels follow each other.
enum class SampleLayout {
  planes, ///< [c, h, w]
  pixels  ///< [h, w, c]: channels-last
};

/// What a sample is: an image, or a plain row of `channels` features or tokens.
/// Of a source whose images have a size each, height and width are 0.
struct SampleFormat {
  int64_t channels = 1;
  int64_t height = 1;
  int64_t width = 1;
  bool image = true;
  /// uint8, float32 or float64; any integers of tokens.
  ElementType type = {'f', 4};
  SampleLayout layout = SampleLayout::planes;
  bool tokens = false; ///< integers that are taken as they are

  bool operator==(const SampleFormat &) const = default;
  bool hasSize() const { return height > 0; }
  int64_t elements() const { return channels * height * width; }
  int64_t bytes() const { return elements() * type.bytes; }
  /// "28x28 grey", "32x32 with 3 channels", "64 features", "64 tokens",
  /// "any size with 3 channels"
  std::string text() const;
};

/// A sample that was read. Each worker of the loader has one, so that a source
/// that makes or decodes its samples takes memory only once.
struct Sample {
  SampleFormat format;
  /// format.bytes() of them, in the source's own memory or in `storage`; need
  /// not be aligned.
  const char *data = nullptr;
  std::vector<char> storage;
};

/// `count` elements as they are stored, from the one of number `first` on, as
/// floats: bytes become fractions in [0, 1], floats and tokens are taken as
/// they are.
void readElements(const Sample &sample, int64_t first, int64_t count,
                  float *out);

/// All of a sample as floats, channel by channel.
void readPlanes(const Sample &sample, float *planes);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_SAMPLE_H
