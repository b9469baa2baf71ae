//===- Colour.h - Brightness, contrast, saturation and hue ------*- C++ -*-===//
//
// Changes the colours of an image: torchvision's ColorJitter, on floats from 0
// to 1. Which change a picture gets is drawn in Augment.h.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_COLOUR_H
#define LWCC_RUNTIME_TRAIN_DATA_COLOUR_H

#include <array>
#include <cstddef>
#include <cstdint>

namespace lwcc::rt::train {

enum class ColourStep { brightness, contrast, saturation, hue };
inline constexpr std::size_t colourSteps = 4;

/// What is done to one picture, in this order.
struct ColourChange {
  std::array<ColourStep, colourSteps> order;
  /// By step; 1 changes nothing. The hue's is added, in turns; 0 changes
  /// nothing.
  std::array<float, colourSteps> amount = {1, 1, 1, 0};
};

/// `planes` are those of an image [channels, count], 1 or 3 channels: red,
/// green and blue. Grey has neither saturation nor hue.
void changeColours(const ColourChange &change, float *planes, int64_t channels,
                   int64_t count);

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_COLOUR_H
