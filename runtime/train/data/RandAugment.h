//===- RandAugment.h - A few strong changes of a picture --------*- C++ -*-===//
//
// The changes of RandAugment (Cubuk and others, "RandAugment: Practical
// automated data augmentation with a reduced search space", 2019), as
// torchvision has them for tensors of bytes: strengths on a scale from 0 to 30,
// nearest pixels, zeros where nothing comes from. Which changes a picture gets
// is drawn in Augment.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_RANDAUGMENT_H
#define LWCC_RUNTIME_TRAIN_DATA_RANDAUGMENT_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lwcc::rt::train {

/// In torchvision's order, in which they are drawn.
enum class PictureChange {
  identity,
  shearX,
  shearY,
  translateX,
  translateY,
  rotate,
  brightness,
  colour,
  contrast,
  sharpness,
  posterize,
  solarize,
  autoContrast,
  equalize
};
inline constexpr std::size_t pictureChanges = 14;
inline constexpr int64_t mostStrength = 30;

/// A change and its way: those that have two ways are done in the other one if
/// `negative`.
struct DrawnChange {
  PictureChange change = PictureChange::identity;
  bool negative = false;
};

/// Makes one change after the other. `pixels` are those of a picture [channels,
/// height, width], 1 or 3 channels; `strength` is from 0 to mostStrength.
void changePicture(const std::vector<DrawnChange> &changes, int64_t strength,
                   uint8_t *pixels, int64_t channels, int64_t height,
                   int64_t width);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_RANDAUGMENT_H
