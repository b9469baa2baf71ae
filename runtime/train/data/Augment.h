//===- Augment.h - What differs each time a picture is seen -----*- C++ -*-===//
//
// Decides which part of a picture a training sees, whether it is mirrored, how
// it is turned, how its colours change and what is erased of it: torchvision's
// RandomResizedCrop, RandomHorizontalFlip, RandomVerticalFlip, RandomRotation,
// RandAugment, ColorJitter and RandomErasing. Carried out by Transform;
// validation never draws.
//
// A decision is a function of seed, epoch and the picture's number. Its numbers
// are those of Philox (core/Philox.h) with stream "augmentation", step = epoch,
// and blocks from index * 16 on: the first for the mirrors, then one for each
// try of a crop, then two for the colours; uniform in [0, 1) with 24 bits. What
// is erased has the stream "erasing": whether, then a block for each try. The
// angle has the stream "rotation"; RandAugment's changes have "rand-augment", a
// block each: which, and which way.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_AUGMENT_H
#define LWCC_RUNTIME_TRAIN_DATA_AUGMENT_H

#include "runtime/train/data/Colour.h"
#include "runtime/train/data/RandAugment.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace lwcc::rt::train {

/// Of RandAugment.
inline constexpr int64_t mostChanges = 16;

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
  /// Brightness, contrast, saturation and hue: how far each is changed at most;
  /// the first stands for the first three if it is alone, and those that are
  /// missing are 0. Empty: colours stay.
  std::vector<double> colour = {};
  double erase = 0;  ///< how probable it is that a rectangle is erased
  double rotate = 0; ///< degrees by which it is turned at most, either way
  /// How many changes of RandAugment, and their strength, 9 if that is missing;
  /// empty: none.
  std::vector<double> randAugment = {};
  double verticalFlip = 0; ///< how probable it is that it stands on its head

  bool crops() const { return !scale.empty(); }

  bool flips(const SampleKey &key) const;
  bool flipsVertically(const SampleKey &key) const;
  /// RandomResizedCrop.get_params: ten tries to draw a crop of the wanted area
  /// and ratio that lies within the picture, else the greatest in its middle.
  Crop crop(const SampleKey &key, int64_t height, int64_t width) const;
  /// ColorJitter.make_params: the steps in any order; factors from 1 - x to
  /// 1 + x, not below 0, and hues from -x to x.
  ColourChange colours(const SampleKey &key) const;
  /// RandomErasing.get_params with its own scale and ratio, 0.02 to 0.33 and
  /// 0.3 to 3.3; nothing where ten tries find no place.
  std::optional<Crop> erased(const SampleKey &key, int64_t height,
                             int64_t width) const;
  /// RandomRotation.make_params: degrees, counter-clockwise.
  double angle(const SampleKey &key) const;
  /// RandAugment.forward: any change as often as any other.
  std::vector<DrawnChange> changes(const SampleKey &key) const;
  int64_t strength() const {
    return randAugment.size() > 1 ? static_cast<int64_t>(randAugment[1]) : 9;
  }
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_AUGMENT_H
