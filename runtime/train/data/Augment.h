//===- Augment.h - What differs each time a picture is seen -----*- C++ -*-===//
//
// Decides which part of a picture a training sees, and whether it is mirrored:
// torchvision's RandomResizedCrop and RandomHorizontalFlip. Carried out by
// Transform; validation never draws.
//
// A decision is a function of seed, epoch and the picture's number. Its numbers
// are those of Philox (core/Philox.h) with stream "augmentation", step = epoch,
// and blocks from index * 16 on: the first for the mirror, then four for each
// try of a crop, uniform in [0, 1) with 24 bits.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_AUGMENT_H
#define LWCC_RUNTIME_TRAIN_DATA_AUGMENT_H

#include <cstdint>
#include <vector>

namespace lwcc::rt::train {

/// Which sample of a training: its number in the source, and when it comes.
struct SampleKey {
  uint64_t seed = 0;
  int64_t epoch = 0; ///< from 0
  int64_t index = 0; ///< in the source
};

/// A part of a picture, in its pixels.
struct Crop {
  int64_t top = 0, left = 0, height = 1, width = 1;
  bool operator==(const Crop &) const = default;
};

struct Augmentation {
  /// Least and greatest part of the picture's area that a crop has; empty:
  /// nothing is cropped at random.
  std::vector<double> scale;
  /// Least and greatest width of a crop, divided by its height.
  std::vector<double> ratio = {3.0 / 4, 4.0 / 3};
  double flip = 0; ///< how probable a mirror is

  bool crops() const { return !scale.empty(); }

  bool flips(const SampleKey &key) const;
  /// RandomResizedCrop.get_params: ten tries to draw a crop of the wanted area
  /// and ratio that lies within the picture, else the greatest in its middle.
  Crop crop(const SampleKey &key, int64_t height, int64_t width) const;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_AUGMENT_H
